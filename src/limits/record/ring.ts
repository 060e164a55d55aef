import type { Slab } from './slab.ts';

/** Words from the ring's head on; the first two are the sum, a double. */
const runningWord = 2;
const tickWord = 3;
const oldestWord = 4;

/** Int32 words of a head; even, because it begins with a double. */
export const ringHeadWords = 6;

/**
 * A window of buckets of one tick each: the running one and `length` before it, one more than the window, so that it never
 * counts less than the true minute or day (contract F.1). The running bucket is in the head beside the sum, because another
 * line of memory is a cache miss of 0.1 to 0.2 µs with 100,000 keys; so is the oldest used tick, which shortens walks. The
 * instance describes the layout; each call gets the address.
 */
export class Ring {
  readonly length: number;
  readonly tickMs: number;
  /** Largest value of a bucket; see `mostPossible`. */
  readonly most: number;
  /** In Int32 words from the address; `#cells` in elements of their own. */
  readonly #head: number;
  readonly #cells: number;
  readonly #narrow: boolean;

  constructor(place: { head: number; cells: number; narrow: boolean }, length: number, tickMs: number, most: number) {
    this.length = length;
    this.tickMs = tickMs;
    this.most = most;
    this.#head = place.head;
    this.#cells = place.cells;
    this.#narrow = place.narrow;
  }

  sum({ f64 }: Slab, address: number): number {
    return f64[(address + this.#head) >> 1]!;
  }

  /** Makes an empty ring at this tick. */
  clear(slab: Slab, address: number, tick: number): void {
    const head = address + this.#head;
    const at = this.#cellsAt(address);
    this.#buffer(slab).fill(0, at, at + this.length);
    slab.f64[head >> 1] = 0;
    slab.i32[head + runningWord] = 0;
    slab.i32[head + tickWord] = tick;
    slab.i32[head + oldestWord] = tick;
  }

  /** Moves to `tick` and empties expired buckets; never back. */
  advance(slab: Slab, address: number, tick: number): void {
    const { i32, f64 } = slab;
    const head = address + this.#head;
    const before = i32[head + tickWord]!;
    if (before >= tick) return;
    i32[head + tickWord] = tick;
    const sum = f64[head >> 1]!;
    if (sum === 0) return;
    const gone = Math.min(before, tick - this.length - 1);
    let left = 0;
    if (i32[head + oldestWord]! <= gone) {
      left = this.#empty(slab, address, i32[head + oldestWord]!, Math.min(gone, before - 1));
      i32[head + oldestWord] = gone + 1;
    }
    const running = i32[head + runningWord]!;
    if (running !== 0) {
      i32[head + runningWord] = 0;
      if (gone === before) left += running;
      else this.#buffer(slab)[this.#cellsAt(address) + (before % this.length)] = running;
    }
    f64[head >> 1] = sum - left;
  }

  /** Changes a tick's amount by `by`, within the bucket's bounds. Expired ticks are ignored. */
  add(slab: Slab, address: number, tick: number, by: number): void {
    const { i32, f64 } = slab;
    const head = address + this.#head;
    const now = i32[head + tickWord]!;
    if (now - tick > this.length) return;
    const isRunning = tick === now;
    const cells = isRunning ? i32 : this.#buffer(slab);
    const cell = isRunning ? head + runningWord : this.#cellsAt(address) + (tick % this.length);
    const held = cells[cell]!;
    const holds = Math.min(this.most, Math.max(0, held + by));
    if (holds === held) return;
    const sum = f64[head >> 1]!;
    if (sum === 0 || i32[head + oldestWord]! > tick) i32[head + oldestWord] = tick;
    cells[cell] = holds;
    f64[head >> 1] = sum + holds - held;
  }

  /** Milliseconds from `now` until the sum is at most `target` without traffic. */
  waitFor(slab: Slab, address: number, target: number, now: number): number {
    let left = this.sum(slab, address);
    if (left <= target) return 0;
    const { i32 } = slab;
    const head = address + this.#head;
    const cells = this.#buffer(slab);
    const at = this.#cellsAt(address);
    const running = i32[head + tickWord]!;
    let tick = i32[head + oldestWord]!;
    while (tick < running && cells[at + (tick % this.length)] === 0) tick++;
    i32[head + oldestWord] = tick;
    for (; tick < running; tick++) {
      left -= cells[at + (tick % this.length)]!;
      if (left <= target) break;
    }
    return (tick + this.length + 1) * this.tickMs - now;
  }

  /** Visits the non-empty buckets, newest first, with their age in ticks. */
  forEach(slab: Slab, address: number, visit: (ago: number, amount: number) => void): void {
    const { i32 } = slab;
    const head = address + this.#head;
    const cells = this.#buffer(slab);
    const at = this.#cellsAt(address);
    const now = i32[head + tickWord]!;
    let rest = this.sum(slab, address);
    for (let ago = 0; rest > 0 && ago <= this.length; ago++) {
      const amount = ago === 0 ? i32[head + runningWord]! : cells[at + ((now - ago) % this.length)]!;
      if (amount === 0) continue;
      visit(ago, amount);
      rest -= amount;
    }
  }

  /** Empties the cells of ticks `from` to `to`. @returns what they held */
  #empty(slab: Slab, address: number, from: number, to: number): number {
    const cells = this.#buffer(slab);
    const at = this.#cellsAt(address);
    let held = 0;
    let cell = from % this.length;
    for (let left = to - from; left >= 0; left--) {
      held += cells[at + cell]!;
      cells[at + cell] = 0;
      if (++cell === this.length) cell = 0;
    }
    return held;
  }

  #buffer({ i32, u16 }: Slab): Int32Array | Uint16Array {
    return this.#narrow ? u16 : i32;
  }

  #cellsAt(address: number): number {
    return this.#cells + (this.#narrow ? address << 1 : address);
  }
}
