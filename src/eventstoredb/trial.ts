import { setTimeout as wait } from 'node:timers/promises';
import type { Clock, Millis } from '../clock.ts';
import type { Budget } from '../kernel/budget.ts';
import { StoreUnavailable } from '../kernel/store.ts';
import type { Contact } from './contact.ts';
import { type Call, CredentialsRefused, finalError, outOfTime } from './errors.ts';
import { type RetryPolicy, retryPolicy } from './retry-policy.ts';

/** One call and its repetitions. */
export interface Trial extends RetryPolicy {
  /** What one attempt that begins now may take. */
  readonly callMs: Millis;
}

export interface TrialTimes {
  /** One attempt may take so long. */
  readonly callMs: Millis;
  /** After so long an outcome that is still unknown is given up. */
  readonly totalMs: Millis;
  /** The same before the store has ever answered: whoever starts may be earlier than it. */
  readonly firstAnswerMs: Millis;
  /** Waits between attempts: the first, and what doubling leads to. */
  readonly retryMs: readonly [first: Millis, longest: Millis];
}

/**
 * Makes the trials of a store. A call of a command that begins while nothing takes commands is refused at once; one that
 * was under way, and what nobody waits for at the other end of a connection, waits within its time for a new leader.
 */
export const trials = (options: {
  readonly clock: Clock;
  readonly contact: Contact;
  readonly times: TrialTimes;
  /** Told of each failure that says nothing about the call itself. */
  readonly failed: (error: unknown) => void;
  /** Told of each refusal of the user. */
  readonly refused: () => void;
}) => {
  const { clock, contact, times } = options;
  const [firstMs, longestMs] = times.retryMs;

  return (about: Omit<Call, 'tries' | 'wasAnswered'>, budget?: Budget): Trial => {
    const begun = clock.monotonic();
    const { lost } = contact;
    if (lost && budget && budget.from(clock) >= lost.at)
      throw new StoreUnavailable(`The event store is away: ${lost.why}.`);
    const totalMs = contact.wasAnswered ? times.totalMs : times.firstAnswerMs;
    const until = budget?.until(clock);
    if (until !== undefined && begun >= until) throw new StoreUnavailable('The time of the command is up.');

    const final = (error: unknown, tries: number): Error | undefined => {
      const verdict = finalError(error, { ...about, tries, wasAnswered: contact.wasAnswered });
      if (verdict === undefined) options.failed(error);
      else if (verdict instanceof CredentialsRefused) options.refused();
      // A refusal is an answer. What comes back as it was is a mistake of ours, or was judged before.
      else if (verdict !== error && !(verdict instanceof StoreUnavailable)) contact.answered();
      return verdict;
    };
    const { failed, progress } = retryPolicy({
      clock,
      totalMs,
      until,
      firstMs,
      longestMs,
      outOfTime,
      final,
      // Nothing is sent to a store that is away: the client would remember the failure.
      pause: async (ms, atMostMs) => {
        await wait(ms);
        await contact.back(atMostMs - ms);
      },
    });
    return {
      get callMs() {
        return until === undefined ? times.callMs : Math.max(1, Math.min(times.callMs, until - clock.monotonic()));
      },
      failed: async (error) => failed(await contact.told(error)),
      progress() {
        contact.answered();
        progress();
      },
    };
  };
};
