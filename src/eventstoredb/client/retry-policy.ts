import { setTimeout as wait } from 'node:timers/promises';
import type { Clock, Millis } from '../../clock.ts';

/** A wait that doubles from `first` to `longest`, each time between half and all of it, so that many do not come at once. */
export const backoff = (first: Millis, longest: Millis, random: () => number = Math.random) => {
  let next = first;
  return {
    next(): Millis {
      const now = next;
      next = Math.min(next * 2, longest);
      return now * (0.5 + random() / 2);
    },
    reset(): void {
      next = first;
    },
  };
};

/** Tries until it works, is refused for good, or the time is up. */
export interface RetryPolicy {
  /** Waits before the next try. @throws the final error, or what `outOfTime` makes of this one */
  failed(error: unknown): Promise<void>;
  progress(): void;
}

export const retryPolicy = (options: {
  readonly clock: Clock;
  /** Since the last progress; or `until`, whatever progress there is. */
  readonly totalMs: Millis;
  readonly until?: Millis | undefined;
  readonly firstMs: Millis;
  readonly longestMs: Millis;
  /** The error to give up with, or undefined to go on. */
  readonly final: (error: unknown, tries: number) => Error | undefined;
  readonly outOfTime: (error: unknown, afterMs: Millis) => Error;
  /** Waits so long before the next try, or as long as makes sense; by default just that. */
  readonly pause?: (ms: Millis, atMostMs: Millis) => Promise<unknown>;
}): RetryPolicy => {
  const { clock, totalMs, until, final, outOfTime } = options;
  const pause = backoff(options.firstMs, options.longestMs);
  let since = clock.monotonic();
  let tries = 0;
  return {
    async failed(error) {
      tries++;
      const refused = final(error, tries);
      if (refused) throw refused;
      const now = clock.monotonic();
      const left = (until ?? since + totalMs) - now;
      const next = pause.next();
      if (next > left) throw outOfTime(error, now - since);
      await (options.pause ? options.pause(next, left) : wait(next));
    },
    progress() {
      since = clock.monotonic();
      tries = 0;
      pause.reset();
    },
  };
};

/**
 * The promise's outcome, or a rejection with `late()` after `ms`. The promise may settle whenever it likes afterwards:
 * its late rejection is heard and dropped.
 */
export const within = <T>(ms: Millis, promise: Promise<T>, late: () => Error): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });

/** A wait that others can cut short: down to `soonestMs` by hurrying it, altogether and for ever by ending it. */
export const interruptible = (soonestMs: Millis) => {
  let hurry = (): void => {};
  let over = (): void => {};
  let hasEnded = false;
  return {
    hurry: () => hurry(),
    end(): void {
      hasEnded = true;
      over();
    },
    wait: (ms: Millis): Promise<void> =>
      new Promise((resolve) => {
        let isSoon = true;
        let isWanted = false;
        over = () => {
          clearTimeout(long);
          clearTimeout(short);
          resolve();
        };
        hurry = () => {
          isWanted = true;
          if (!isSoon) over();
        };
        const long = setTimeout(over, ms);
        const short = setTimeout(() => {
          isSoon = false;
          if (isWanted) over();
        }, soonestMs);
        if (hasEnded) over();
      }),
  };
};
