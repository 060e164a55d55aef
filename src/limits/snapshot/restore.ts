import type { Millis } from '../../clock.ts';
import { acquire, acquireOuter } from '../window/acquire.ts';
import { addDayRequests, addDayTokens, addMinuteTokens } from '../window/amounts.ts';
import { keyAlone } from '../window/attempt-journal.ts';
import { startHalfFull } from '../window/half-full.ts';
import { dayTokensField, kindShift, logField, rpmField, unitsField } from '../window/kinds.ts';
import {
  dayWord,
  headerWords,
  logWord,
  minuteMs,
  requestsNowWord,
  requestsWord,
  secondMs,
  secondWord,
  spanHalf,
  tenMinutesMs,
  tokensNowWord,
  tokensWord,
  unitWords,
} from '../window/layout.ts';
import { changed, kindOf } from '../window/record.ts';
import { logAttempt } from '../window/request-log.ts';
import { resolve } from '../window/resolve.ts';
import { type LimitSubject, limitSubject, type WindowStore } from '../window/window-store.ts';
import { type ChunkFault, ChunkReader } from './snapshot-form.ts';

export interface Restored {
  /** Records read, counting one that several chunks hold as often as they do. */
  readonly records: number;
  /** What was not taken, by place: of a buffer everything from a fault on. */
  readonly refused: readonly { readonly buffer: number; readonly offset: number; readonly reason: ChunkFault }[];
  /** Whether the minute windows begin half used, because something was refused or there was no chunk at all. */
  readonly cautious: boolean;
}

/**
 * Puts windows back as they were, before the first request: buffers of chunks from the oldest to the newest, cut anywhere
 * between chunks. The time between snapshot and restart is taken from the wall clock, as none when that has gone back.
 * A bucket comes to lie in the present clock's bucket of its latest moment, so it counts at least as long as it would have.
 *
 * Without a sound snapshot the windows start half full (`startHalfFull`). A deployment that has never run calls
 * neither.
 */
export const restore = (store: WindowStore, buffers: Iterable<Uint8Array>, wallMs: Millis, nowMs: Millis): Restored => {
  store.setNow(nowMs);
  let records = 0;
  let chunks = 0;
  let number = 0;
  const named: Named = { run: -1, keys: new Map() };
  const refused: { buffer: number; offset: number; reason: ChunkFault }[] = [];
  for (const bytes of buffers) {
    for (let offset = 0; offset < bytes.length; ) {
      const chunk = ChunkReader.at(bytes, offset, store.name);
      const fault = chunk instanceof ChunkReader ? readChunk(store, chunk, wallMs, named) : chunk;
      if (typeof fault === 'string') {
        refused.push({ buffer: number, offset, reason: fault });
        break;
      }
      records += fault;
      chunks++;
      offset += (chunk as ChunkReader).length;
    }
    number++;
  }
  const cautious = chunks === 0 || refused.length > 0;
  if (cautious) startHalfFull(store, nowMs);
  return { records, refused, cautious };
};

/** Keys by their tags in the run whose chunks are being read. */
interface Named {
  run: number;
  readonly keys: Map<number, LimitSubject>;
}

/** @returns the records that were read, or what is wrong */
const readChunk = (store: WindowStore, chunk: ChunkReader, wallMs: Millis, named: Named): number | ChunkFault => {
  const elapsed = Math.max(0, Math.ceil(wallMs - chunk.wallMs));
  try {
    const run = chunk.u32();
    if (run !== named.run) named.keys.clear();
    named.run = run;
    const intoSecond = chunk.u32();
    const intoTenMinutes = chunk.u32();
    readJournal(store, chunk, elapsed, named);
    for (let record = 0; record < chunk.records; record++) {
      const slot = slotFor(store, chunk, named);
      if (slot < 0) return 'malformed';
      const address = store.slots.address(slot);
      clear(store, address);
      readLog(store, address, chunk, elapsed);
      readRing(chunk, elapsed, intoSecond, secondMs, store.now, (second, amount) =>
        addMinuteTokens(store, address, second, amount),
      );
      readRing(chunk, elapsed, intoTenMinutes, tenMinutesMs, store.now, (ten, amount) =>
        addDayRequests(store, address, ten, amount),
      );
      readRing(chunk, elapsed, intoTenMinutes, tenMinutesMs, store.now, (ten, amount) =>
        addDayTokens(store, address, ten, amount),
      );
      changed(store, address);
    }
    return chunk.records;
  } catch (problem) {
    if (problem instanceof RangeError) return 'malformed';
    throw problem;
  }
};

