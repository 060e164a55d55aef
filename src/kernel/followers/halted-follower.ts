import { publish } from '../../telemetry.ts';
import type { Recorded } from '../store/store.ts';

/** A follower of the log that stands still: it takes no event from this one on, and passes none over. */
export interface HaltedFollower {
  /** Name of the projection or reactor. */
  readonly follower: string;
  /** The event that it could not take; absent where the log itself could not be read on. */
  readonly at?: Pick<Recorded, 'stream' | 'revision'>;
  readonly error: Error;
}

/** Says it once, in one line of the log. */
export const reportHalted = (halted: HaltedFollower): HaltedFollower => {
  const { follower, at, error } = halted;
  publish('follower.stopped', { follower, ...(at && { stream: at.stream, revision: at.revision }), error });
  return halted;
};
