import type { Metric, Registry } from 'prom-client';
import { catalogue, type MetricName } from './catalogue.ts';
import { Distribution } from './cells.ts';

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number | Distribution;
}

export type Samples = Partial<Readonly<Record<MetricName, () => readonly Sample[]>>>;

export const only = (value: number): readonly Sample[] => [{ labels: {}, value }];

const seriesOf = (name: string, { labels, value }: Sample) => {
  if (!(value instanceof Distribution)) return [{ metricName: name, labels, value }];
  let below = 0;
  const buckets = [...value.counts].map((count, at) => {
    below += count;
    const bound = value.bounds[at];
    return {
      metricName: `${name}_bucket`,
      labels: { ...labels, le: bound === undefined ? '+Inf' : `${bound}` },
      value: below,
    };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: value.sum },
    { metricName: `${name}_count`, labels, value: below },
  ];
};

/** Node's gauges with names of counters. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Loads the package only if metrics are configured. */
export const registryOf = async (samples: Required<Samples>): Promise<Registry> => {
  const { Registry, collectDefaultMetrics } = await import('prom-client');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  for (const name of Object.keys(catalogue) as MetricName[]) {
    const { type, help } = catalogue[name];
    const metric = {
      name,
      get: async () => ({
        name,
        help,
        type,
        aggregator: 'sum',
        values: samples[name]().flatMap((sample) => seriesOf(name, sample)),
      }),
    };
    // The registry needs only the name and the values of a metric. The package's own classes key values by a string
    // of labels, which costs a microsecond for each label set and request.
    registry.registerMetric(metric as unknown as Metric);
  }
  return registry;
};
