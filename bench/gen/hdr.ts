import * as hdr from 'hdr-histogram-js';

/** Microseconds, three significant digits up to two minutes. */
export type Histogram = hdr.Histogram;

const longestMicros = 120_000_000;

export const newHistogram = (): Histogram =>
  hdr.build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: longestMicros,
    numberOfSignificantValueDigits: 3,
    bitBucketSize: 32,
    useWebAssembly: false,
  });

/** @param ms a time in milliseconds; what is beyond the histogram counts as its longest */
export const recordMs = (histogram: Histogram, ms: number): void => {
  const micros = Math.round(ms * 1000);
  histogram.recordValue(Math.max(0, Math.min(micros, longestMicros)));
};

/** HDR histogram format V2, deflated, base64: other HDR tools read it. */
export const encodeHistogram = (histogram: Histogram): string => hdr.encodeIntoCompressedBase64(histogram);

export const decodeHistogram = (text: string): Histogram =>
  hdr.decodeFromCompressedBase64(text, 32, false) as Histogram;

/** One histogram of all, as of one long run; null of none. */
export const mergeHistograms = (texts: readonly string[]): Histogram | null => {
  const [first, ...rest] = texts;
  if (first === undefined) return null;
  const merged = newHistogram();
  for (const text of [first, ...rest]) merged.add(decodeHistogram(text) as hdr.Histogram);
  return merged;
};

/** Milliseconds. */
export interface Percentiles {
  readonly count: number;
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

const ms = (micros: number): number => micros / 1000;

export const percentilesOf = (histogram: Histogram): Percentiles => ({
  count: histogram.totalCount,
  mean: ms(histogram.mean),
  p50: ms(histogram.getValueAtPercentile(50)),
  p90: ms(histogram.getValueAtPercentile(90)),
  p99: ms(histogram.getValueAtPercentile(99)),
  p999: ms(histogram.getValueAtPercentile(99.9)),
  max: ms(histogram.maxValue),
});

/** Points of a percentile spectrum: [percentile, milliseconds], denser toward 100. */
export const spectrumOf = (histogram: Histogram): [number, number][] => {
  const points: [number, number][] = [];
  for (let nines = 0; nines <= 5; nines += 0.1) {
    const percentile = 100 * (1 - 10 ** -nines);
    // Beyond one value in all there is nothing to tell apart.
    if (10 ** nines > histogram.totalCount) break;
    points.push([percentile, ms(histogram.getValueAtPercentile(percentile))]);
  }
  return points;
};
