import { z } from 'zod';
import { type Estimate, estimate, standardError } from './statistics.ts';

const ratio = z.number().positive();
const estimated = z.strictObject({ median: ratio, low: ratio, high: ratio });
const entry = z.strictObject({ cpu: estimated, p99: estimated.nullable() });

/** What the gate compares with: ratios to bare uWebSockets.js and never a rate, since no two machines share one. */
export const baselineSchema = z.strictObject({
  schema: z.literal(1),
  at: z.string(),
  commit: z.string().nullable(),
  node: z.string(),
  cpu: z.string(),
  rounds: z.int().min(5),
  entries: z.record(z.string(), entry),
});

export type Baseline = z.infer<typeof baselineSchema>;

interface Ratios {
  readonly cpu: readonly number[];
  readonly p99: readonly number[];
}

/** Ratios of one contender to the unit, round by round. */
export interface Series extends Ratios {
  readonly name: string;
  /** To the same of the former build, in the same rounds. */
  readonly former: Ratios | null;
}

export interface GateRow {
  readonly name: string;
  readonly cpu: Estimate;
  /** By the former build, or else of the ratio now by the baseline's: 1 is no change, 1.2 is 20 % more CPU. */
  readonly change: Estimate | null;
  /** Above this the change counts: what was asked for, or three standard errors of the run's median if that is more. */
  readonly limit: number;
  readonly p99Change: Estimate | null;
  readonly verdict: 'same' | 'slower' | 'no baseline';
  readonly warning: string | null;
}

export interface GateLimits {
  readonly maxCpu: number;
  readonly maxP99: number;
}

/** Enough to notice a fifth more CPU where rounds vary by a tenth; where they vary less, fewer will do. */
export const gateRounds = 15;
/** A median that lies so many standard errors above the baseline's is no chance. */
const errors = 3;

const changeOf = ({ median: middle, low, high }: Estimate, { median: base }: Estimate): Estimate => ({
  median: middle / base,
  low: low / base,
  high: high / base,
});

const one: Estimate = { median: 1, low: 1, high: 1 };
/** What ratios to the former build are held against. */
const unchanged: Baseline['entries'][string] = { cpu: one, p99: one };

/**
 * Holds this run against the former build, which felt the same machine, and where there is none against the ratios of the
 * baseline.
 * @param resamples of the bootstrap
 */
export const judgeGate = (
  series: readonly Series[],
  baseline: Baseline,
  limits: GateLimits,
  resamples?: number,
): readonly GateRow[] =>
  series.map(({ name, cpu, p99, former }) => {
    const base = former === null ? baseline.entries[name] : unchanged;
    const ratios = former ?? { cpu, p99 };
    const limit = Math.max(limits.maxCpu, 1 + errors * standardError(ratios.cpu));
    const now = estimate(cpu, resamples);
    if (base === undefined) {
      return { name, cpu: now, change: null, limit, p99Change: null, verdict: 'no baseline', warning: null };
    }
    const change = changeOf(estimate(ratios.cpu, resamples), base.cpu);
    const p99Change = base.p99 && ratios.p99.length > 0 ? changeOf(estimate(ratios.p99, resamples), base.p99) : null;
    const isLate = p99Change !== null && p99Change.median > limits.maxP99 && p99Change.low > 1;
    return {
      name,
      cpu: now,
      change,
      limit,
      p99Change,
      // Beyond the limit, and so in nearly every round that no change is out of the question.
      verdict: change.median > limit && change.low > 1 ? 'slower' : 'same',
      warning: isLate ? `p99 is ${p99Change.median.toFixed(2)} times what it was` : null,
    };
  });

/** A new baseline out of a run. */
export const baselineOf = (series: readonly Series[], about: Omit<Baseline, 'schema' | 'entries'>): Baseline => ({
  schema: 1,
  ...about,
  entries: Object.fromEntries(
    series.map(({ name, cpu, p99 }) => [name, { cpu: estimate(cpu), p99: p99.length > 0 ? estimate(p99) : null }]),
  ),
});
