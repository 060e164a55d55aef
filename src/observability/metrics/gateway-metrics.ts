import type { Clock, Millis } from '../../clock.ts';
import { onSignal, type Signals, signalNames } from '../../telemetry.ts';
import { version } from '../../version.ts';
import { latencies } from './cells.ts';
import { only, type Sample, type Samples } from './exposition.ts';

/** Read at each scrape, not measured in between. */
export interface Sources {
  readonly server: () =>
    | {
        readonly inFlight: number;
        readonly streams: number;
        readonly bufferedBytes: number;
        readonly validTo: Date | undefined;
      }
    | undefined;
  readonly windows: Readonly<Record<string, { readonly size: number; readonly slab: { readonly bytes: number } }>>;
  readonly refusals: () => Iterable<{ readonly scope: string; readonly metric: string; readonly count: number }>;
  readonly breakers: () => Iterable<{ readonly model: string; readonly upstream: string; readonly isOpen: boolean }>;
  readonly checks: Readonly<Record<string, () => string | undefined>>;
  readonly signing: () => { readonly isSigned: boolean; readonly passedOver: readonly unknown[] };
  readonly isStoreUp: () => boolean;
  readonly projections: { readonly ageMs: Millis };
  readonly accounts: { readonly ageMs: Millis; readonly whyFull: string | undefined };
  readonly droppedLines: () => number;
}

const zeroOrOne = (is: boolean): number => (is ? 1 : 0);
const seconds = (ms: Millis): number => ms / 1000;

export const gatewayMetrics = (sources: Sources) => {
  const { server, windows, refusals, breakers, checks, signing, isStoreUp, projections, accounts, droppedLines } =
    sources;
  const families = (read: (family: (typeof windows)[string]) => number): readonly Sample[] =>
    Object.entries(windows).map(([family, each]) => ({ labels: { family }, value: read(each) }));
  return {
    weir_build_info: () => [{ labels: { version }, value: 1 }],
    weir_http_requests_in_flight: () => only(server()?.inFlight ?? 0),
    weir_http_streams_open: () => only(server()?.streams ?? 0),
    weir_http_buffered_bytes: () => only(server()?.bufferedBytes ?? 0),
    weir_certificate_expiry_timestamp_seconds: () => {
      const validTo = server()?.validTo;
      return validTo === undefined ? [] : only(seconds(validTo.getTime()));
    },
    weir_rate_limit_refusals_total: () =>
      [...refusals()].map(({ scope, metric, count }) => ({ labels: { scope, metric }, value: count })),
    weir_upstream_breaker_open: () =>
      [...breakers()].map(({ model, upstream, isOpen }) => ({ labels: { model, upstream }, value: zeroOrOne(isOpen) })),
    weir_check_ok: () =>
      Object.entries(checks).map(([check, why]) => ({ labels: { check }, value: zeroOrOne(why() === undefined) })),
    weir_audit_log_signed: () => only(zeroOrOne(signing().isSigned)),
    weir_audit_keys_passed_over: () => only(signing().passedOver.length),
    weir_store_up: () => only(zeroOrOne(isStoreUp())),
    weir_projection_lag_seconds: () => only(seconds(projections.ageMs)),
    weir_usage_journal_lag_seconds: () => only(seconds(accounts.ageMs)),
    weir_usage_journal_full: () => only(zeroOrOne(accounts.whyFull !== undefined)),
    weir_limit_records: () => families(({ size }) => size),
    weir_limit_window_bytes: () => families(({ slab }) => slab.bytes),
    weir_log_lines_dropped_total: () => only(droppedLines()),
  } satisfies Samples;
};

export class StoreMetrics {
  readonly #clock: Clock;
  readonly #appends = latencies();
  #failures = 0;
  #probeMs: Millis | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async append<T>(call: () => Promise<T>): Promise<T> {
    const began = this.#clock.monotonic();
    try {
      const done = await call();
      this.#appends.add(seconds(this.#clock.monotonic() - began));
      return done;
    } catch (error) {
      this.#failures += 1;
      throw error;
    }
  }

  /** Takes the answer of a poll of the log's end. */
  seen(askedAt: Millis): void {
    this.#probeMs = this.#clock.monotonic() - askedAt;
  }

  get samples() {
    return {
      weir_store_append_seconds: () => [{ labels: {}, value: this.#appends }],
      weir_store_append_failures_total: () => only(this.#failures),
      weir_store_probe_seconds: () => (this.#probeMs === undefined ? [] : only(seconds(this.#probeMs))),
    } satisfies Samples;
  }
}

/** Every count begins at 0, so that a rate shows the first signal. */
export class SignalCounts {
  readonly #counts = new Map(signalNames.map((name) => [name, 0]));
  readonly #unasked = new Map<string, Sample & { value: number }>();
  readonly close = onSignal((name, signal) => {
    this.#counts.set(name, this.#counts.get(name)! + 1);
    if (name === 'upstream.unasked') this.#count(signal as Signals['upstream.unasked']);
  });

  #count({ model, upstream }: Signals['upstream.unasked']): void {
    const key = JSON.stringify([model, upstream]);
    const sample = this.#unasked.get(key) ?? { labels: { model, upstream }, value: 0 };
    this.#unasked.set(key, { ...sample, value: sample.value + 1 });
  }

  get samples() {
    return {
      weir_signals_total: () => [...this.#counts].map(([signal, value]) => ({ labels: { signal }, value })),
      weir_upstream_unasked_total: () => [...this.#unasked.values()],
    } satisfies Samples;
  }
}
