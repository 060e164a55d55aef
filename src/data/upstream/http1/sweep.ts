import type { Clock, Millis } from '../../../clock.ts';

export interface Due {
  /** By the clock's monotonic time; Infinity for never. It may change at any moment. */
  readonly dueAt: Millis;
  due(now: Millis): void;
}

const everyMs: Millis = 100;

/**
 * One timer checks all deadlines, so that moving one is an assignment. None fires early, or much more than 0.1 s late.
 * Bytes that have arrived are read first: a busy process must not take its own pause for the peer's silence.
 */
export class Sweep {
  readonly #clock: Clock;
  readonly #watched = new Set<Due>();
  #timer: NodeJS.Timeout | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  watch(watched: Due): void {
    this.#watched.add(watched);
    this.#timer ??= setInterval(() => setImmediate(this.#look), everyMs).unref();
  }

  forget(watched: Due): void {
    this.#watched.delete(watched);
  }

  now(): Millis {
    return this.#clock.monotonic();
  }

  readonly #look = (): void => {
    const now = this.now();
    for (const watched of this.#watched) if (watched.dueAt <= now) watched.due(now);
    if (this.#watched.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  };
}
