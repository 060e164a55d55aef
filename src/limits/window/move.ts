import {
  dayTokensField,
  kindShift,
  logField,
  minuteTokensField,
  planShift,
  requestsField,
  requestsWideField,
  rpmField,
  unitsField,
} from './kinds.ts';
import {
  dayCells,
  dayTokensRingWord,
  headerWords,
  kindWord,
  logWord,
  minuteCells,
  mostRequestsNarrow,
  requestsNowWord,
  requestsWord,
  slotWord,
  spanHalf,
} from './layout.ts';
import { changed, kindOf, scopeOf } from './record.ts';
import { advance } from './window.ts';
import type { WindowStore } from './window-store.ts';

/** A record, by its address and the index of its kind's fields. */
interface RecordPlace {
  readonly address: number;
  readonly fields: number;
}

/**
 * Gives a record the limits of a plan and returns its address then. Its windows and requests in flight stay; of the
 * log the newest entries stay, as many as the new limit, and more are never needed (limits.md 1.10). When a limit rises,
 * attempts beyond the old one are not known any more and do not count (contract F.1).
 */
export const moveTo = (store: WindowStore, address: number, plan: number): number => {
  const oldKind = kindOf(store, address);
  if (oldKind >> planShift === plan) return address;
  advance(store, address);
  const kind = (plan << planShift) + scopeOf(oldKind);
  const words = store.kinds.words;
  const to = store.slab.take(words[(kind << kindShift) + unitsField]!);
  const { i32, u16 } = store.slab;
  const from = { address, fields: oldKind << kindShift };
  const into = { address: to, fields: kind << kindShift };
  i32.copyWithin(to, address, address + headerWords);
  u16[(to + kindWord) << 1] = kind;
  copyTokens(i32, words, from, into);
  if (words[into.fields + requestsField] !== 0) copyRequests(i32, u16, words, from, into);
  copyLog(u16, words, from, into);
  store.slab.give(address, words[from.fields + unitsField]!);
  store.slots.move(i32[to + slotWord]!, to);
  changed(store, to);
  return to;
};

const copyTokens = (i32: Int32Array, words: Int32Array, from: RecordPlace, into: RecordPlace): void => {
  for (const [field, length] of [
    [minuteTokensField, minuteCells],
    [dayTokensField, dayTokensRingWord + dayCells],
  ] as const) {
    const [at, to] = [words[from.fields + field]!, words[into.fields + field]!];
    if (at === 0 || to === 0) continue;
    i32.copyWithin(into.address + to, from.address + at, from.address + at + length);
  }
};

/** A count that does not fit a narrow bucket stops at its largest value, which is no less than the limit. */
const copyRequests = (
  i32: Int32Array,
  u16: Uint16Array,
  words: Int32Array,
  from: RecordPlace,
  into: RecordPlace,
): void => {
  const wasWide = words[from.fields + requestsWideField] === 1;
  const wide = words[into.fields + requestsWideField] === 1;
  const source = wasWide ? i32 : u16;
  const at = words[from.fields + requestsField]! + (wasWide ? from.address : from.address << 1);
  const target = wide ? i32 : u16;
  const to = words[into.fields + requestsField]! + (wide ? into.address : into.address << 1);
  const running = into.address + requestsNowWord;
  if (!wide) i32[running] = Math.min(i32[running]!, mostRequestsNarrow);
  let sum = i32[running]!;
  for (let bucket = 0; bucket < dayCells; bucket++) {
    const count = wide ? source[at + bucket]! : Math.min(source[at + bucket]!, mostRequestsNarrow);
    target[to + bucket] = count;
    sum += count;
  }
  i32[into.address + requestsWord] = sum;
};

const copyLog = (u16: Uint16Array, words: Int32Array, from: RecordPlace, into: RecordPlace): void => {
  const oldCapacity = words[from.fields + rpmField]!;
  const capacity = words[into.fields + rpmField]!;
  const half = (from.address + logWord) << 1;
  const count = Math.min(u16[half + 1]!, capacity);
  const at = (from.address << 1) + words[from.fields + logField]!;
  const to = (into.address << 1) + words[into.fields + logField]!;
  let span = 0;
  for (let entry = 0; entry < count; entry++) {
    const source = (u16[half]! - count + entry + oldCapacity) % oldCapacity;
    const gap = u16[at + source]!;
    u16[to + entry] = gap;
    // The oldest entry's gap leads out of the log.
    if (entry > 0) span += gap;
  }
  u16[(into.address + logWord) << 1] = count % capacity;
  u16[((into.address + logWord) << 1) + 1] = count;
  u16[(into.address << 1) + spanHalf] = span;
};