/** The slot of the record that is read next, made with those it belongs to; -1 when its fields make no sense. */
const slotFor = (store: WindowStore, chunk: ChunkReader, named: Named): number => {
  const scope = chunk.u8();
  const tag = chunk.i32();
  const [id, project, organization] = [chunk.text(), chunk.text(), chunk.text()];
  if (scope > store.top || id === '') return -1;
  if (scope > 0) return acquireOuter(store, scope, id, organization);
  const who = limitSubject(id, project === '' ? null : project, organization);
  acquire(store, who.owner);
  named.keys.set(tag, who);
  return store.slots.slotOf(who.owner.handle);
};

/**
 * Counts attempts again. Of a key that no record has named yet the record comes later in the same chunk or the same saving,
 * and has them in it.
 */
const readJournal = (store: WindowStore, chunk: ChunkReader, elapsed: Millis, named: Named): void => {
  const ms = chunk.i32();
  for (let left = chunk.u32(); left > 0; left--) {
    const who = chunk.i32();
    const age = ((ms - chunk.i32()) | 0) + elapsed;
    const key = named.keys.get(who & ~keyAlone);
    if (key === undefined) continue;
    resolve(store, key);
    again(store, store.keyAt, age);
    if ((who & keyAlone) !== 0) continue;
    if (store.projectAt >= 0) again(store, store.projectAt, age);
    again(store, store.organizationAt, age);
  }
};

const again = (store: WindowStore, address: number, age: Millis): void => {
  if (age < minuteMs) pushAttempt(store, address, age);
  addDayRequests(store, address, Math.floor((store.now - age) / tenMinutesMs), 1);
};

/** One of the last minute, and none younger is in the log: so nothing need be expired for it. */
const pushAttempt = (store: WindowStore, address: number, age: Millis): void => {
  const fields = kindOf(store, address) << kindShift;
  const words = store.kinds.words;
  const log = (address << 1) + words[fields + logField]!;
  const u16 = store.slab.u16;
  logAttempt(store.slab.i32, u16, address, log, words[fields + rpmField]!, (store.ms - age) | 0);
};

const clear = (store: WindowStore, address: number): void => {
  const i32 = store.slab.i32;
  const fields = kindOf(store, address) << kindShift;
  const words = store.kinds.words;
  i32.fill(0, address + headerWords, address + words[fields + unitsField]! * unitWords);
  i32[address + logWord] = 0;
  store.slab.u16[(address << 1) + spanHalf] = 0;
  i32[address + requestsWord] = 0;
  i32[address + requestsNowWord] = 0;
  i32[address + tokensNowWord] = 0;
  i32[address + secondWord] = store.second;
  i32[address + dayWord] = store.tenMinutes;
  const f64 = store.slab.f64;
  f64[(address + tokensWord) >> 1] = 0;
  const day = words[fields + dayTokensField]!;
  if (day !== 0) f64[(address + day) >> 1] = 0;
};

/** Of the attempts the newest that the limit of today has room for. */
const readLog = (store: WindowStore, address: number, chunk: ChunkReader, elapsed: Millis): void => {
  const capacity = store.kinds.words[(kindOf(store, address) << kindShift) + rpmField]!;
  const count = chunk.u16();
  let age = chunk.u32() + elapsed;
  const gaps = Array.from({ length: Math.max(0, count - 1) }, () => chunk.u16());
  const ages: number[] = [];
  for (let entry = 0; entry < Math.min(count, capacity) && age < minuteMs; entry++) {
    ages.push(age);
    age += gaps[gaps.length - 1 - entry] ?? 0;
  }
  for (const each of ages.reverse()) pushAttempt(store, address, each);
};

const readRing = (
  chunk: ChunkReader,
  elapsed: Millis,
  into: Millis,
  size: Millis,
  now: Millis,
  add: (tick: number, amount: number) => void,
): void => {
  for (let left = chunk.u8(); left > 0; left--) {
    const ago = chunk.u8();
    const amount = chunk.u32();
    // Milliseconds since the last moment of the bucket; of the running one that was the snapshot itself.
    const age = elapsed + (ago === 0 ? 0 : into + (ago - 1) * size);
    add(Math.floor((now - age) / size), amount);
  }
};
