import { expect, test } from 'vitest';
import type { Sample } from '../../../bench/gen/sample.ts';
import { rowsOf } from '../../../bench/report/rows.ts';

const sample = (done: number, serverMicros: number | null): Sample => ({
  done,
  seconds: 2,
  bytes: done * 100,
  serverMicros,
  serverSleeps: serverMicros === null ? null : done / 50,
  loadMicros: 1e6,
});

test('a row has medians of the rounds and ratios within the rounds', () => {
  const [bare, ours] = rowsOf({
    hello: [sample(200_000, 1.6e6), sample(100_000, 1.6e6), sample(200_000, 1.6e6)],
    models: [sample(100_000, 1.6e6), sample(50_000, 1.6e6), sample(100_000, 1.6e6)],
  });
  expect(bare).toMatchObject({ name: 'hello', cpuMicros: 8, perSecond: 100_000, cpuRatio: null, rateRatio: null });
  expect(ours).toMatchObject({
    cpuMicros: 16,
    perSecond: 50_000,
    cpuRatio: { median: 2, low: 2, high: 2 },
    rateRatio: { median: 0.5, low: 0.5, high: 0.5 },
    replyBytes: 100,
    serverShare: 0.8,
    loadShare: 0.5,
    sleepsPerRequest: 0.02,
  });
});

test('appends are compared with puts, and not with the bare server', () => {
  const rows = rowsOf({ appends: [sample(20_000, 1e6)], puts: [sample(80_000, 1e6)] });
  expect(rows.find(({ name }) => name === 'appends')?.rateRatio?.median).toBe(0.25);
});

test('without CPU times there are rates and nothing else', () => {
  const [, ours] = rowsOf({ hello: [sample(200_000, null)], models: [sample(100_000, null)] });
  expect(ours).toMatchObject({ cpuMicros: null, cpuRatio: null, serverShare: null, sleepsPerRequest: null });
  expect(ours?.rateRatio?.median).toBe(0.5);
});
