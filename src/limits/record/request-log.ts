import { minuteMs } from '../../clock.ts';
import { type Slab, unitWords } from './slab.ts';

/** The log's own words in a record, from where its head is. Halves are u16 elements. */
const nextHalf = 0;
const countHalf = 1;
const newestWord = 1;
const spanHalf = 4;

/** Int32 words before the entries that a log needs; the upper half of the last one is free. */
export const logHeadWords = 3;

/**
 * The exact log of the attempts of the last minute: the gap of each to the one before it, in u16 milliseconds, in a ring
 * of as many entries as the limit. Refused attempts count too, so "as many attempts in the window as the limit" is the
 * same as "the limit-th newest is younger than a minute", and older ones need not be known (contract F.1). An attempt at
 * e counts at t while t - e < 60,000. `ms` is the time modulo 2^32.
 *
 * This says where such a log lies in a record, whose address is given with each call.
 */
export class RequestLog {
  readonly capacity: number;
  /** Of the slab, from the address to the end of the log. */
  readonly units: number;
  /** In Int32 words, and in u16 elements. */
  readonly #head: number;
  readonly #entries: number;

  /** One that is all there is at its address. */
  static alone(capacity: number): RequestLog {
    return new RequestLog(0, logHeadWords, capacity);
  }

  /** Both in Int32 words from the address. */
  constructor(head: number, entries: number, capacity: number) {
    this.#head = head;
    this.#entries = entries * 2;
    this.capacity = capacity;
    this.units = Math.ceil((entries + capacity / 2) / unitWords);
  }

  /** Attempts in the log; of the last minute once it has been expired. */
  count({ u16 }: Slab, address: number): number {
    return u16[((address + this.#head) << 1) + countHalf]!;
  }

  /** The time of the newest attempt, modulo 2^32. */
  newest({ i32 }: Slab, address: number): number {
    return i32[address + this.#head + newestWord]!;
  }

  /** Forgets what has left the window and returns how many attempts are in it. */
  expire({ i32, u16 }: Slab, address: number, ms: number): number {
    const half = (address + this.#head) << 1;
    let count = u16[half + countHalf]!;
    if (count === 0) return 0;
    const sinceNewest = (ms - i32[address + this.#head + newestWord]!) | 0;
    let span = u16[half + spanHalf]!;
    if (sinceNewest + span < minuteMs) return count;
    if (sinceNewest >= minuteMs) {
      u16[half + countHalf] = 0;
      u16[half + spanHalf] = 0;
      return 0;
    }
    const entries = (address << 1) + this.#entries;
    let second = u16[half + nextHalf]! - count + 1;
    if (second < 0) second += this.capacity;
    // Ends at the newest entry at the latest: it alone is younger than a minute.
    while (sinceNewest + span >= minuteMs) {
      span -= u16[entries + second]!;
      count--;
      if (++second === this.capacity) second = 0;
    }
    u16[half + countHalf] = count;
    u16[half + spanHalf] = span;
    return count;
  }

  /**
   * Forgets what has left the window and records an attempt; a full log forgets its oldest entry for it.
   * @returns how many attempts were in the window before
   */
  add(slab: Slab, address: number, ms: number): number {
    const before = this.expire(slab, address, ms);
    const { i32, u16 } = slab;
    const { capacity } = this;
    const half = (address + this.#head) << 1;
    const newest = address + this.#head + newestWord;
    const entries = (address << 1) + this.#entries;
    const next = u16[half + nextHalf]!;
    const after = next + 1 === capacity ? 0 : next + 1;
    const full = before === capacity;
    let gap = 0;
    let span = 0;
    if (before === 0 || (full && capacity === 1)) i32[newest] = ms;
    else {
      gap = Math.max(0, (ms - i32[newest]!) | 0);
      span = u16[half + spanHalf]! + gap - (full ? u16[entries + after]! : 0);
      i32[newest] = (i32[newest]! + gap) | 0;
    }
    u16[entries + next] = gap;
    u16[half + nextHalf] = after;
    u16[half + countHalf] = full ? capacity : before + 1;
    u16[half + spanHalf] = span;
    return before;
  }

  /** Milliseconds until the oldest attempt leaves the window; 0 when there is none. */
  oldestLeavesIn({ i32, u16 }: Slab, address: number, ms: number): number {
    const half = (address + this.#head) << 1;
    if (u16[half + countHalf] === 0) return 0;
    return minuteMs - (((ms - i32[address + this.#head + newestWord]!) | 0) + u16[half + spanHalf]!);
  }

  clear({ u16 }: Slab, address: number): void {
    const half = (address + this.#head) << 1;
    u16[half + nextHalf] = 0;
    u16[half + countHalf] = 0;
    u16[half + spanHalf] = 0;
  }

  /** The gaps between the attempts in the log, oldest first: one fewer than attempts. */
  gaps({ u16 }: Slab, address: number): Uint16Array {
    const half = (address + this.#head) << 1;
    const gaps = new Uint16Array(Math.max(0, u16[half + countHalf]! - 1));
    const entries = (address << 1) + this.#entries;
    const next = u16[half + nextHalf]!;
    const wrapped = Math.max(0, gaps.length - next);
    gaps.set(u16.subarray(entries + this.capacity - wrapped, entries + this.capacity));
    gaps.set(u16.subarray(entries + next - (gaps.length - wrapped), entries + next), wrapped);
    return gaps;
  }

  /** Fills an empty log with attempts: the newest at `newest`, those before it by their gaps, as many as there is room for. */
  load(slab: Slab, address: number, newest: number, gaps: Uint16Array): void {
    const kept = gaps.subarray(Math.max(0, gaps.length - this.capacity + 1));
    let ms = newest;
    for (const gap of kept) ms -= gap;
    this.add(slab, address, ms | 0);
    for (const gap of kept) {
      ms += gap;
      this.add(slab, address, ms | 0);
    }
  }
}
