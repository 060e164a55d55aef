import type { Sample } from '../gen/sample.ts';
import type { Samples } from '../run.ts';
import { type ContenderName, unitOf } from '../scenarios/names.ts';
import { type Estimate, estimate, median, pairedRatios } from './statistics.ts';

/** A contender over all rounds. Shares are of one core, ratios those of the same rounds to its unit. */
export interface Row {
  readonly name: ContenderName;
  /** CPU µs of the server per request, user and system; null without /proc. */
  readonly cpuMicros: number | null;
  readonly perSecond: number;
  readonly cpuRatio: Estimate | null;
  readonly rateRatio: Estimate | null;
  /** Bytes of one response, head included; 0 where there are none. */
  readonly replyBytes: number;
  readonly serverShare: number | null;
  readonly loadShare: number;
  /** How often the server slept per request: near 0 it always had work waiting, near 1 it was woken for each. */
  readonly sleepsPerRequest: number | null;
}

const over = (value: number | null, unit: number): number | null => (value === null ? null : value / unit);
const cpuMicros = ({ serverMicros, done }: Sample): number | null => over(serverMicros, done);
const perSecond = ({ done, seconds }: Sample): number => done / seconds;

/** Null where one of the values is missing. */
const all = (values: readonly (number | null)[]): number[] | null =>
  values.every((value) => value !== null) ? (values as number[]) : null;

const medianOf = (samples: readonly Sample[], value: (sample: Sample) => number | null): number | null => {
  const values = all(samples.map(value));
  return values && median(values);
};

/** CPU per request of each round; null without /proc. */
export const cpuSeries = (samples: readonly Sample[]): number[] | null => all(samples.map(cpuMicros));

const cpuRatioOf = (samples: readonly Sample[], units: readonly Sample[]): Estimate | null => {
  const values = cpuSeries(samples);
  const unitValues = cpuSeries(units);
  return values && unitValues && estimate(pairedRatios(values, unitValues));
};

const rowOf = (name: ContenderName, samples: readonly Sample[], units: readonly Sample[] | undefined): Row => ({
  name,
  cpuMicros: medianOf(samples, cpuMicros),
  perSecond: median(samples.map(perSecond)),
  cpuRatio: units ? cpuRatioOf(samples, units) : null,
  rateRatio: units ? estimate(pairedRatios(samples.map(perSecond), units.map(perSecond))) : null,
  replyBytes: median(samples.map(({ bytes, done }) => bytes / done)),
  serverShare: medianOf(samples, ({ serverMicros, seconds }) => over(serverMicros, seconds * 1e6)),
  loadShare: median(samples.map(({ loadMicros, seconds }) => loadMicros / (seconds * 1e6))),
  sleepsPerRequest: medianOf(samples, ({ serverSleeps, done }) => over(serverSleeps, done)),
});

export const rowsOf = (samples: Samples): readonly Row[] =>
  (Object.keys(samples) as ContenderName[]).map((name) => {
    const unit = unitOf[name];
    return rowOf(name, samples[name]!, unit === null ? undefined : samples[unit]);
  });
