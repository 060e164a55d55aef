import type { Clock, Millis } from '../clock.ts';

/** An outage that has lasted so long is known to be one; who comes then is not made to wait for its end. */
const knownAfterMs = 1_000;
/** A call that begins during a known outage may take so long in all. */
const briefMs = 500;

export interface CallLimits {
  /** After so long an outcome that is still unknown is given up. */
  readonly totalMs: Millis;
  /** One attempt may take so long. */
  readonly callMs: Millis;
}

/**
 * Whether the store can be reached, as far as the calls that were made tell. Calls that are under way when it is lost have
 * the time that a cluster needs for a new leader. Those that come later are refused soon, and each of them still finds out
 * whether it is back (reliability.md G7: 503 within a second). Before the first answer ever there is no hurry.
 */
export const reachability = (options: {
  readonly clock: Clock;
  readonly limits: CallLimits;
  /** Told when it answers again. */
  readonly isBack: () => void;
}) => {
  const { clock, limits, isBack } = options;
  const brief: CallLimits = {
    totalMs: Math.min(briefMs, limits.totalMs),
    callMs: Math.min(briefMs, limits.callMs),
  };
  let lostAt: Millis | undefined;
  let wasAnswered = false;
  return {
    get wasAnswered(): boolean {
      return wasAnswered;
    },
    answered(): void {
      wasAnswered = true;
      if (lostAt === undefined) return;
      lostAt = undefined;
      isBack();
    },
    lost(): void {
      lostAt ??= clock.monotonic();
    },
    /** What a call that begins now may take. */
    limits: (): CallLimits =>
      wasAnswered && lostAt !== undefined && clock.monotonic() - lostAt > knownAfterMs ? brief : limits,
  };
};
