import { expect, test } from 'vitest';
import { SignalCounts } from '../../src/observability/metrics/gateway-metrics.ts';
import { publish, signalNames } from '../../src/telemetry.ts';

test('what is said is counted from 0 on, so that the first time is a rise', () => {
  const counts = new SignalCounts();
  const read = () =>
    new Map(counts.samples.weir_signals_total().map(({ labels, value }) => [labels.signal, value] as const));
  expect([...read()]).toEqual(signalNames.map((name) => [name, 0]));
  publish('upstream.opened', { model: 'm', upstream: 'u', reason: 'it failed' });
  publish('upstream.opened', { model: 'm', upstream: 'u', reason: 'it failed' });
  counts.close();
  publish('upstream.opened', { model: 'm', upstream: 'u', reason: 'it failed' });
  expect(read().get('upstream.opened')).toBe(2);
  expect(read().get('store.lost')).toBe(0);
});

test('connections that were closed for bytes that nobody asked for are counted by their upstream', () => {
  const counts = new SignalCounts();
  for (const [model, upstream] of [
    ['m', 'a'],
    ['m', 'b'],
    ['m', 'a'],
    ['m\n', 'a'],
  ] as const)
    publish('upstream.unasked', { model, upstream });
  counts.close();
  publish('upstream.unasked', { model: 'm', upstream: 'a' });
  expect(counts.samples.weir_upstream_unasked_total()).toEqual([
    { labels: { model: 'm', upstream: 'a' }, value: 2 },
    { labels: { model: 'm', upstream: 'b' }, value: 1 },
    { labels: { model: 'm\n', upstream: 'a' }, value: 1 },
  ]);
});
