import type { Clock, Millis } from '../../clock.ts';

/** Something that has a deadline. */
export interface Due {
  /** By the clock's monotonic time; Infinity for never. It may change at any moment. */
  readonly dueAt: Millis;
  due(now: Millis): void;
}

const everyMs: Millis = 100;

/**
 * Deadlines that move with every piece that comes: one timer looks at all of them, so that moving one is an assignment.
 * None is early, and none much later than a tenth of a second. What has come is read before they are looked at: a process
 * that was busy for long must not take its own silence for that of the other side.
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
