import { mergeHistograms, percentilesOf } from '../gen/hdr.ts';
import type { HttpSample } from '../gen/main.ts';
import { type Contender, type Measured, measureOnce } from '../measure.ts';
import type { Demand } from '../options.ts';
import { figure, requestsIn } from '../report/figures.ts';
import type { Curve, CurvePoint } from '../report/result.ts';
import type { Stage } from '../stage.ts';
import type { Findings } from './scenario.ts';

export interface SweepOptions {
  readonly slo: readonly Demand[];
  readonly start: number;
  /** From one rate to the next. */
  readonly step: number;
  /** Share of the rate to which the knee is found. */
  readonly refine: number;
  readonly stepSeconds: number;
  /** Load at the first rate that is thrown away, seconds. */
  readonly warmup: number;
}

/** One rate: whether it held, and whether it says anything. */
export type Try = (rate: number) => Promise<{ readonly passed: boolean; readonly invalid: boolean }>;

const mostSteps = 60;
/** A generator that wakes up late once has lost one window, not the run. */
const mostTries = 3;

/**
 * Raises the rate until it does not hold, or lowers it until it does, then halves the gap in between. A window that the
 * generator has spoilt is measured again.
 * @param least the rate below which nothing is tried, unless it is the first
 * @returns the highest rate that held; null where none did, and the last that was tried where none failed
 */
export const findKnee = async (
  attempt: Try,
  { start, step, refine, least }: Pick<SweepOptions, 'start' | 'step' | 'refine'> & { readonly least: number },
  isOver: () => boolean,
): Promise<number | null> => {
  const insist: Try = async (rate) => {
    let found = await attempt(rate);
    for (let tries = 1; found.invalid && tries < mostTries && !isOver(); tries++) found = await attempt(rate);
    return found;
  };
  const down = Math.max(2, step);
  let held: number | null = null;
  let failed: number | null = null;
  for (let steps = 0, rate = start; steps < mostSteps && !isOver(); steps++) {
    const { passed, invalid } = await insist(rate);
    // What the generator cannot send, nobody can hold.
    if (passed && !invalid) held = rate;
    else failed = rate;
    if (failed === null) rate *= step;
    else if (held === null) {
      rate /= down;
      if (rate < least) break;
    } else if (failed / held <= 1 + refine) break;
    else rate = Math.sqrt(held * failed);
  }
  return held;
};

const lagLimitMs = 1;
const busiest = 0.9;
/** A rate that is not reached has not held, whatever the latencies of what was answered. */
const leastAchieved = 0.95;

export const pointOf = (rate: number, sample: HttpSample, demands: readonly Demand[]): CurvePoint => {
  const of = (phase: string) => {
    const merged = mergeHistograms(sample.histograms[phase] === undefined ? [] : [sample.histograms[phase]]);
    return merged && percentilesOf(merged);
  };
  const [intended, service, lag] = [of('intended'), of('service'), of('lag')];
  const all = requestsIn(sample.statuses);
  const errors = all === 0 ? 1 : 1 - (sample.statuses['200'] ?? 0) / all;
  const achieved = sample.done / sample.seconds;
  const figures = {
    p50: intended?.p50 ?? Infinity,
    p90: intended?.p90 ?? Infinity,
    p99: intended?.p99 ?? Infinity,
    'p99.9': intended?.p999 ?? Infinity,
    err: errors,
  };
  const holds = demands.every(({ figure, below }) => figures[figure] < below);
  return {
    rate,
    achieved,
    p50: intended?.p50 ?? 0,
    p99: intended?.p99 ?? 0,
    p999: intended?.p999 ?? 0,
    serviceP99: service?.p99 ?? 0,
    errors,
    cpuShare: sample.serverMicros === null ? null : sample.serverMicros / (sample.seconds * 1e6),
    passed: holds && achieved >= leastAchieved * rate,
    invalid: (lag?.p99 ?? 0) > lagLimitMs || sample.busy > busiest,
  };
};

const sloText = (demands: readonly Demand[]): string =>
  demands.map(({ figure, below }) => (figure === 'err' ? `err<${below * 100}%` : `${figure}<${below}ms`)).join(', ');

/** Why a sweep that has found no rate must not be quoted; empty for one that has found one. */
export const nothingFound = ({ knee, points, slo }: Curve): readonly string[] => {
  const [lowest] = points;
  if (knee !== null) return [];
  if (lowest === undefined) return ['no rate was tried'];
  if (points.every(({ invalid }) => invalid)) return ['the generator was the bottleneck at every rate'];
  return [`no rate held ${slo}, down to ${figure(lowest.rate)} per second`];
};

/** Of fewer requests than this a window tells nothing. */
const fewestRequests = 20;

/** Rate against latency of one load. */
export const sweep = async (stage: Stage, load: Contender, options: SweepOptions): Promise<Findings> => {
  /** The last window of each rate. */
  const found = new Map<number, { readonly point: CurvePoint; readonly measured: Measured }>();
  let windows = 0;
  const at = (rate: number): Contender => ({
    ...load,
    name: `at ${figure(rate)}/s`,
    label: `${load.label} at ${figure(rate)}/s`,
    // The steps above the knee are late on purpose; the curve marks those that say nothing.
    purpose: 'proxied',
    plan: { ...load.plan, arrivals: { is: 'poisson', rate } },
  });
  const attempt: Try = async (rate) => {
    stage.tell(`${figure(rate)} per second`, Math.min(0.95, windows / 20));
    const contender = at(rate);
    const { sample, inside } = await measureOnce(stage, contender, options.stepSeconds);
    const point = pointOf(rate, sample, options.slo);
    windows++;
    found.set(rate, { point, measured: { contender, samples: [sample], inside: [inside] } });
    const outcome = point.invalid ? 'the generator was late' : point.passed ? 'holds' : 'does not hold';
    stage.say(`${figure(rate)}/s: p50 ${figure(point.p50)} ms, p99 ${figure(point.p99)} ms, ${outcome}`);
    return point;
  };
  // Code that is not compiled yet would fail the first rate, and with it all above.
  if (options.warmup > 0) await measureOnce(stage, at(options.start), options.warmup);
  const limits = { ...options, least: fewestRequests / options.stepSeconds };
  const knee = await findKnee(attempt, limits, () => stage.interrupted.aborted);
  const sorted = [...found.values()].sort((a, b) => a.point.rate - b.point.rate);
  const points = sorted.map(({ point }) => point);
  const curve: Curve = { label: load.label, slo: sloText(options.slo), points, knee };
  const again = windows - points.length;
  const notes = [
    ...(again > 0 ? [`${again} windows were measured again, since the generator was late in them`] : []),
    ...(knee !== null && points.some(({ rate, invalid }) => invalid && rate > knee)
      ? ['some rates were more than the generator could send: the knee is a lower bound']
      : []),
  ];
  return {
    measured: sorted.map(({ measured }) => measured),
    rounds: null,
    curves: [curve],
    notes,
    invalid: nothingFound(curve),
  };
};
