import { randomFrom } from '../gen/random.ts';

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

/** Consistent with the standard deviation of normal noise; one disturbed round does not move it. */
const toDeviation = 1.4826;

/** How far values usually lie from their median, as a share of it: by the median absolute deviation. */
export const variation = (values: readonly number[]): number => {
  const middle = median(values);
  return (toDeviation * median(values.map((value) => Math.abs(value - middle)))) / middle;
};

/** Of normal noise: the error of a median beside that of a mean. */
const ofMedian = 1.2533;

/** Standard error of the median, as a share of it. */
export const standardError = (values: readonly number[]): number =>
  (ofMedian * variation(values)) / Math.sqrt(values.length);

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

/** How much the median has changed from one run to another, as a ratio; the rounds of the two have nothing in common. */
export const estimateChange = (before: readonly number[], after: readonly number[], resamples = 10_000): Estimate => {
  const random = randomFrom(seed);
  const drawn = (values: readonly number[]): number =>
    median(values.map(() => values[Math.floor(random() * values.length)]!));
  const order = sorted(Array.from({ length: resamples }, () => drawn(after) / drawn(before)));
  const skipped = Math.floor(resamples * outside);
  return { median: median(after) / median(before), low: order[skipped]!, high: order[resamples - 1 - skipped]! };
};
