import type { Millis } from '../../clock.ts';

/** Counters are looked through for those nobody uses any more when there are so many. */
const pruneThreshold = 10_000;

/**
 * Attempts of each caller in the trailing window, refused ones included (contract F.1): as many times are kept as may be
 * had, so the memory is bounded by the callers there are.
 */
export class AttemptWindow {
  readonly #most: number;
  readonly #windowMs: number;
  readonly #attempts = new Map<string, Millis[]>();

  constructor(most: number, windowMs: number) {
    this.#most = most;
    this.#windowMs = windowMs;
  }

  /** Callers that are held at present. */
  get size(): number {
    return this.#attempts.size;
  }

  /**
   * Counts one attempt. 0 when it is within the limit, else the whole seconds of its `Retry-After`.
   * @param now of the monotonic clock
   */
  count(caller: string, now: Millis): number {
    const times = this.#attempts.get(caller) ?? [];
    if (times.length === 0) this.#makeRoom(now);
    this.#attempts.set(caller, times);
    const oldest = times.length < this.#most ? undefined : times[0];
    times.push(now);
    if (times.length > this.#most) times.shift();
    if (oldest === undefined || oldest <= now - this.#windowMs) return 0;
    return Math.max(1, Math.ceil(((times[0] as Millis) + this.#windowMs - now) / 1000));
  }

  #makeRoom(now: Millis): void {
    if (this.#attempts.size < pruneThreshold) return;
    for (const [caller, times] of this.#attempts) {
      if ((times.at(-1) as Millis) <= now - this.#windowMs) this.#attempts.delete(caller);
    }
  }
}
