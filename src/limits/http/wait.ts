import { lastToLeave, oldestBucket } from '../window/buckets.ts';
import { dayTokensField, kindShift, minuteTokensField, requestsField, requestsWideField } from '../window/kinds.ts';
import {
  dayCells,
  dayTokensRingWord,
  dayWord,
  inFlightHalf,
  logWord,
  minuteCells,
  oldestWord,
  refusedWord,
  requestsWord,
  secondMs,
  secondWord,
  tenMinutesMs,
  tokensWord,
} from '../window/layout.ts';
import {
  concurrentRequests,
  requestsPerDay,
  requestsPerMinute,
  tokensPerDay,
  tokensPerMinute,
} from '../window/reasons.ts';
import { kindOf } from '../window/record.ts';
import { oldestLeavesIn } from '../window/request-log.ts';
import type { WindowStore } from '../window/window-store.ts';

/**
 * One window of one record, by the number of its metric. All of these read a record that has been advanced; a limit of 0
 * says that the record has no such window.
 */

export const limitOf = (store: WindowStore, address: number, metric: number): number => {
  const kind = kindOf(store, address);
  return metric === tokensPerDay ? store.kinds.tpd[kind]! : store.kinds.words[(kind << kindShift) + metric]!;
};

/** What the window holds: requests, requests in flight, or tokens. */
export const usedOf = (store: WindowStore, address: number, metric: number): number => {
  if (metric === requestsPerMinute) return store.slab.u16[((address + logWord) << 1) + 1]!;
  if (metric === requestsPerDay) return store.slab.i32[address + requestsWord]!;
  if (metric === concurrentRequests) return store.slab.u16[(address << 1) + inFlightHalf]!;
  if (metric === tokensPerMinute) return store.slab.f64[(address + tokensWord) >> 1]!;
  return store.slab.f64[(address + dayTokensAt(store, address)) >> 1]!;
};

/**
 * Milliseconds until the window holds no more than `target` without further traffic; 0 when it does already. For the
 * requests of a minute `target` is the limit less one or the present use less one: which are the same, as the log holds
 * no more than the limit.
 */
export const waitFor = (store: WindowStore, address: number, metric: number, target: number): number => {
  const used = usedOf(store, address, metric);
  if (used <= target) return 0;
  const i32 = store.slab.i32;
  const u16 = store.slab.u16;
  if (metric === requestsPerMinute) return oldestLeavesIn(i32, u16, address, store.ms);
  const fields = kindOf(store, address) << kindShift;
  const words = store.kinds.words;
  let cells: Int32Array | Uint16Array = i32;
  let at = address + words[fields + minuteTokensField]!;
  let hint = (address + oldestWord) << 1;
  let now = i32[address + secondWord]!;
  let length = minuteCells;
  let size = secondMs;
  if (metric !== tokensPerMinute) {
    now = i32[address + dayWord]!;
    length = dayCells;
    size = tenMinutesMs;
    if (metric === tokensPerDay) {
      at = address + dayTokensAt(store, address) + dayTokensRingWord;
      hint = ((address + refusedWord) << 1) + 1;
    } else {
      const wide = words[fields + requestsWideField] === 1;
      cells = wide ? i32 : u16;
      at = words[fields + requestsField]! + (wide ? address : address << 1);
      hint++;
    }
  }
  const oldest = oldestBucket(cells, at, length, now - ((now - u16[hint]!) & 0xffff), now);
  u16[hint] = oldest;
  return (lastToLeave(cells, at, length, oldest, now, used, target) + length + 1) * size - store.now;
};

/** Milliseconds until what remains of the window first grows without further traffic; 0 when the window is empty. */
export const resetOf = (store: WindowStore, address: number, metric: number): number => {
  const used = usedOf(store, address, metric);
  return used === 0 ? 0 : waitFor(store, address, metric, Math.min(used, limitOf(store, address, metric)) - 1);
};

const dayTokensAt = (store: WindowStore, address: number): number =>
  store.kinds.words[(kindOf(store, address) << kindShift) + dayTokensField]!;
