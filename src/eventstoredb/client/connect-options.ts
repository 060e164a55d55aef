import type { Clock, Millis } from '../../clock.ts';
import type { AttemptTimes } from './attempt.ts';

export interface ConnectOptions {
  readonly clock?: Clock;
  /** The store may take so long over one append, or be silent so long within a read. Default 2 s. */
  readonly callMs?: Millis;
  /** After so long an outcome that is still unknown is given up. Default 5 s (contract K.1). */
  readonly totalMs?: Millis;
  /** The same before the first answer ever. Default 15 s. */
  readonly firstAnswerMs?: Millis;
  /** Before the first answer ever a refused user is asked for again for so long. Default 15 s. */
  readonly usersMs?: Millis;
  /** Waits between tries of a call: the first, and what doubling leads to. Default 50 ms to 1 s. */
  readonly retryMs?: readonly [first: Millis, longest: Millis];
  /** Waits before a lost subscription is opened again. Default 0.2 to 5 s. */
  readonly resubscribeMs?: readonly [first: Millis, longest: Millis];
  /** See `Feed` of subscription.ts; default 5 s and 2 s. */
  readonly confirmMs?: Millis;
  readonly silenceMs?: Millis;
  /** Events in one delivery at most; default 512. */
  readonly deliveryCap?: number;
}

export const timesOf = (options: ConnectOptions): AttemptTimes => ({
  callMs: options.callMs ?? 2_000,
  totalMs: options.totalMs ?? 5_000,
  firstAnswerMs: options.firstAnswerMs ?? 15_000,
  usersMs: options.usersMs ?? 15_000,
  retryMs: options.retryMs ?? [50, 1_000],
});

/**
 * For whoever does not start together with its store, as a command: a wrong password ends it within two seconds.
 */
export const usersAreKnown = { usersMs: 1_000 } as const satisfies ConnectOptions;
