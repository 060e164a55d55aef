import { setTimeout as wait } from 'node:timers/promises';
import type { Clock, Millis } from '../../clock.ts';
import { type CallOptions, StoreRefuses, StoreUnavailable } from '../../kernel/store/store.ts';
import type { Contact, Loss } from './contact.ts';
import { type Call, finalError, outOfTime } from './errors.ts';
import { type RetryPolicy, retryPolicy } from './retry-policy.ts';

/** One call and its repetitions. */
export interface Attempts extends RetryPolicy {
  /** What one attempt that begins now may take. */
  readonly callMs: Millis;
}

export interface AttemptTimes {
  /** One attempt may take so long. */
  readonly callMs: Millis;
  /** After so long an outcome that is still unknown is given up. */
  readonly totalMs: Millis;
  /** The same before the store has ever answered: whoever starts may be earlier than it. */
  readonly firstAnswerMs: Millis;
  /** Until then it may not know its users yet. */
  readonly usersMs: Millis;
  /** Waits between attempts: the first, and what doubling leads to. */
  readonly retryMs: readonly [first: Millis, longest: Millis];
}

/**
 * The attempts of all calls of a store. A call of a command that begins while nothing takes commands is refused at once; one that
 * was under way, and what nobody waits for at the other end of a connection, waits within its time for a new leader.
 */
export const attempts = (options: {
  readonly clock: Clock;
  readonly contact: Contact;
  readonly times: AttemptTimes;
  /** Told of each failure that says nothing about the call itself. */
  readonly failed: (error: unknown) => void;
}) => {
  const { clock, contact, times } = options;
  const [firstMs, longestMs] = times.retryMs;

  return (
    about: Pick<Call, 'stream' | 'expected' | 'isLarge' | 'right'>,
    { budget, once = false }: CallOptions = {},
  ): Attempts => {
    const begun = clock.monotonic();
    const { lost } = contact;
    if (lost && budget && budget.from(clock) >= lost.at) throw away(lost);
    const totalMs = once ? 0 : contact.wasAnswered ? times.totalMs : times.firstAnswerMs;
    const until = budget?.until(clock);
    if (until !== undefined && begun >= until) throw new StoreUnavailable('The time of the command is up.');

    const final = (error: unknown, tries: number): Error | undefined => {
      const { wasAnswered } = contact;
      const awaitsUsers = !wasAnswered && clock.monotonic() - begun < times.usersMs;
      const verdict = finalError(error, { ...about, tries, wasAnswered, awaitsUsers });
      if (verdict === undefined) options.failed(error);
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

/** Begins the attempts of one call. @throws StoreUnavailable where it may not begin */
export type NewAttempts = ReturnType<typeof attempts>;

const away = ({ why, refuses }: Loss): StoreUnavailable =>
  refuses ? new StoreRefuses(`${why}.`) : new StoreUnavailable(`The event store is away: ${why}.`);
