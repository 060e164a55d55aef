/** Window in milliseconds, of which rules may use half. */
const windowMillis = 200;
const allMillis = 100;
/** Less than this in a window does not reduce the share of others. */
const littleMillis = 1;

/** Shares the event loop among organizations (contract H). */
export class LoopShare {
  readonly #now: () => number;
  readonly #taken = new Map<string, number>();
  #began = 0;
  /** Organizations that used more than a little in this window and in the last. */
  #takers = 0;
  #lastTakers = 0;

  /** @param now monotonic milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Milliseconds left for an organization in this window; at most 0 when its share is used up. */
  left(owner: string): number {
    const passed = this.#now() - this.#began;
    if (passed >= windowMillis) {
      this.#lastTakers = passed < 2 * windowMillis ? this.#takers : 0;
      this.#takers = 0;
      this.#taken.clear();
      this.#began += passed;
    }
    const share = allMillis / Math.max(1, this.#takers, this.#lastTakers);
    return Math.max(share, littleMillis) - (this.#taken.get(owner) ?? 0);
  }

  taking<T>(owner: string, work: () => T): T {
    const began = this.#now();
    try {
      return work();
    } finally {
      const before = this.#taken.get(owner) ?? 0;
      const taken = before + this.#now() - began;
      this.#taken.set(owner, taken);
      if (before <= littleMillis && taken > littleMillis) this.#takers += 1;
    }
  }
}
