import { publish } from '../../telemetry.ts';
import type { Recorded } from '../store/store.ts';

/** A follower that takes no event from this one on. */
export interface HaltedFollower {
  readonly follower: string;
  /** The event that it could not take; absent where the log itself could not be read on. */
  readonly at?: Pick<Recorded, 'stream' | 'revision'>;
  readonly error: Error;
}

export const reportHalted = (halted: HaltedFollower): HaltedFollower => {
  const { follower, at, error } = halted;
  publish('follower.stopped', { follower, ...(at && { stream: at.stream, revision: at.revision }), error });
  return halted;
};
