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

interface Place {
  readonly i32: Int32Array;
  readonly u16: Uint16Array;
  readonly address: number;
  /** Index of the kind's fields. */
  readonly fields: number;
}

const place = (store: WindowStore, address: number, kind: number): Place => ({
  i32: store.slab.i32,
  u16: store.slab.u16,
  address,
  fields: kind << kindShift,
});

/**
 * Gives a record the limits of a plan and returns its address then. Its windows and requests in flight stay; of the
 * log the newest entries stay, as many as the new limit, and more are never needed (limits.md 1.10). When a limit rises,
 * attempts beyond the old one are not known any more and do not count (decisions F.1).
 */
export const moveTo = (store: WindowStore, address: number, plan: number): number => {
  const oldKind = kindOf(store, address);
  if (oldKind >> planShift === plan) return address;
  advance(store, address);
  const kind = (plan << planShift) + scopeOf(oldKind);
  const words = store.kinds.words;
  const to = store.slab.take(words[(kind << kindShift) + unitsField]!);
  const from = place(store, address, oldKind);
  const into = place(store, to, kind);
  into.i32.set(from.i32.subarray(from.address, from.address + headerWords), into.address);
  into.u16[(into.address + kindWord) << 1] = kind;
  copyTokens(words, from, into);
  if (words[into.fields + requestsField] !== 0) copyRequests(words, from, into);
  copyLog(words, from, into);
  store.slab.give(address, words[from.fields + unitsField]!);
  store.slots.move(store.slab.i32[to + slotWord]!, to);
  changed(store, to);
  return to;
};

const copyTokens = (words: Int32Array, from: Place, into: Place): void => {
  for (const [field, length] of [
    [minuteTokensField, minuteCells],
    [dayTokensField, dayTokensRingWord + dayCells],
  ] as const) {
    const [at, to] = [words[from.fields + field]!, words[into.fields + field]!];
    if (at === 0 || to === 0) continue;
    into.i32.set(from.i32.subarray(from.address + at, from.address + at + length), into.address + to);
  }
};

/** A count that does not fit a narrow bucket stops at its largest value, which is no less than the limit. */
const copyRequests = (words: Int32Array, from: Place, into: Place): void => {
  const wasWide = words[from.fields + requestsWideField] === 1;
  const wide = words[into.fields + requestsWideField] === 1;
  const source = wasWide ? from.i32 : from.u16;
  const at = words[from.fields + requestsField]! + (wasWide ? from.address : from.address << 1);
  const target = wide ? into.i32 : into.u16;
  const to = words[into.fields + requestsField]! + (wide ? into.address : into.address << 1);
  const running = into.address + requestsNowWord;
  if (!wide) into.i32[running] = Math.min(into.i32[running]!, mostRequestsNarrow);
  let sum = into.i32[running]!;
  for (let bucket = 0; bucket < dayCells; bucket++) {
    const count = wide ? source[at + bucket]! : Math.min(source[at + bucket]!, mostRequestsNarrow);
    target[to + bucket] = count;
    sum += count;
  }
  into.i32[into.address + requestsWord] = sum;
};

const copyLog = (words: Int32Array, from: Place, into: Place): void => {
  const oldCapacity = words[from.fields + rpmField]!;
  const capacity = words[into.fields + rpmField]!;
  const half = (from.address + logWord) << 1;
  const count = Math.min(from.u16[half + 1]!, capacity);
  const at = (from.address << 1) + words[from.fields + logField]!;
  const to = (into.address << 1) + words[into.fields + logField]!;
  let span = 0;
  for (let entry = 0; entry < count; entry++) {
    const source = (from.u16[half]! - count + entry + oldCapacity) % oldCapacity;
    const gap = from.u16[at + source]!;
    into.u16[to + entry] = gap;
    // The oldest entry's gap leads out of the log.
    if (entry > 0) span += gap;
  }
  into.u16[(into.address + logWord) << 1] = count % capacity;
  into.u16[((into.address + logWord) << 1) + 1] = count;
  into.u16[(into.address << 1) + spanHalf] = span;
};
