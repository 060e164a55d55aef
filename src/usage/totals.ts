import { type Clock, type Millis, seconds } from '../clock.ts';
import { day } from '../domain/usage/day.ts';
import { totalStream, type UsageTotal, usageTotalled } from '../domain/usage/usage-events.ts';
import { eventId } from '../kernel/store/event-id.ts';
import { type EventStore, type NewEvent, StoreUnavailable, WrongRevision } from '../kernel/store/store.ts';
import { publish } from '../telemetry.ts';
import { pieces } from './shipment.ts';

/** Recorded totals, and use that is not in them yet. */
export interface Untold {
  /** The last `usage.totalled`; undefined if none. */
  readonly last: { readonly revision: number; readonly at: Millis } | undefined;
  /** Of organizations, projects and keys with further use: their sums at the last event that named them. */
  readonly totals: (at: Millis) => Promise<readonly UsageTotal[]>;
}

export interface TotalsOptions {
  readonly store: Pick<EventStore, 'append'>;
  readonly untold: () => Untold;
  readonly clock: Clock;
}

/** Some 50 KB. */
const mostInEvent = 500;
/** Below the store's 1 MiB. */
const mostInAppend = 5_000;
const lookEveryMs: Millis = 60_000;

/**
 * Records the totals of organizations, projects and keys, so that balances and spend outlive the accounts, which the store
 * removes after 400 days (contract M.5). One gateway wins. Use is in the second event after it.
 */
export const totalsTeller = ({ store, untold, clock }: TotalsOptions): (() => Promise<void>) => {
  let done = '';
  return async () => {
    const at = clock.wall();
    const today = day(at);
    const { last, totals } = untold();
    if (done === today || (last !== undefined && day(last.at) === today)) return;
    let end: number | 'no_stream' = last?.revision ?? 'no_stream';
    for (const some of pieces(await totals(at), mostInAppend)) {
      const events = pieces(some, mostInEvent).map((each, index) =>
        totalsEvent(each, `${end} ${seconds(at)}`, index, at),
      );
      try {
        end = (await store.append(totalStream, events, end)).revision;
      } catch (error) {
        // Another gateway won; its omissions follow tomorrow.
        if (error instanceof WrongRevision) return;
        throw error;
      }
    }
    done = today;
  };
};

const totalsEvent = (totals: readonly UsageTotal[], seed: string, index: number, at: Millis): NewEvent => {
  const type = 'usage.totalled';
  const data = { ...usageTotalled(totals) };
  const id = eventId(seed, index, totalStream, type, data);
  return {
    id,
    type,
    data,
    metadata: { at, actor: { type: 'system', id: 'usage' }, $correlationId: id, $causationId: id, v: 1 },
  };
};

/** Checks each minute for a new day. The returned function stops and waits for work in progress. */
export const tellTotals = (options: TotalsOptions): (() => Promise<void>) => {
  const tell = totalsTeller(options);
  let isFailing = false;
  let running: Promise<void> | undefined;
  const look = (): void => {
    running ??= tell()
      .then(
        () => {
          isFailing = false;
        },
        (error: unknown) => {
          // Unavailability is logged elsewhere.
          if (!isFailing && !(error instanceof StoreUnavailable)) publish('usage.untold', { error });
          isFailing = true;
        },
      )
      .finally(() => {
        running = undefined;
      });
  };
  const timer = setInterval(look, lookEveryMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
};
