import type { Clock, Millis } from '../clock.ts';
import { StoreUnavailable } from '../kernel/store.ts';
import { publish } from '../telemetry.ts';
import { type Call, finalError, outOfTime } from './errors.ts';
import { type Patience, patience } from './patience.ts';
import type { reachability } from './reachability.ts';

/** One call and its repetitions. */
export interface Trial extends Patience {
  /** One attempt may take so long. */
  readonly callMs: Millis;
}

/** Makes the trials of a client: each failure and each answer is also news of whether the store can be reached. */
export const trials = (options: {
  readonly clock: Clock;
  readonly reach: ReturnType<typeof reachability>;
  readonly retryMs: readonly [first: Millis, longest: Millis];
}) => {
  const { clock, reach } = options;
  const [firstMs, longestMs] = options.retryMs;
  return (about: Omit<Call, 'tries' | 'wasAnswered'>): Trial => {
    const { callMs, totalMs } = reach.limits();
    const final = (error: unknown, tries: number): Error | undefined => {
      const verdict = finalError(error, { ...about, tries, wasAnswered: reach.wasAnswered });
      if (verdict === undefined) reach.lost();
      // A refusal is an answer. What comes back as it was is a mistake of ours, or was judged before.
      else if (verdict !== error && !(verdict instanceof StoreUnavailable)) reach.answered();
      if (!verdict || verdict instanceof StoreUnavailable) publish('store.unavailable', { error: verdict ?? error });
      return verdict;
    };
    const { failed, progress } = patience({ clock, totalMs, firstMs, longestMs, outOfTime, final });
    return {
      callMs,
      failed,
      progress() {
        reach.answered();
        progress();
      },
    };
  };
};
