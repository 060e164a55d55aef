import { encodeHistogram, mergeHistograms, type Percentiles, percentilesOf, spectrumOf } from '../gen/hdr.ts';
import type { HttpSample } from '../gen/main.ts';
import type { Second } from '../gen/record.ts';
import type { Measured, Purpose } from '../measure.ts';
import type { Inside } from '../target.ts';
import { type Estimate, estimate, median, pairedRatios } from './statistics.ts';

/** One window, without what is merged over all of them. */
export interface Window extends Omit<HttpSample, 'histograms' | 'timeline'> {
  readonly inside: Inside | null;
}

/** A contender over all rounds. Shares are of one core, ratios those of the same rounds to its unit. */
export interface ContenderResult {
  readonly name: string;
  readonly label: string;
  readonly purpose: Purpose;
  readonly unit: string | null;
  /** What was asked of the generator. */
  readonly load: { readonly arrivals: string; readonly connections: number; readonly rate: number | null };
  /** CPU µs of the server per request, user and system; null without /proc. */
  readonly cpuMicros: number | null;
  /** The part of it that is the kernel's. */
  readonly cpuSystemMicros: number | null;
  readonly cpuRatio: Estimate | null;
  /** Answers per second, of any status. */
  readonly perSecond: number;
  readonly rateRatio: Estimate | null;
  /** Of the 99th percentile, from the intended time where there is one. */
  readonly p99Ratio: Estimate | null;
  /** Answers by status over all rounds; 0 stands for requests that broke or timed out. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Milliseconds, by phase. */
  readonly latency: Readonly<Record<string, Percentiles>>;
  /** 99th percentile of each round, milliseconds, from the intended time where there is one. */
  readonly p99Rounds: readonly number[];
  /** Bytes of one answer, head included. */
  readonly replyBytes: number;
  readonly serverShare: number | null;
  /** Share of the time in which the generator had something to do. */
  readonly generatorShare: number;
  /** How often the server slept per request: near 0 it always had work waiting, near 1 it was woken for each. */
  readonly sleepsPerRequest: number | null;
  /** Resident memory at its highest within a window, bytes. */
  readonly rss: number | null;
  /** Longest garbage collection and 99th percentile of the event loop's delay, milliseconds; Node servers alone. */
  readonly gcLongest: number | null;
  readonly loopDelayP99: number | null;
  readonly windows: readonly Window[];
  /** Seconds of all windows, one after another. */
  readonly timeline: readonly Second[];
  /** Of all rounds together: HDR histograms V2 in base64, microseconds, by phase. */
  readonly histograms: Readonly<Record<string, string>>;
  /** Points of the percentile spectrum by phase: [percentile, milliseconds]. */
  readonly spectrum: Readonly<Record<string, readonly (readonly [number, number])[]>>;
}

const over = (value: number | null, unit: number): number | null =>
  value === null || unit === 0 ? null : value / unit;
const cpuOf = ({ serverMicros, done }: Pick<HttpSample, 'serverMicros' | 'done'>): number | null =>
  over(serverMicros, done);
const perSecondOf = ({ done, seconds }: HttpSample): number => done / seconds;

/** The phase that a client would call the latency. */
export const wholePhase = (names: readonly string[]): string => (names.includes('intended') ? 'intended' : 'service');

const p99Of = ({ histograms }: HttpSample): number => {
  const text = histograms[wholePhase(Object.keys(histograms))];
  const merged = mergeHistograms(text === undefined ? [] : [text]);
  return merged ? percentilesOf(merged).p99 : Number.NaN;
};

/** Null where one of the values is missing. */
const all = (values: readonly (number | null)[]): number[] | null =>
  values.every((value) => value !== null) ? (values as number[]) : null;

const medianOf = (values: readonly (number | null)[]): number | null => {
  const known = all(values);
  return known && median(known);
};

const mostOf = (values: readonly (number | null | undefined)[]): number | null => {
  const known = values.filter((value) => value != null);
  return known.length === 0 ? null : Math.max(...known);
};

