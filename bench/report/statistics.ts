const sorted = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);

/** The middle value, or the mean of the two in the middle. NaN for no values. */
export const median = (values: readonly number[]): number => {
  const order = sorted(values);
  const middle = order.length >> 1;
  return order.length % 2 === 1 ? order[middle]! : (order[middle - 1]! + order[middle]!) / 2;
};

/** How far the value farthest from the median lies from it, as a share of it. */
export const spread = (values: readonly number[]): number => {
  const middle = median(values);
  return Math.max(...values.map((value) => Math.abs(value - middle))) / middle;
};

/** Ratios of what was measured in the same round. @throws RangeError for series of different lengths */
export const pairedRatios = (values: readonly number[], units: readonly number[]): number[] => {
  if (values.length !== units.length) throw new RangeError('paired ratios need as many values as units');
  return values.map((value, i) => value / units[i]!);
};

/** A median with the interval that it lies in with about 95 % confidence. */
export interface Estimate {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** Mulberry32: the same data gives the same interval. */
const randomFrom = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

const seed = 7;
const outside = 0.025;

/**
 * Percentile bootstrap of the median: the middle 95 % of the medians of resampled rounds. Below five values no interval
 * can hold what it promises; for five it is the whole range.
 */
export const estimate = (values: readonly number[], resamples = 10_000): Estimate => {
  const random = randomFrom(seed);
  const medians = Array.from({ length: resamples }, () =>
    median(values.map(() => values[Math.floor(random() * values.length)]!)),
  );
  const order = sorted(medians);
  const skipped = Math.floor(resamples * outside);
  return { median: median(values), low: order[skipped]!, high: order[resamples - 1 - skipped]! };
};
