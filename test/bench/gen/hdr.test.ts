import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decodeHistogram,
  encodeHistogram,
  type Histogram,
  mergeHistograms,
  newHistogram,
  percentilesOf,
  recordMs,
  spectrumOf,
} from '../../../bench/gen/hdr.ts';

const times = fc.array(fc.double({ min: 0.001, max: 100_000, noNaN: true }), { minLength: 1, maxLength: 300 });
const of = (values: readonly number[]) => {
  const histogram = newHistogram();
  for (const value of values) recordMs(histogram, value);
  return histogram;
};

/** Without the largest value, which is kept apart from the buckets and not written. */
const shape = (histogram: Histogram) => {
  const { count, p50, p90, p99 } = percentilesOf(histogram);
  return { count, p50, p90, p99 };
};

describe('a histogram', () => {
  test('has the percentiles of what it was given, to three digits', () => {
    fc.assert(
      fc.property(times, (values) => {
        const sorted = values.toSorted((a, b) => a - b);
        const exact = (percentile: number) => sorted[Math.max(0, Math.ceil((percentile / 100) * sorted.length) - 1)]!;
        const { count, p50, p90, p99, max } = percentilesOf(of(values));
        expect(count).toBe(values.length);
        for (const [got, percentile] of [
          [p50, 50],
          [p90, 90],
          [p99, 99],
          [max, 100],
        ] as const)
          expect(Math.abs(got - exact(percentile))).toBeLessThanOrEqual(exact(percentile) * 0.002 + 0.001);
      }),
    );
  });

  test('is the same after it was written and read, and merged out of its parts', () => {
    fc.assert(
      fc.property(times, fc.nat(), (values, at) => {
        const whole = of(values);
        expect(shape(decodeHistogram(encodeHistogram(whole)))).toEqual(shape(whole));
        const cut = at % (values.length + 1);
        const parts = [values.slice(0, cut), values.slice(cut)].map((part) => encodeHistogram(of(part)));
        expect(shape(mergeHistograms(parts)!)).toEqual(shape(whole));
      }),
      { numRuns: 30 },
    );
  });

  test('takes what is beyond its ends at its ends', () => {
    const histogram = of([-1, 1e9]);
    expect(histogram.totalCount).toBe(2);
    expect(percentilesOf(histogram).max).toBeCloseTo(120_000, -2);
  });

  test('of nothing is none', () => {
    expect(mergeHistograms([])).toBeNull();
  });

  test('has a spectrum that rises and does not go beyond what was counted', () => {
    const spectrum = spectrumOf(of(Array.from({ length: 1000 }, (_, i) => i + 1)));
    expect(spectrum.every(([, ms], i) => ms >= (spectrum[i - 1]?.[1] ?? 0))).toBe(true);
    expect(spectrum.at(-1)![0]).toBeCloseTo(99.9, 1);
  });
});
