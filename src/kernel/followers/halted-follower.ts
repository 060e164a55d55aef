import { publish } from '../../telemetry.ts';
import type { Recorded } from '../store/store.ts';

/** A follower of the log that stands still: it takes no event from this one on, and passes none over. */
export interface Standstill {
  /** Name of the projection or reactor. */
  readonly follower: string;
  /** The event that it could not take; absent where the log itself could not be read on. */
  readonly at?: Pick<Recorded, 'stream' | 'revision'>;
  readonly error: Error;
}

/** Says it once, in one line of the log. */
export const toldStandstill = (standstill: Standstill): Standstill => {
  const { follower, at, error } = standstill;
  publish('follower.stopped', { follower, ...(at && { stream: at.stream, revision: at.revision }), error });
  return standstill;
};
