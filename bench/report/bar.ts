import type { Estimate } from './statistics.ts';

/** `invalid`: measured, but the run must not be quoted. `not yet`: what it is about is not built. */
export type BarVerdict = 'met' | 'missed' | 'invalid' | 'not measured' | 'not yet';

/** Something that Weir is to reach, and whether it does. */
export interface Bar {
  readonly id: string;
  readonly title: string;
  /** The bound as a person reads it, with its unit. */
  readonly bound: string;
  readonly value: number | null;
  /** Unit of the value: `×`, `µs`, `ms`, `MB`, `` for a count. */
  readonly unit: string;
  /** 95 % interval of the value, where there are rounds to take it from. */
  readonly low: number | null;
  readonly high: number | null;
  readonly verdict: BarVerdict;
  readonly note: string | null;
}

export interface BarRule {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly atMost?: number;
  readonly atLeast?: number;
  /** Where the bound itself does not count: below 1 for "cheaper than". */
  readonly isStrict?: boolean;
}

const boundOf = ({ unit, atMost, atLeast, isStrict }: BarRule): string => {
  const sign = atMost === undefined ? '≥' : isStrict ? '<' : '≤';
  return `${sign} ${atMost ?? atLeast}${unit === '' ? '' : ` ${unit}`}`;
};

const holds = ({ atMost, atLeast, isStrict }: BarRule, value: number): boolean =>
  atMost === undefined ? value >= atLeast! : isStrict ? value < atMost : value <= atMost;

/** A bar by what was measured; null where nothing was, with the reason. */
export const barOf = (rule: BarRule, value: number | Estimate | null, note: string | null = null): Bar => {
  const middle = value === null ? null : typeof value === 'number' ? value : value.median;
  const [low, high] = value === null || typeof value === 'number' ? [null, null] : [value.low, value.high];
  const verdict = middle === null || Number.isNaN(middle) ? 'not measured' : holds(rule, middle) ? 'met' : 'missed';
  const { id, title, unit } = rule;
  return {
    id,
    title,
    bound: boundOf(rule),
    value: verdict === 'not measured' ? null : middle,
    unit,
    low,
    high,
    verdict,
    note,
  };
};

export const notYet = (rule: BarRule, note: string): Bar => ({ ...barOf(rule, null, note), verdict: 'not yet' });

/** What a run that must not be quoted says of its bars. */
export const invalidated = (bar: Bar): Bar =>
  bar.verdict === 'met' || bar.verdict === 'missed' ? { ...bar, verdict: 'invalid' } : bar;
