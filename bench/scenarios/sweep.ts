import { mergeHistograms, percentilesOf } from '../gen/hdr.ts';
import type { HttpSample } from '../gen/main.ts';
import { type Contender, type Measured, measureOnce } from '../measure.ts';
import type { Demand } from '../options.ts';
import type { CurvePoint } from '../report/result.ts';
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
}

/** One rate: whether it held, and whether it says anything. */
export type Try = (rate: number) => Promise<{ readonly passed: boolean; readonly invalid: boolean }>;

const mostSteps = 60;

/**
 * Raises the rate until it does not hold, then halves the gap in between.
 * @returns the highest rate that held; null where the first did not, and the last that was tried where none failed
 */
export const findKnee = async (
  attempt: Try,
  { start, step, refine }: Pick<SweepOptions, 'start' | 'step' | 'refine'>,
  isOver: () => boolean,
): Promise<number | null> => {
  let held: number | null = null;
  let failed: number | null = null;
  for (let steps = 0, rate = start; steps < mostSteps && !isOver(); steps++) {
    const { passed, invalid } = await attempt(rate);
    // What the generator cannot send, nobody can hold.
    if (passed && !invalid) held = rate;
    else failed = rate;
    if (failed === null) rate *= step;
    else if (held === null || failed / held <= 1 + refine) break;
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
  const all = Object.values(sample.statuses).reduce((sum, count) => sum + count, 0);
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

/** Rate against latency of one load. */
export const sweep = async (stage: Stage, load: Contender, options: SweepOptions): Promise<Findings> => {
  const points: CurvePoint[] = [];
  const measured: Measured[] = [];
  const attempt: Try = async (rate) => {
    stage.tell(`${Math.round(rate)} per second`, Math.min(0.95, points.length / 20));
    const contender: Contender = {
      ...load,
      name: `at ${Math.round(rate)}/s`,
      label: `${load.label} at ${Math.round(rate)}/s`,
      // The steps above the knee are late on purpose; the curve marks those that say nothing.
      purpose: 'proxied',
      plan: { ...load.plan, arrivals: { is: 'poisson', rate } },
    };
    const { sample, inside } = await measureOnce(stage, contender, options.stepSeconds);
    const point = pointOf(rate, sample, options.slo);
    points.push(point);
    measured.push({ contender, samples: [sample], inside: [inside] });
    stage.say(
      `${Math.round(rate)}/s: p50 ${point.p50.toFixed(2)} ms, p99 ${point.p99.toFixed(2)} ms, ${point.passed ? 'holds' : 'does not hold'}`,
    );
    return point;
  };
  const knee = await findKnee(attempt, options, () => stage.interrupted.aborted);
  const sorted = points.toSorted((a, b) => a.rate - b.rate);
  const bound = points.some(({ invalid }) => invalid);
  return {
    measured,
    rounds: null,
    curves: [{ label: load.label, slo: sloText(options.slo), points: sorted, knee }],
    notes: bound ? ['some rates were more than the generator could send: the knee is a lower bound'] : [],
  };
};
