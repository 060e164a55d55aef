import type { Millis } from '../../clock.ts';

/** With so many counters, unused ones are removed. */
const pruneThreshold = 10_000;

/** Counts attempts per caller in the trailing window, refused ones included (contract F.1). */
export class AttemptWindow {
  readonly #most: number;
  readonly #windowMs: number;
  readonly #attempts = new Map<string, Millis[]>();

  constructor(most: number, windowMs: number) {
    this.#most = most;
    this.#windowMs = windowMs;
  }

  get size(): number {
    return this.#attempts.size;
  }

  /** @param now of the monotonic clock @returns 0 within the limit, else the seconds for `Retry-After` */
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
