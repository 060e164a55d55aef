import { logWord, minuteMs, newestWord, spanHalf } from './layout.ts';

/**
 * The exact log of the attempts of the last minute: the gap of each to the one before it, in u16 milliseconds, in a ring
 * of as many entries as the limit. Refused attempts count too, so "as many attempts in the window as the limit" is the
 * same as "the limit-th newest is younger than a minute", and older ones need not be known (decisions F.1). An attempt at
 * e counts at t while t - e < 60,000. `ms` is the time modulo 2^32; `log` the ring's first u16.
 */

/** Forgets what has left the window and returns how many attempts are in it. */
export const expireLog = (
  i32: Int32Array,
  u16: Uint16Array,
  address: number,
  log: number,
  capacity: number,
  ms: number,
): number => {
  const half = (address + logWord) << 1;
  let count = u16[half + 1]!;
  if (count === 0) return 0;
  const sinceNewest = (ms - i32[address + newestWord]!) | 0;
  let span = u16[(address << 1) + spanHalf]!;
  if (sinceNewest + span < minuteMs) return count;
  if (sinceNewest >= minuteMs) {
    u16[half + 1] = 0;
    u16[(address << 1) + spanHalf] = 0;
    return 0;
  }
  let second = u16[half]! - count + 1;
  if (second < 0) second += capacity;
  // Ends at the newest entry at the latest: it alone is younger than a minute.
  while (sinceNewest + span >= minuteMs) {
    span -= u16[log + second]!;
    count--;
    if (++second === capacity) second = 0;
  }
  u16[half + 1] = count;
  u16[(address << 1) + spanHalf] = span;
  return count;
};

/** Records an attempt; the log must have been expired at the same `ms`. A full one forgets its oldest entry. */
export const pushLog = (
  i32: Int32Array,
  u16: Uint16Array,
  address: number,
  log: number,
  capacity: number,
  ms: number,
): void => {
  const half = (address + logWord) << 1;
  let head = u16[half]!;
  let count = u16[half + 1]!;
  if (count === capacity) {
    count--;
    u16[(address << 1) + spanHalf] =
      count === 0 ? 0 : u16[(address << 1) + spanHalf]! - u16[log + (head + 1 === capacity ? 0 : head + 1)]!;
  }
  let gap = 0;
  if (count === 0) i32[address + newestWord] = ms;
  else {
    gap = (ms - i32[address + newestWord]!) | 0;
    if (gap < 0) gap = 0;
    i32[address + newestWord] = (i32[address + newestWord]! + gap) | 0;
    u16[(address << 1) + spanHalf] = u16[(address << 1) + spanHalf]! + gap;
  }
  u16[log + head] = gap;
  if (++head === capacity) head = 0;
  u16[half] = head;
  u16[half + 1] = count + 1;
};

/** Milliseconds until the oldest attempt leaves the window; 0 when there is none. */
export const oldestLeavesIn = (i32: Int32Array, u16: Uint16Array, address: number, ms: number): number => {
  if (u16[((address + logWord) << 1) + 1] === 0) return 0;
  return minuteMs - (((ms - i32[address + newestWord]!) | 0) + u16[(address << 1) + spanHalf]!);
};
