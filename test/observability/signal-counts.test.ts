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
