/** Milliseconds: the rules of all organizations have half of the loop, counted anew so often. */
const windowMillis = 200;
const allMillis = 100;
/** Whoever takes less in a window takes nothing from the others. */
const littleMillis = 1;

/** Shares the time that rules take on the event loop out among organizations, as threads are (contract H). */
export class LoopShare {
  readonly #now: () => number;
  readonly #taken = new Map<string, number>();
  #began = 0;
  /** Organizations that have taken more than a little, in this window and in the last one. */
  #takers = 0;
  #lastTakers = 0;

  /** @param now milliseconds, of a clock that only goes forward */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Milliseconds that the rules of an organization may take until the window ends; at most 0 where they have had their share. */
  left(owner: string): number {
    const passed = this.#now() - this.#began;
    if (passed >= windowMillis) {
      // What was long ago says nothing.
      this.#lastTakers = passed < 2 * windowMillis ? this.#takers : 0;
      this.#takers = 0;
      this.#taken.clear();
      this.#began += passed;
    }
    const share = allMillis / Math.max(1, this.#takers, this.#lastTakers);
    return Math.max(share, littleMillis) - (this.#taken.get(owner) ?? 0);
  }

  /** Does work, and counts the time that it takes. */
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
