import { complaints, type Verdict } from './oracle.ts';

/** What one kind of torture found. Grows while it runs. */
export interface Figures {
  cycles: number;
  acknowledged: number;
  lost: number;
  doubled: number;
  gaps: number;
  /** How often something was wrong, the above included. */
  wrong: number;
  /** Sentences about it; the first few are enough to act on. */
  readonly faults: string[];
  /** The first cycle in which something was wrong: where a repetition may begin. */
  firstWrong?: number;
  /** From the start of the process to the first answer, milliseconds. */
  readonly restartMs: number[];
  /** Further figures, in words. */
  readonly notes: string[];
  /** Why nothing was done here. */
  skipped?: string;
}

export interface Plan {
  /** How much: cycles, seeds, images; each torture says of what. */
  readonly count: number;
  readonly seed: number;
  /** The first cycle, where a failure is to be repeated. Default 0. */
  readonly from?: number;
  /** The protection is switched off: faults have to be found, or the torture proves nothing. */
  readonly canary?: boolean;
  /** Connection string of a store that is not ours, to be tortured instead of one of its own. */
  readonly store?: string | undefined;
}

export type Torture = (plan: Plan, figures: Figures) => Promise<void>;

export const noFigures = (): Figures => ({
  cycles: 0,
  acknowledged: 0,
  lost: 0,
  doubled: 0,
  gaps: 0,
  wrong: 0,
  faults: [],
  restartMs: [],
  notes: [],
});

const SHOWN = 20;

/** Adds what the oracle said of one cycle. */
export function count(figures: Figures, verdict: Verdict, cycle: string): void {
  figures.lost += verdict.lost.length;
  figures.doubled += verdict.doubled.length;
  figures.gaps += verdict.gaps.length;
  for (const complaint of complaints(verdict)) complain(figures, `${cycle}: ${complaint}`);
}

export function complain(figures: Figures, sentence: string): void {
  figures.wrong++;
  figures.firstWrong ??= figures.cycles;
  if (figures.faults.length < SHOWN) figures.faults.push(sentence);
}

/** The value that `share` of all values do not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** Says aloud why something cannot be proven here. */
export function skip(figures: Figures, why: string): void {
  process.stderr.write(`SKIPPED: ${why}\n`);
  figures.skipped = why;
}
