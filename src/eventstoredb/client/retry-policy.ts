import { setTimeout as wait } from 'node:timers/promises';
import type { Clock, Millis } from '../../clock.ts';

/** Waits that double from `first` to `longest`, each reduced by up to half at random. */
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

export interface RetryPolicy {
  /** Waits before the next try. @throws the final error, or `outOfTime` */
  failed(error: unknown): Promise<void>;
  progress(): void;
}

export const retryPolicy = (options: {
  readonly clock: Clock;
  /** Since the last progress; with `until`, that time instead. */
  readonly totalMs: Millis;
  readonly until?: Millis | undefined;
  readonly firstMs: Millis;
  readonly longestMs: Millis;
  /** The error to give up with; undefined to repeat. */
  readonly final: (error: unknown, tries: number) => Error | undefined;
  readonly outOfTime: (error: unknown, afterMs: Millis) => Error;
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

/** The promise's result, or a rejection with `late()` after `ms`. A later rejection is ignored. */
export const within = <T>(ms: Millis, promise: Promise<T>, late: () => Error): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });

/** A wait that `hurry` shortens, but not below `soonestMs`, and `end` ends for good. */
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
