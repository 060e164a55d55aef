import { lastToLeave, oldestBucket } from './buckets.ts';
import { dayTokensField, kindShift, minuteTokensField, requestsField, requestsWideField } from './kinds.ts';
import {
  dayBuckets,
  dayWord,
  inFlightHalf,
  logWord,
  minuteBuckets,
  oldestWord,
  refusedWord,
  requestsWord,
  secondMs,
  secondWord,
  tenMinutesMs,
  tokensWord,
} from './layout.ts';
import { concurrentRequests, requestsPerDay, requestsPerMinute, tokensPerDay, tokensPerMinute } from './reasons.ts';
import { kindOf, viewOf, wordOf } from './record.ts';
import { oldestLeavesIn } from './request-log.ts';
import { slabShift } from './slabs.ts';
import type { WindowStore } from './window-store.ts';

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
  const word = wordOf(address);
  const slab = address >>> slabShift;
  if (metric === requestsPerMinute) return store.slabs.u16[slab]![((word + logWord) << 1) + 1]!;
  if (metric === requestsPerDay) return store.slabs.i32[slab]![word + requestsWord]!;
  if (metric === concurrentRequests) return store.slabs.u16[slab]![(word << 1) + inFlightHalf]!;
  if (metric === tokensPerMinute) return store.slabs.f64[slab]![(word + tokensWord) >> 1]!;
  return store.slabs.f64[slab]![(word + dayTokensAt(store, address)) >> 1]!;
};

/**
 * Milliseconds until the window holds no more than `target` without further traffic; 0 when it does already. For the
 * requests of a minute `target` is the limit less one or the present use less one: which are the same, as the log holds
 * no more than the limit.
 */
export const waitFor = (store: WindowStore, address: number, metric: number, target: number): number => {
  const used = usedOf(store, address, metric);
  if (used <= target) return 0;
  const i32 = viewOf(store, address);
  const u16 = store.slabs.u16[address >>> slabShift]!;
  const word = wordOf(address);
  if (metric === requestsPerMinute) return oldestLeavesIn(i32, u16, word, store.ms);
  const fields = kindOf(store, address) << kindShift;
  const words = store.kinds.words;
  let cells: Int32Array | Uint16Array = i32;
  let at = word + words[fields + minuteTokensField]!;
  let hint = (word + oldestWord) << 1;
  let now = i32[word + secondWord]!;
  let length = minuteBuckets;
  let size = secondMs;
  if (metric !== tokensPerMinute) {
    now = i32[word + dayWord]!;
    length = dayBuckets;
    size = tenMinutesMs;
    if (metric === tokensPerDay) {
      at = word + dayTokensAt(store, address) + 2;
      hint = ((word + refusedWord) << 1) + 1;
    } else {
      const wide = words[fields + requestsWideField] === 1;
      cells = wide ? i32 : u16;
      at = words[fields + requestsField]! + (wide ? word : word << 1);
      hint++;
    }
  }
  const oldest = oldestBucket(cells, at, length, now - ((now - u16[hint]!) & 0xffff));
  u16[hint] = oldest;
  return (lastToLeave(cells, at, length, oldest, used, target) + length) * size - store.now;
};

/** Milliseconds until what remains of the window first grows without further traffic; 0 when the window is empty. */
export const resetOf = (store: WindowStore, address: number, metric: number): number => {
  const used = usedOf(store, address, metric);
  return used === 0 ? 0 : waitFor(store, address, metric, Math.min(used, limitOf(store, address, metric)) - 1);
};

const dayTokensAt = (store: WindowStore, address: number): number =>
  store.kinds.words[(kindOf(store, address) << kindShift) + dayTokensField]!;
