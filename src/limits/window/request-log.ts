import { logWord, minuteMs, newestWord, spanHalf } from './layout.ts';

/**
 * The exact log of the attempts of the last minute: the gap of each to the one before it, in u16 milliseconds, in a ring
 * of as many entries as the limit. Refused attempts count too, so "as many attempts in the window as the limit" is the
 * same as "the limit-th newest is younger than a minute", and older ones need not be known (contract F.1). An attempt at
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

/**
 * Forgets what has left the window and records an attempt; a full log forgets its oldest entry for it.
 * @returns how many attempts were in the window before
 */
export const logAttempt = (
  i32: Int32Array,
  u16: Uint16Array,
  address: number,
  log: number,
  capacity: number,
  ms: number,
): number => {
  const before = expireLog(i32, u16, address, log, capacity, ms);
  const half = (address + logWord) << 1;
  const head = u16[half]!;
  const after = head + 1 === capacity ? 0 : head + 1;
  const full = before === capacity;
  let gap = 0;
  let span = 0;
  if (before === 0 || (full && capacity === 1)) i32[address + newestWord] = ms;
  else {
    gap = Math.max(0, (ms - i32[address + newestWord]!) | 0);
    span = u16[(address << 1) + spanHalf]! + gap - (full ? u16[log + after]! : 0);
    i32[address + newestWord] = (i32[address + newestWord]! + gap) | 0;
  }
  u16[log + head] = gap;
  u16[half] = after;
  u16[half + 1] = full ? capacity : before + 1;
  u16[(address << 1) + spanHalf] = span;
  return before;
};

/** Milliseconds until the oldest attempt leaves the window; 0 when there is none. */
export const oldestLeavesIn = (i32: Int32Array, u16: Uint16Array, address: number, ms: number): number => {
  if (u16[((address + logWord) << 1) + 1] === 0) return 0;
  return minuteMs - (((ms - i32[address + newestWord]!) | 0) + u16[(address << 1) + spanHalf]!);
};
