import { expect, test } from 'vitest';
import { contenderResults } from '../../../bench/report/contender.ts';
import { contender, measured, sample } from './made-up.ts';

const two = (bare: Parameters<typeof sample>[], ours: Parameters<typeof sample>[]) =>
  contenderResults([
    measured(
      contender('hello', null),
      bare.map((each) => sample(...each)),
    ),
    measured(
      contender('models', 'hello'),
      ours.map((each) => sample(...each)),
    ),
  ]);

test('a contender has medians of the rounds and ratios within the rounds', () => {
  const [bare, ours] = two(
    [
      [200_000, 1.6e6],
      [100_000, 1.6e6],
      [200_000, 1.6e6],
    ],
    [
      [100_000, 1.6e6],
      [50_000, 1.6e6],
      [100_000, 1.6e6],
    ],
  );
  expect(bare).toMatchObject({ cpuMicros: 8, cpuSystemMicros: 4, perSecond: 100_000, cpuRatio: null, rateRatio: null });
  expect(ours).toMatchObject({
    cpuMicros: 16,
    perSecond: 50_000,
    cpuRatio: { median: 2, low: 2, high: 2 },
    rateRatio: { median: 0.5, low: 0.5, high: 0.5 },
    p99Ratio: { median: 1 },
    statuses: { 200: 250_000 },
    replyBytes: 100,
    serverShare: 0.8,
    sleepsPerRequest: 0.02,
    rss: 2 ** 26,
  });
  expect(ours?.latency.service).toMatchObject({ count: 12, max: expect.closeTo(4, 1) });
});

test('without CPU times there are rates and nothing else', () => {
  const [, ours] = two([[200_000, null]], [[100_000, null]]);
  expect(ours).toMatchObject({ cpuMicros: null, cpuRatio: null, serverShare: null, sleepsPerRequest: null });
  expect(ours?.rateRatio?.median).toBe(0.5);
});

test('what answered nothing has no ratio', () => {
  const [, ours] = two([[200_000, 1e6]], [[0, 1e6]]);
  expect(ours).toMatchObject({ cpuRatio: null, rateRatio: null, replyBytes: 0 });
});

test('no key of a load gets into a result', () => {
  expect(JSON.stringify(two([[1, 1]], [[1, 1]]))).not.toContain('gwp_');
});
