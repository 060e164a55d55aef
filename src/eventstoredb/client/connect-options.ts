import type { Clock, Millis } from '../../clock.ts';
import type { AttemptTimes } from './attempt.ts';

export interface ConnectOptions {
  readonly clock?: Clock;
  /** Limit for one append, and for silence within a read; default 2 s. */
  readonly callMs?: Millis;
  /** Time after which an unknown outcome is given up; default 5 s (contract K.1). */
  readonly totalMs?: Millis;
  /** The same before the first answer ever; default 15 s. */
  readonly firstAnswerMs?: Millis;
  /** Before the first answer ever, the time in which a refused user is tried again; default 15 s. */
  readonly usersMs?: Millis;
  /** The first wait between tries, and the longest that doubling leads to; default 50 ms and 1 s. */
  readonly retryMs?: readonly [first: Millis, longest: Millis];
  /** The same for lost subscriptions; default 0.2 s and 5 s. */
  readonly resubscribeMs?: readonly [first: Millis, longest: Millis];
  /** As in `Feed`; default 5 s and 2 s. */
  readonly confirmMs?: Millis;
  readonly silenceMs?: Millis;
  /** Events per delivery; default 512. */
  readonly deliveryCap?: number;
}

export const timesOf = (options: ConnectOptions): AttemptTimes => ({
  callMs: options.callMs ?? 2_000,
  totalMs: options.totalMs ?? 5_000,
  firstAnswerMs: options.firstAnswerMs ?? 15_000,
  usersMs: options.usersMs ?? 15_000,
  retryMs: options.retryMs ?? [50, 1_000],
});

/** For commands that start later than the store: a wrong password ends them within two seconds. */
export const usersAreKnown = { usersMs: 1_000 } as const satisfies ConnectOptions;
