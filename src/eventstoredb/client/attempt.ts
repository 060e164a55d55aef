import { setTimeout as wait } from 'node:timers/promises';
import type { Clock, Millis } from '../../clock.ts';
import { type CallOptions, StoreRefuses, StoreUnavailable } from '../../kernel/store/store.ts';
import type { Contact, Loss } from './contact.ts';
import { type Call, finalError, outOfTime } from './errors.ts';
import { type RetryPolicy, retryPolicy } from './retry-policy.ts';

export interface Attempts extends RetryPolicy {
  /** Time limit of an attempt that begins now. */
  readonly callMs: Millis;
}

export interface AttemptTimes {
  readonly callMs: Millis;
  /** Time after which an unknown outcome is given up. */
  readonly totalMs: Millis;
  /** The same before the store has ever answered. */
  readonly firstAnswerMs: Millis;
  /** Time in which a refused user is tried again, before the first answer. */
  readonly usersMs: Millis;
  /** The first wait between attempts, and the longest that doubling leads to. */
  readonly retryMs: readonly [first: Millis, longest: Millis];
}

/** Makes the attempts of all calls. While the store is lost new commands are refused; earlier ones wait for a leader. */
export const attempts = (options: {
  readonly clock: Clock;
  readonly contact: Contact;
  readonly times: AttemptTimes;
  /** Called with each failure that says nothing about the call itself. */
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
      // Every other verdict is an answer of the store.
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
      // Nothing is sent to a lost store, because the client would remember the failure.
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

/** @throws StoreUnavailable where a call may not begin */
export type NewAttempts = ReturnType<typeof attempts>;

const away = ({ why, refuses }: Loss): StoreUnavailable =>
  refuses ? new StoreRefuses(`${why}.`) : new StoreUnavailable(`The event store is away: ${why}.`);
