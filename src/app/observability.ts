import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { limitRefusals } from '../data/access/limit-refusal.ts';
import type { ConnectedModels } from '../data/upstream/connect.ts';
import type { DeclaredModel } from '../data/upstream/models/models.ts';
import type { Watch } from '../http/exchange/watch.ts';
import type { EventStore } from '../kernel/store/store.ts';
import { storesOf, type Windows } from '../limits/windows.ts';
import type { Log } from '../observability/log/log.ts';
import { registryOf } from '../observability/metrics/exposition.ts';
import { gatewayMetrics, SignalCounts, type Sources, StoreMetrics } from '../observability/metrics/gateway-metrics.ts';
import { serveMetrics } from '../observability/metrics/listener.ts';
import { RequestMetrics } from '../observability/metrics/request-metrics.ts';
import { watchOf } from '../observability/requests/observation.ts';
import { openTracing } from '../observability/tracing/tracing.ts';
import type { Closing } from './closing.ts';

export interface Observed extends Pick<Sources, 'server' | 'checks' | 'signing' | 'projections' | 'accounts'> {
  readonly store: Pick<EventStore, 'state' | 'onHeadPoll'>;
  readonly windows: Windows;
  readonly models: ConnectedModels;
}

export interface Observability {
  /** Undefined without metrics, traces and access log, which then cost a request nothing. */
  readonly watch: Watch<{ readonly id: string }> | undefined;
  measured(store: EventStore): EventStore;
  declare(models: readonly DeclaredModel[]): void;
  /** Opens `/metrics` if it is configured and returns its URL. @throws Error, one sentence, if it cannot listen */
  expose(parts: Observed): Promise<string | undefined>;
}

const idsOf = (models: readonly DeclaredModel[]): string[] => models.map(({ model }) => model.id);

/** The provider of each model: that of its first upstream. */
const providersOf = (models: readonly DeclaredModel[]): ReadonlyMap<string, string> =>
  new Map(
    models.map(({ model, upstreams: [first] }) => {
      const kind = first!.upstream.kind;
      return [model.id, kind === 'simulated' ? 'weir' : kind];
    }),
  );

export const observability = async (options: {
  readonly config: Config;
  readonly log: Pick<Log, 'access' | 'dropped'>;
  readonly models: readonly DeclaredModel[];
  readonly clock: Clock;
  readonly open: Closing;
}): Promise<Observability> => {
  const { config, log, models, clock, open } = options;
  const { METRICS_PORT: port, METRICS_HOST: host, OTEL_EXPORTER_OTLP_ENDPOINT: collector } = config;
  const metered = port === undefined ? undefined : meteringOf(idsOf(models), clock, open);
  let providers = providersOf(models);
  const gateway = {
    scheme: config.TLS_CERT_FILE === undefined ? 'http' : 'https',
    providerOf: (model: string) => providers.get(model),
  } as const;
  const tracing = collector === undefined ? undefined : await openTracing(collector, gateway);
  if (tracing) open.later('the traces', tracing.close);
  const finished = [metered?.finished, log.access].filter((each) => each !== undefined);
  return {
    watch: finished.length > 0 || tracing ? watchOf({ clock, finished, spansOf: tracing?.spansOf }) : undefined,
    measured: (store) => metered?.measured(store) ?? store,
    declare(models) {
      metered?.declare(idsOf(models));
      providers = providersOf(models);
    },
    async expose(parts) {
      if (port === undefined || !metered) return undefined;
      const registry = await registryOf(metered.samplesOf(parts, log));
      const listener = await serveMetrics({ host, port }, registry);
      open.later('the metrics', listener.close);
      return listener.url;
    },
  };
};

const meteringOf = (models: readonly string[], clock: Clock, open: Closing) => {
  const requests = new RequestMetrics(models);
  const appends = new StoreMetrics(clock);
  const signals = new SignalCounts();
  open.later('the count of signals', async () => void signals.close());
  return {
    finished: requests.finished.bind(requests),
    declare: (ids: Iterable<string>) => requests.declare(ids),
    measured: (store: EventStore): EventStore => ({
      ...store,
      get state() {
        return store.state;
      },
      append: (...call) => appends.append(() => store.append(...call)),
    }),
    samplesOf(parts: Observed, log: Pick<Log, 'dropped'>) {
      const { store, windows, models: connected } = parts;
      open.later('the looks of the metrics', async () => void unseen());
      const unseen = store.onHeadPoll(({ askedAt }) => appends.seen(askedAt));
      const sources: Sources = {
        ...parts,
        windows: storesOf(windows),
        refusals: limitRefusals,
        breakers: () =>
          [...connected.values()].flatMap(({ model, health }) =>
            (health?.() ?? []).map(({ name, state }) => ({
              model: model.id,
              upstream: name,
              isOpen: state !== 'closed',
            })),
          ),
        isStoreUp: () => store.state.is === 'there',
        droppedLines: () => log.dropped,
      };
      return { ...gatewayMetrics(sources), ...appends.samples, ...signals.samples, ...requests.samples };
    },
  };
};
