import type { Verdict } from './score.ts';
import type { Snapshot } from './snapshot.ts';
import type { Direction } from './variables.ts';

/** What a worker thread is asked. It compiles the rule itself: patterns and trees cannot be sent. */
export interface Job {
  readonly text: string;
  readonly direction: Direction;
  readonly snapshot: Snapshot;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What a worker thread says: once that it listens, and then one verdict per job. */
export type Report = 'ready' | Verdict;
