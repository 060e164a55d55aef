import { emptyBuckets } from './buckets.ts';
import {
  dayTokensField,
  kindShift,
  logField,
  minuteTokensField,
  requestsField,
  requestsWideField,
  rpmField,
} from './kinds.ts';
import {
  dayBuckets,
  dayWord,
  kindWord,
  logWord,
  minuteBuckets,
  newestWord,
  oldestWord,
  refusedWord,
  requestsWord,
  secondWord,
  spanHalf,
  tokensWord,
} from './layout.ts';
import { expireLog } from './request-log.ts';
import type { WindowStore } from './window-store.ts';

/** Moves all windows of the record at `address` to the store's time. Running it twice changes nothing more. */
export const advance = (store: WindowStore, address: number): void => {
  advanceTokens(store, address);
  const { i32, u16 } = store.slab;
  const kind = u16[(address + kindWord) << 1]! << kindShift;
  const fields = store.kinds.words;
  expireLog(i32, u16, address, (address << 1) + fields[kind + logField]!, fields[kind + rpmField]!, store.ms);
};

/** The same for all windows but that of the requests of a minute. */
export const advanceTokens = (store: WindowStore, address: number): void => {
  const { i32, u16, f64 } = store.slab;
  if (i32[address + dayWord]! < store.tenMinutes) advanceDay(store, address);
  if (i32[address + secondWord]! >= store.second) return;
  const kind = u16[(address + kindWord) << 1]! << kindShift;
  advanceMinute(i32, u16, f64, address, store.kinds.words[kind + minuteTokensField]!, store.second);
};

/** The tokens of a minute: a walk over the seconds that leave, which the oldest non-empty one bounds. */
const advanceMinute = (
  i32: Int32Array,
  u16: Uint16Array,
  f64: Float64Array,
  address: number,
  ring: number,
  second: number,
): void => {
  const before = i32[address + secondWord]!;
  i32[address + secondWord] = second;
  const sum = f64[(address + tokensWord) >> 1]!;
  if (sum === 0) return;
  const hint = (address + oldestWord) << 1;
  const oldest = before - ((before - u16[hint]!) & 0xffff);
  const gone = Math.min(before, second - minuteBuckets);
  if (oldest > gone) return;
  f64[(address + tokensWord) >> 1] = sum - emptyBuckets(i32, address + ring, minuteBuckets, oldest, gone);
  // Never further behind than the ring is long, or the 16 bits would wrap.
  u16[hint] = gone + 1;
};

/** Once in ten minutes for a record in use: requests and, for organizations, tokens of the day. */
export const advanceDay = (store: WindowStore, address: number): void => {
  const i32 = store.slab.i32;
  const u16 = store.slab.u16;
  const f64 = store.slab.f64;
  const kind = u16[(address + kindWord) << 1]! << kindShift;
  const fields = store.kinds.words;
  const before = i32[address + dayWord]!;
  const gone = Math.min(before, store.tenMinutes - dayBuckets);
  i32[address + dayWord] = store.tenMinutes;

  const requests = i32[address + requestsWord]!;
  const requestsHint = ((address + oldestWord) << 1) + 1;
  const oldest = before - ((before - u16[requestsHint]!) & 0xffff);
  if (requests !== 0 && oldest <= gone) {
    const wide = fields[kind + requestsWideField] === 1;
    const at = fields[kind + requestsField]! + (wide ? address : address << 1);
    i32[address + requestsWord] = requests - emptyBuckets(wide ? i32 : u16, at, dayBuckets, oldest, gone);
    u16[requestsHint] = gone + 1;
  }

  const ring = fields[kind + dayTokensField]!;
  if (ring !== 0) {
    const sum = f64[(address + ring) >> 1]!;
    const tokensHint = ((address + refusedWord) << 1) + 1;
    const first = before - ((before - u16[tokensHint]!) & 0xffff);
    if (sum !== 0 && first <= gone) {
      f64[(address + ring) >> 1] = sum - emptyBuckets(i32, address + ring + 2, dayBuckets, first, gone);
      u16[tokensHint] = gone + 1;
    }
  }
  // The log's times are modulo 2^32 ms: what has rested for a day is emptied while its age is still certain.
  if (gone === before) {
    u16[((address + logWord) << 1) + 1] = 0;
    u16[(address << 1) + spanHalf] = 0;
    i32[address + newestWord] = store.ms;
  }
};
