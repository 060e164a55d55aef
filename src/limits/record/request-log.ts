import { minuteMs } from '../../clock.ts';
import { type Slab, unitWords } from './slab.ts';

/** Places from the log's head on. Halves are u16 elements. */
const nextHalf = 0;
const countHalf = 1;
const newestWord = 1;
const spanHalf = 4;

/** Int32 words of the head; the upper half of the last one is free. */
export const logHeadWords = 3;

/**
 * The exact log of the last minute: gaps between attempts in u16 milliseconds, in a ring of as many entries as the limit. Refused
 * attempts count, so older ones cannot change a decision (contract F.1). An attempt at e counts at t while t - e < 60,000.
 * `ms` is the time modulo 2^32. The instance describes the layout; each call gets the address.
 */
export class RequestLog {
  readonly capacity: number;
  /** From the address to the end of the log. */
  readonly units: number;
  /** `#head` in Int32 words, `#entries` in u16 elements. */
  readonly #head: number;
  readonly #entries: number;

  /** A log at the beginning of its own memory. */
  static alone(capacity: number): RequestLog {
    return new RequestLog(0, logHeadWords, capacity);
  }

  /** Both places in Int32 words from the address. */
  constructor(head: number, entries: number, capacity: number) {
    this.#head = head;
    this.#entries = entries * 2;
    this.capacity = capacity;
    this.units = Math.ceil((entries + capacity / 2) / unitWords);
  }

  /** Attempts of the last minute, once the log has been expired. */
  count({ u16 }: Slab, address: number): number {
    return u16[((address + this.#head) << 1) + countHalf]!;
  }

  /** Modulo 2^32. */
  newest({ i32 }: Slab, address: number): number {
    return i32[address + this.#head + newestWord]!;
  }

  /** Removes expired attempts. @returns how many remain */
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
    // Stops at the newest entry, which is younger than a minute.
    while (sinceNewest + span >= minuteMs) {
      span -= u16[entries + second]!;
      count--;
      if (++second === this.capacity) second = 0;
    }
    u16[half + countHalf] = count;
    u16[half + spanHalf] = span;
    return count;
  }

  /** Removes expired attempts and records a new one; a full log drops its oldest. @returns how many there were before */
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

  /** Milliseconds until the oldest attempt expires; 0 for an empty log. */
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

  /** Gaps between the attempts, oldest first: one fewer than attempts. */
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

  /** Fills an empty log from the newest attempt and the gaps before it; drops the oldest if there is no room. */
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
