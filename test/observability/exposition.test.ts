// Lane: rest: it asks promtool
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { catalogue, type MetricName } from '../../src/observability/metrics/catalogue.ts';
import { Distribution, latencies } from '../../src/observability/metrics/cells.ts';
import { registryOf, type Sample, type Samples } from '../../src/observability/metrics/exposition.ts';
import { readExposition, total } from './exposition-text.ts';
import { lint, noPromtool } from './promtool.ts';

const names = Object.keys(catalogue) as MetricName[];
/** Every metric with one sample, unless others are given. */
const exposed = async (given: Partial<Record<MetricName, readonly Sample[]>> = {}): Promise<string> => {
  const one = (name: MetricName): readonly Sample[] => [
    {
      labels: Object.fromEntries(catalogue[name].labels.map((label) => [label, 'x'])),
      value: catalogue[name].type === 'histogram' ? latencies() : 1,
    },
  ];
  const samples = Object.fromEntries(names.map((name) => [name, () => given[name] ?? one(name)]));
  return (await registryOf(samples as Required<Samples>)).metrics();
};

describe('a scrape', () => {
  test('has every metric of the catalogue, with its type and its words', async () => {
    const metrics = readExposition(await exposed());
    for (const name of names) {
      const { type, help } = catalogue[name];
      expect([name, metrics.get(name)?.type, metrics.get(name)?.help]).toEqual([name, type, help]);
      expect([name, metrics.get(name)!.samples.length > 0]).toEqual([name, true]);
    }
  });

  test('has the delay of the event loop, and nothing of Node that is called a count and is none', async () => {
    const metrics = readExposition(await exposed());
    expect(metrics.get('nodejs_eventloop_lag_p99_seconds')?.type).toBe('gauge');
    for (const [name, { type }] of metrics) expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
  });

  test('escapes what operators call their models', () =>
    fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme' }),
        fc.string({ unit: 'binary-ascii' }),
        async (model, upstream) => {
          const labels = { model, upstream };
          const metrics = readExposition(await exposed({ weir_upstream_breaker_open: [{ labels, value: 1 }] }));
          expect(metrics.get('weir_upstream_breaker_open')?.samples).toEqual([
            { name: 'weir_upstream_breaker_open', labels, value: 1 },
          ]);
        },
      ),
      { numRuns: 30 },
    ));

  test.skipIf(noPromtool !== undefined)(
    'is what promtool accepts without a word, whatever a model is called',
    async () => {
      expect(lint(await exposed())).toBe('');
      const labels = { model: 'a "model"\\ with {braces},\nlines and 😀', upstream: "'; DROP" };
      expect(lint(await exposed({ weir_upstream_breaker_open: [{ labels, value: 1 }] }))).toBe('');
      // What looks for faults finds them.
      expect(lint('# TYPE weir_things gauge\nweir_things 1\n')).not.toBe('');
      expect(lint('weir_things{a="1} 1\n')).toMatch(/^exit/);
    },
  );
});

describe('a histogram', () => {
  const seconds = fc.oneof(fc.double({ min: 0, max: 700, noNaN: true }), fc.constantFrom(0.001, 0.25, 600));

  test('counts in each bucket what is no longer than its bound', () =>
    fc.assert(
      fc.asyncProperty(fc.array(seconds), async (durations) => {
        const value = latencies();
        for (const each of durations) value.add(each);
        const metrics = readExposition(await exposed({ weir_store_append_seconds: [{ labels: {}, value }] }));
        for (const bound of value.bounds) {
          const bucket = total(metrics, 'weir_store_append_seconds_bucket', { le: `${bound}` });
          expect([bound, bucket]).toEqual([bound, durations.filter((each) => each <= bound).length]);
        }
        expect(total(metrics, 'weir_store_append_seconds_bucket', { le: '+Inf' })).toBe(durations.length);
        expect(total(metrics, 'weir_store_append_seconds_count')).toBe(durations.length);
        expect(total(metrics, 'weir_store_append_seconds_sum')).toBeCloseTo(
          durations.reduce((a, b) => a + b, 0),
          3,
        );
      }),
      { numRuns: 30 },
    ));

  test('has bounds that rise', () => {
    const { bounds } = latencies();
    expect(bounds).toEqual([...bounds].sort((a, b) => a - b));
    expect(new Distribution(bounds).counts).toHaveLength(bounds.length + 1);
  });
});
