import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { estimate, median, pairedRatios, spread } from '../../../bench/report/statistics.ts';

const positive = fc.double({ min: 0.01, max: 1000, noNaN: true });

describe('the median of paired ratios', () => {
  test('divides round by round, so that a slow round cancels out', () => {
    const bare = [8, 16, 8, 24, 8];
    const ours = [12, 24, 12, 36, 12];
    expect(pairedRatios(ours, bare)).toEqual([1.5, 1.5, 1.5, 1.5, 1.5]);
    expect(estimate(pairedRatios(ours, bare))).toEqual({ median: 1.5, low: 1.5, high: 1.5 });
  });

  test('is not the ratio of the medians', () => {
    const ratios = pairedRatios([1, 6, 3], [1, 2, 4]);
    expect(median(ratios)).toBe(1);
    expect(median([1, 6, 3]) / median([1, 2, 4])).toBe(1.5);
  });

  test('refuses series of different lengths', () => {
    expect(() => pairedRatios([1, 2], [1])).toThrow(RangeError);
  });

  test.each([
    [[3], 3],
    [[3, 1], 2],
    [[9, 1, 5], 5],
    [[4, 1, 100, 2], 3],
    [[10, 9, 8, 7, 6], 8],
  ])('of %j is %d', (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  test('is compared as numbers, not as text', () => {
    expect(median([10, 9, 100])).toBe(10);
  });
});

describe('the spread', () => {
  test('is the farthest value, on either side, as a share of the median', () => {
    expect(spread([8, 10, 11])).toBeCloseTo(0.2);
    expect(spread([9, 10, 13])).toBeCloseTo(0.3);
    expect(spread([7])).toBe(0);
  });
});

describe('the bootstrap interval', () => {
  // P(median of the resample = least of n) is P(Bin(n, 1/n) > n/2): 5.8 % for five values, 1.0 % for seven; for seven
  // the least two together have 10.8 %.
  test('of five values is their range', () => {
    expect(estimate([5, 1, 4, 2, 3])).toEqual({ median: 3, low: 1, high: 5 });
  });

  test('of seven values leaves out the least and the greatest', () => {
    expect(estimate([7, 1, 6, 2, 5, 3, 4])).toEqual({ median: 4, low: 2, high: 6 });
  });

  test('is narrower for more rounds of the same spread', () => {
    const width = (n: number) => {
      const { low, high } = estimate(Array.from({ length: n }, (_, i) => (i + 0.5) / n));
      return high - low;
    };
    expect(width(101)).toBeLessThan(width(11) / 2);
  });

  test('holds the true median about 95 times in 100', () => {
    let state = 1;
    const random = () => {
      state = (Math.imul(state, 48271) >>> 0) % 2147483647;
      return state / 2147483647;
    };
    let held = 0;
    const trials = 200;
    for (let trial = 0; trial < trials; trial++) {
      const { low, high } = estimate(
        Array.from({ length: 15 }, () => random() + random() + random()),
        300,
      );
      if (low <= 1.5 && 1.5 <= high) held++;
    }
    expect(held / trials).toBeGreaterThan(0.9);
    expect(held / trials).toBeLessThan(0.99);
  });

  test('contains the median, lies within the values and is the same each time', () => {
    fc.assert(
      fc.property(fc.array(positive, { minLength: 1, maxLength: 12 }), (values) => {
        const { median: middle, low, high } = estimate(values, 100);
        expect(low).toBeLessThanOrEqual(middle);
        expect(high).toBeGreaterThanOrEqual(middle);
        expect(low).toBeGreaterThanOrEqual(Math.min(...values));
        expect(high).toBeLessThanOrEqual(Math.max(...values));
        expect(estimate(values, 100)).toEqual({ median: middle, low, high });
      }),
    );
  });
});
