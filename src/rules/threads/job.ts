import type { Direction } from '../language/variables.ts';
import { busy, failed, type Verdict } from '../score.ts';
import type { Subject } from '../text/view.ts';
import type { Trial } from '../trial.ts';

/** A rule by its text: a thread compiles it itself, for patterns and trees cannot be sent. */
export interface SentRule {
  readonly text: string;
  readonly direction: Direction;
  /** The score from which it matches. */
  readonly atLeast: number;
}

/** What a worker thread is asked: to judge one request or answer by rules, or to try one rule on the samples. */
export type Job =
  | {
      readonly rules: readonly SentRule[];
      readonly subject: Subject;
      readonly now: number;
      /** Of a processor. Rules that have not begun by then are not evaluated. */
      readonly millis: number;
    }
  | { readonly trial: Pick<SentRule, 'text' | 'direction'> };

/** What a worker thread makes of one rule. */
export type Result = Verdict | { readonly trial: Trial };

/** What a rule is told that takes too long, and those of its request that have not begun when the time of all is over. */
export const tooLong = failed('the evaluation took too long');
export const tookTooLong = failed('the evaluations of this request took too long');
/** What both are told where it is others that had the time. */
export const crowdedOut = busy('too many evaluations at once');
