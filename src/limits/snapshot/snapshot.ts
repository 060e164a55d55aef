import type { Millis } from '../../clock.ts';
import {
  dayTokensField,
  kindShift,
  logField,
  minuteTokensField,
  requestsField,
  requestsWideField,
  rpmField,
} from '../window/kinds.ts';
import {
  changedFlag,
  dayCells,
  dayMs,
  dayTokensNowWord,
  dayTokensRingWord,
  kindWord,
  logWord,
  minuteCells,
  newestWord,
  organizationWord,
  parentWord,
  requestsNowWord,
  requestsWord,
  secondMs,
  tenMinutesMs,
  tokensNowWord,
  tokensWord,
} from '../window/layout.ts';
import { changed, kindOf, scopeOf } from '../window/record.ts';
import { advance } from '../window/window.ts';
import type { WindowStore } from '../window/window-store.ts';
import { ChunkWriter } from './snapshot-form.ts';

/**
 * The attempts since the last snapshot and, up to `most` of them, the records that have changed otherwise, as one chunk;
 * null when there is nothing. Call it until it gives null, with a turn of the loop between: a record takes one to three
 * microseconds. Requests in flight are left out, since they do not outlive the process.
 *
 * @param wallMs the wall clock, which alone means something after a restart
 */
export const snapshot = (store: WindowStore, wallMs: Millis, nowMs: Millis, most = 500): Uint8Array | null => {
  const attempts = store.journal.length;
  // A record holds the attempts up to now, so they must be told before it, and never after it.
  const writer = begin(store, wallMs, nowMs);
  while (writer.records < most) {
    const slot = store.changes.take();
    if (slot < 0) break;
    const address = store.slots.address(slot);
    // A slot that was freed meanwhile: what was in it has left its windows.
    if (address < 0) continue;
    advance(store, address);
    const flags = ((address + kindWord) << 1) + 1;
    const u16 = store.slab.u16;
    u16[flags] = u16[flags]! & ~changedFlag;
    writeRecord(store, slot, address, writer);
  }
  return attempts === 0 && writer.records === 0 ? null : writer.finish();
};

const begin = (store: WindowStore, wallMs: Millis, nowMs: Millis): ChunkWriter => {
  store.setNow(nowMs);
  const writer = new ChunkWriter(store.name, wallMs);
  writer.u32(store.run);
  writer.u32(store.now % secondMs);
  writer.u32(store.now % tenMinutesMs);
  writer.u32(store.ms >>> 0);
  const { journal } = store;
  // Times in the journal are modulo 2^32 ms; what has waited for a day is not told by it.
  if (journal.overflowed || store.now - store.savedAt >= dayMs) {
    markChanged(store, 0, store.slots.length);
    journal.clear();
  }
  store.savedAt = store.now;
  writer.u32(journal.length / 2);
  writer.cells(journal.words, 0, journal.length);
  journal.clear();
  return writer;
};

/** A chunk without records, for the beginning of a file: it says that there is a snapshot, if only of nothing. */
export const opening = (store: WindowStore, wallMs: Millis, nowMs: Millis): Uint8Array =>
  begin(store, wallMs, nowMs).finish();

/**
 * Has every record of `most` slots from `from` on written by the next snapshots: for a new file that is to need no older
 * one. In pieces, since each costs a cache miss or two.
 * @returns where to go on; -1 at the end
 */
export const markChanged = (store: WindowStore, from: number, most: number): number => {
  const to = Math.min(store.slots.length, from + most);
  for (let slot = from; slot < to; slot++) {
    const address = store.slots.address(slot);
    if (address >= 0) changed(store, address);
  }
  return to < store.slots.length ? to : -1;
};

const writeRecord = (store: WindowStore, slot: number, address: number, writer: ChunkWriter): void => {
  const i32 = store.slab.i32;
  const kind = kindOf(store, address);
  const scope = scopeOf(kind);
  const fields = kind << kindShift;
  const words = store.kinds.words;
  const idOf = (other: number): string => (other < 0 ? '' : (store.slots.idOf(other) ?? ''));
  writer.begin();
  writer.u8(scope);
  writer.u32(store.slots.tagOf(slot));
  writer.text(idOf(slot));
  writer.text(scope === 0 ? idOf(i32[address + parentWord]!) : '');
  writer.text(idOf(i32[address + organizationWord]!));
  writeLog(store, address, writer);
  const minute = words[fields + minuteTokensField]!;
  const f64 = store.slab.f64;
  const minuteSum = minute === 0 ? 0 : f64[(address + tokensWord) >> 1]!;
  writeRing(writer, i32, address + minute, minuteCells, store.second, i32[address + tokensNowWord]!, minuteSum);
  const wide = words[fields + requestsWideField] === 1;
  const requests = words[fields + requestsField]!;
  const cells = wide ? i32 : store.slab.u16;
  const requestsAt = requests + (wide ? address : address << 1);
  const requestsSum = requests === 0 ? 0 : i32[address + requestsWord]!;
  writeRing(writer, cells, requestsAt, dayCells, store.tenMinutes, i32[address + requestsNowWord]!, requestsSum);
  const day = words[fields + dayTokensField]!;
  const daySum = day === 0 ? 0 : f64[(address + day) >> 1]!;
  const dayAt = address + day;
  writeRing(writer, i32, dayAt + dayTokensRingWord, dayCells, store.tenMinutes, i32[dayAt + dayTokensNowWord]!, daySum);
};

const writeLog = (store: WindowStore, address: number, writer: ChunkWriter): void => {
  const u16 = store.slab.u16;
  const fields = kindOf(store, address) << kindShift;
  const capacity = store.kinds.words[fields + rpmField]!;
  const log = (address << 1) + store.kinds.words[fields + logField]!;
  const half = (address + logWord) << 1;
  const count = u16[half + 1]!;
  writer.u16(count);
  writer.u32((store.ms - store.slab.i32[address + newestWord]!) >>> 0);
  // The gap of the oldest entry leads out of the log.
  const gaps = Math.max(0, count - 1);
  const head = u16[half]!;
  const wrapped = Math.max(0, gaps - head);
  writer.cells(u16, log + capacity - wrapped, log + capacity);
  writer.cells(u16, log + head - (gaps - wrapped), log + head);
};

/** The buckets that are not empty, newest first: they make up `sum`, so the walk ends at the oldest of them. */
const writeRing = (
  writer: ChunkWriter,
  cells: Int32Array | Uint16Array,
  at: number,
  length: number,
  now: number,
  running: number,
  sum: number,
): void => {
  const count = writer.reserve();
  let buckets = 0;
  let rest = sum;
  for (let age = 0; rest > 0 && age <= length; age++) {
    const amount = age === 0 ? running : cells[at + ((now - age) % length)]!;
    if (amount === 0) continue;
    writer.u8(age);
    writer.u32(amount);
    rest -= amount;
    buckets++;
  }
  writer.fill(count, buckets);
};
