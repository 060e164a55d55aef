import type { Direction } from '../language/variables.ts';
import { busy, failed, type Verdict } from '../score.ts';
import type { Subject } from '../text/view.ts';
import type { Trial } from '../trial.ts';

/** A rule as text, because compiled rules cannot be sent. */
export interface SentRule {
  readonly text: string;
  readonly direction: Direction;
  readonly atLeast: number;
}

/** Judge one request or answer by rules, or try one rule on the samples. */
export type Job =
  | {
      readonly rules: readonly SentRule[];
      readonly subject: Subject;
      readonly now: number;
      /** CPU time; rules that have not begun by then are skipped. */
      readonly millis: number;
    }
  | { readonly trial: Pick<SentRule, 'text' | 'direction'> };

export type Result = Verdict | { readonly trial: Trial };

/** For a rule that takes too long, and for those of its request that could not begin. */
export const tooLong = failed('the evaluation took too long');
export const tookTooLong = failed('the evaluations of this request took too long');
/** For both, when others used the time. */
export const crowdedOut = busy('too many evaluations at once');