/** CPU per request of each round; null without /proc. */
export const cpuSeries = (samples: readonly Pick<HttpSample, 'serverMicros' | 'done'>[]): number[] | null =>
  all(samples.map(cpuOf));

const ratioOf = (
  samples: readonly HttpSample[],
  units: readonly HttpSample[] | undefined,
  value: (sample: HttpSample) => number | null,
): Estimate | null => {
  const [values, unitValues] = [all(samples.map(value)), units && all(units.map(value))];
  if (!values || !unitValues || ![...values, ...unitValues].every((each) => each > 0 && Number.isFinite(each)))
    return null;
  return estimate(pairedRatios(values, unitValues));
};

const sum = (counts: readonly Readonly<Record<string, number>>[]): Record<string, number> => {
  const total: Record<string, number> = {};
  for (const each of counts) for (const [key, count] of Object.entries(each)) total[key] = (total[key] ?? 0) + count;
  return total;
};

/** @param units the samples of its unit, of the same rounds */
const contenderResult = (
  { contender, samples, inside }: Measured,
  units: readonly HttpSample[] | undefined,
): ContenderResult => {
  const { name, label, purpose, unit, plan } = contender;
  const phases = [...new Set(samples.flatMap(({ histograms }) => Object.keys(histograms)))];
  const merged = new Map(
    phases.map((phase) => [phase, mergeHistograms(samples.flatMap(({ histograms }) => histograms[phase] ?? []))!]),
  );
  const byPhase = <T>(make: (phase: string) => T) => Object.fromEntries(phases.map((phase) => [phase, make(phase)]));
  const { arrivals, connections } = plan;
  return {
    name,
    label,
    purpose,
    unit,
    load: { arrivals: arrivals.is, connections, rate: 'rate' in arrivals ? arrivals.rate : null },
    cpuMicros: medianOf(samples.map(cpuOf)),
    cpuSystemMicros: medianOf(samples.map(({ serverSystemMicros, done }) => over(serverSystemMicros, done))),
    cpuRatio: ratioOf(samples, units, cpuOf),
    perSecond: median(samples.map(perSecondOf)),
    rateRatio: ratioOf(samples, units, perSecondOf),
    p99Ratio: ratioOf(samples, units, p99Of),
    statuses: sum(samples.map(({ statuses }) => statuses)),
    latency: byPhase((phase) => percentilesOf(merged.get(phase)!)),
    p99Rounds: samples.map(p99Of),
    replyBytes: median(samples.map(({ bytes, done }) => (done === 0 ? 0 : bytes / done))),
    serverShare: medianOf(samples.map(({ serverMicros, seconds }) => over(serverMicros, seconds * 1e6))),
    generatorShare: median(samples.map(({ busy }) => busy)),
    sleepsPerRequest: medianOf(samples.map(({ serverSleeps, done }) => over(serverSleeps, done))),
    rss: mostOf(samples.map(({ rss }) => rss)),
    gcLongest: mostOf(inside.map((each) => each?.pauses.longest)),
    loopDelayP99: mostOf(inside.map((each) => each?.loopDelay.p99)),
    windows: samples.map(({ histograms: _, timeline: __, ...rest }, i) => ({ ...rest, inside: inside[i] ?? null })),
    timeline: samples.flatMap(({ timeline }) => timeline),
    histograms: byPhase((phase) => encodeHistogram(merged.get(phase)!)),
    spectrum: byPhase((phase) => spectrumOf(merged.get(phase)!)),
  };
};

/** All of a scenario, each beside its unit. */
export const contenderResults = (measured: readonly Measured[]): readonly ContenderResult[] =>
  measured.map((each) => {
    const unit = measured.find(({ contender }) => contender.name === each.contender.unit);
    return contenderResult(each, unit?.samples);
  });

/** CPU per request of one contender over another's, round by round. */
export const cpuRatio = (one: ContenderResult | undefined, other: ContenderResult | undefined): Estimate | null => {
  const [values, units] = [cpuSeries(one?.windows ?? []), cpuSeries(other?.windows ?? [])];
  if (!values?.length || !units?.length || [...values, ...units].some((value) => !(value > 0))) return null;
  return estimate(pairedRatios(values, units));
};
