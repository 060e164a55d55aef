import type { Direction } from '../language/variables.ts';
import type { Verdict } from '../score.ts';
import type { Trial } from '../trial.ts';
import type { RuleVariables } from './variables-of.ts';

/** What a worker thread is asked. It compiles the rule itself: patterns and trees cannot be sent. */
export interface Job {
  readonly text: string;
  readonly direction: Direction;
  /** Of what it is to be judged; without it the rule is tried on the samples. */
  readonly subject?: {
    readonly snapshot: RuleVariables;
    /** Milliseconds since 1970. */
    readonly now: number;
  };
}

/** What a worker thread makes of a job. */
export type Result = Verdict | { readonly trial: Trial };

/** What a worker thread says: once that it listens, and then one result per job. */
export type Report = 'ready' | Result;
