import type { Environment } from '../machine/environment.ts';
import type { Pinning } from '../machine/pin.ts';
import type { Surroundings } from '../measure.ts';
import type { TruthRow } from '../truth/truth.ts';
import type { Bar } from './bar.ts';
import type { ContenderResult } from './contender.ts';
import type { Verdict } from './validity.ts';

/** One rate of a sweep. Latencies in milliseconds, from the intended time and from the actual send. */
export interface CurvePoint {
  readonly rate: number;
  readonly achieved: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly serviceP99: number;
  /** Share of the answers that were not 200. */
  readonly errors: number;
  readonly cpuShare: number | null;
  readonly passed: boolean;
  /** Whether the generator was the bottleneck: the point says nothing then. */
  readonly invalid: boolean;
}

export interface Curve {
  readonly label: string;
  readonly slo: string;
  readonly points: readonly CurvePoint[];
  /** The highest rate that held, and null where none did. */
  readonly knee: number | null;
}

/** One scenario of a run with everything it has to say. */
export interface ScenarioResult {
  readonly id: string;
  readonly title: string;
  /** What was done, in sentences. */
  readonly about: readonly string[];
  readonly seconds: number;
  readonly surroundings: Surroundings;
  readonly contenders: readonly ContenderResult[];
  readonly bars: readonly Bar[];
  readonly curves: readonly Curve[];
  readonly truth: readonly TruthRow[];
  /** What was skipped and why, what the figures do not say. */
  readonly notes: readonly string[];
  readonly verdict: Verdict;
}

/** A run as result.json holds it; result.schema.json describes it, and `schema` grows with every change of it. */
export interface Result {
  readonly schema: 2;
  readonly command: string;
  readonly at: string;
  readonly seconds: number;
  readonly interrupted: boolean;
  readonly environment: Environment;
  readonly pinning: Pinning;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly scenarios: readonly ScenarioResult[];
}

/** What was measured: the address of a gateway that was there already, or Weir of a commit. */
export const measuredIn = ({ settings, environment }: Pick<Result, 'settings' | 'environment'>): string => {
  if (typeof settings.target === 'string') return settings.target;
  const { commit, modified } = environment;
  return commit === null
    ? 'Weir of an unknown commit'
    : `Weir of ${commit.slice(0, 7)}${modified ? ' with local changes' : ''}`;
};

/** 0 valid, 3 INVALID, 4 valid for CPU per request alone, 5 a bar was missed. */
export const exitStatusOf = ({ scenarios }: Pick<Result, 'scenarios'>): number => {
  if (scenarios.length === 0 || scenarios.some(({ verdict }) => verdict.is === 'INVALID')) return 3;
  if (scenarios.some(({ bars }) => bars.some(({ verdict }) => verdict === 'missed'))) return 5;
  return scenarios.some(({ verdict }) => verdict.is !== 'VALID') ? 4 : 0;
};
