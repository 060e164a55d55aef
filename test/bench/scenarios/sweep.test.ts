import { describe, expect, test } from 'vitest';
import { encodeHistogram, newHistogram, recordMs } from '../../../bench/gen/hdr.ts';
import { slo } from '../../../bench/options.ts';
import { readAutocannon, readWrk } from '../../../bench/scenarios/cross-check.ts';
import { growthOf } from '../../../bench/scenarios/soak.ts';
import { findKnee, nothingFound, pointOf } from '../../../bench/scenarios/sweep.ts';
import { sample } from '../report/made-up.ts';

const never = () => false;
const holdsBelow = (most: number) => {
  const tried: number[] = [];
  const attempt = (rate: number) => {
    tried.push(rate);
    return Promise.resolve({ passed: rate < most, invalid: false });
  };
  return { tried, attempt };
};

describe('the knee', () => {
  test('is found to the share that was asked for', async () => {
    const { attempt, tried } = holdsBelow(31_416);
    const knee = await findKnee(attempt, { start: 2000, step: 1.25, refine: 0.03, least: 4 }, never);
    expect(knee).toBeLessThan(31_416);
    expect(knee).toBeGreaterThan(31_416 / 1.03);
    expect(tried.length).toBeLessThan(25);
  });

  test('is found below the first rate as well', async () => {
    const { attempt, tried } = holdsBelow(37);
    const knee = await findKnee(attempt, { start: 2000, step: 1.25, refine: 0.03, least: 4 }, never);
    expect(knee).toBeLessThan(37);
    expect(knee).toBeGreaterThan(37 / 1.03);
    expect(tried.slice(0, 3)).toEqual([2000, 1000, 500]);
  });

  test('is none where no rate down to the least holds', async () => {
    const { attempt, tried } = holdsBelow(10);
    expect(await findKnee(attempt, { start: 200, step: 2, refine: 0.1, least: 20 }, never)).toBeNull();
    expect(tried).toEqual([200, 100, 50, 25]);
  });

  test('is not put lower by windows in which the generator was late', async () => {
    const { attempt, tried } = holdsBelow(5000);
    const lateOnce = async (rate: number) => {
      const isFirst = !tried.includes(rate);
      const found = await attempt(rate);
      return isFirst ? { passed: false, invalid: true } : found;
    };
    const limits = { start: 1000, step: 2, refine: 0.05, least: 4 };
    expect(await findKnee(lateOnce, limits, never)).toBe(await findKnee(holdsBelow(5000).attempt, limits, never));
  });

  test('is given up at a rate after three late windows', async () => {
    const tried: number[] = [];
    const attempt = (rate: number) => Promise.resolve({ passed: true, invalid: tried.push(rate) > 0 });
    expect(await findKnee(attempt, { start: 10, step: 2, refine: 0.1, least: 10 }, never)).toBeNull();
    expect(tried).toEqual([10, 10, 10]);
  });

  test('is not beyond what the generator can send', async () => {
    const attempt = (rate: number) => Promise.resolve({ passed: true, invalid: rate > 5000 });
    expect(await findKnee(attempt, { start: 1000, step: 2, refine: 0.1, least: 4 }, never)).toBeLessThanOrEqual(5000);
  });

  test('is what held when it was interrupted', async () => {
    const { attempt, tried } = holdsBelow(1e9);
    expect(await findKnee(attempt, { start: 1000, step: 2, refine: 0.1, least: 4 }, () => tried.length === 3)).toBe(
      4000,
    );
  });
});

describe('one rate', () => {
  const histogram = (ms: readonly number[]) => {
    const made = newHistogram();
    for (const value of ms) recordMs(made, value);
    return encodeHistogram(made);
  };
  const demands = slo('p99<5ms,err<1%');
  const at = (ms: number, lag: number, change: Parameters<typeof sample>[2] = {}) =>
    pointOf(
      500,
      sample(1000, 1e6, {
        histograms: { intended: histogram([1, ms]), service: histogram([1]), lag: histogram([lag]) },
        ...change,
      }),
      demands,
    );

  test('holds within its demands', () => {
    expect(at(4, 0.1)).toMatchObject({ passed: true, invalid: false, achieved: 500, cpuShare: 0.5, errors: 0 });
  });

  test('does not hold when it is late, fails or falls behind', () => {
    expect(at(6, 0.1).passed).toBe(false);
    expect(at(4, 0.1, { statuses: { 200: 980, 429: 20 } })).toMatchObject({
      passed: false,
      errors: expect.closeTo(0.02, 6),
    });
    expect(at(4, 0.1, { done: 900, statuses: { 200: 900 } }).passed).toBe(false);
  });

  test('says nothing where the generator was late or busy', () => {
    expect(at(4, 1.2).invalid).toBe(true);
    expect(at(4, 0.1, { busy: 0.95 }).invalid).toBe(true);
  });
});

test('a sweep that has found nothing says why, and is INVALID for it', () => {
  const point = { achieved: 1, p50: 1, p99: 9, p999: 9, serviceP99: 9, errors: 0, cpuShare: null, passed: false };
  const points = [
    { ...point, rate: 5, invalid: false },
    { ...point, rate: 10, invalid: true },
  ];
  const curve = { label: 'Weir', slo: 'p99<5ms', knee: null, points };
  expect(nothingFound({ ...curve, knee: 5 })).toEqual([]);
  expect(nothingFound(curve)).toEqual(['no rate held p99<5ms, down to 5.00 per second']);
  expect(nothingFound({ ...curve, points: points.slice(1) })).toEqual([
    'the generator was the bottleneck at every rate',
  ]);
  expect(nothingFound({ ...curve, points: [] })).toEqual(['no rate was tried']);
});

test('other generators are read', () => {
  expect(readWrk('  12345 requests in 1.00s\nRequests/sec:  12345.67\nTransfer/sec: 1MB\n')).toBe(12_345.67);
  expect(() => readWrk('unable to connect')).toThrow(/said no rate/);
  expect(readAutocannon('{"requests":{"total":25000},"duration":2.5}')).toBe(10_000);
});

test('growth is of the last third beside the first', () => {
  expect(growthOf([100, 100, 100, 120, 110, 110])).toBe(1.1);
  expect(growthOf([1, 2])).toBeNull();
});
