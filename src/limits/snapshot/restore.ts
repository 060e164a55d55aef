import type { Millis } from '../../clock.ts';
import type { WindowRecord } from '../record/record.ts';
import { secondMs, tenMinutesMs, type WindowTime } from '../record/time.ts';
import { keyAlone } from '../window/attempt-journal.ts';
import { startHalfFull } from '../window/half-full.ts';
import { acquire, acquireOuter } from '../window/records.ts';
import { limitSubject, type WindowStore } from '../window/window-store.ts';
import { type ChunkFault, ChunkReader } from './snapshot-form.ts';

export interface Restored {
  /** Records read, counting one that several chunks hold as often as they do. */
  readonly records: number;
  /** What was not taken, by place: of a buffer everything from a fault on. */
  readonly refused: readonly { readonly buffer: number; readonly offset: number; readonly reason: ChunkFault }[];
  /** Whether the minute windows begin half used, because something was refused or there was no chunk at all. */
  readonly halfFull: boolean;
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
  store.time.set(nowMs);
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
  const halfFull = chunks === 0 || refused.length > 0;
  if (halfFull) startHalfFull(store, nowMs);
  return { records, refused, halfFull };
};

/** Keys by their numbers in the run whose chunks are being read. */
interface Named {
  run: number;
  readonly keys: Map<number, WindowRecord>;
}

/** @returns the records that were read, or what is wrong */
const readChunk = (store: WindowStore, chunk: ChunkReader, wallMs: Millis, named: Named): number | ChunkFault => {
  const { time } = store;
  const elapsed = Math.max(0, Math.ceil(wallMs - chunk.wallMs));
  try {
    const run = chunk.u32();
    if (run !== named.run) named.keys.clear();
    named.run = run;
    const intoSecond = chunk.u32();
    const intoTenMinutes = chunk.u32();
    readJournal(store, chunk, elapsed, named);
    for (let left = chunk.records; left > 0; left--) {
      const record = readIdentity(store, chunk, named);
      if (record === null) return 'malformed';
      record.clear(time);
      readAttempts(record, chunk, elapsed, time);
      const day = { into: intoTenMinutes, tickMs: tenMinutesMs };
      readBuckets(chunk, elapsed, { into: intoSecond, tickMs: secondMs }, time, (at, by) => record.addTokens(at, by));
      readBuckets(chunk, elapsed, day, time, (at, by) => record.addRequestsToday(at, by));
      readBuckets(chunk, elapsed, day, time, (at, by) => record.addTokensToday(at, by));
      store.changed(record);
    }
    return chunk.records;
  } catch (problem) {
    if (problem instanceof RangeError) return 'malformed';
    throw problem;
  }
};

/** The record that is read next, made with those it belongs to; null when its fields make no sense. */
const readIdentity = (store: WindowStore, chunk: ChunkReader, named: Named): WindowRecord | null => {
  const scope = chunk.u8();
  const number = chunk.i32();
  const [id, project, organization] = [chunk.text(), chunk.text(), chunk.text()];
  if (scope > store.top || id === '') return null;
  if (scope > 0) return acquireOuter(store, scope, id, organization);
  const key = acquire(store, limitSubject(id, project === '' ? null : project, organization));
  named.keys.set(number, key);
  return key;
};

/**
 * Counts attempts again. Of a key that no record has named yet the record comes later in the same chunk or the same saving,
 * and has them in it.
 */
const readJournal = ({ time }: WindowStore, chunk: ChunkReader, elapsed: Millis, named: Named): void => {
  const ms = chunk.i32();
  for (let left = chunk.u32(); left > 0; left--) {
    const who = chunk.i32();
    const age = ((ms - chunk.i32()) | 0) + elapsed;
    const key = named.keys.get(who & ~keyAlone) ?? null;
    for (let record = key; record !== null; record = (who & keyAlone) === 0 ? record.parent : null) {
      record.logAttempt(age, time);
      record.addRequestsToday(Math.floor((time.now - age) / tenMinutesMs), 1);
    }
  }
};

const readAttempts = (record: WindowRecord, chunk: ChunkReader, elapsed: Millis, time: WindowTime): void => {
  const count = chunk.u16();
  const age = chunk.u32() + elapsed;
  const gaps = Uint16Array.from({ length: Math.max(0, count - 1) }, () => chunk.u16());
  if (count > 0) record.loadAttempts(age, gaps, time);
};

const readBuckets = (
  chunk: ChunkReader,
  elapsed: Millis,
  { into, tickMs }: { readonly into: Millis; readonly tickMs: Millis },
  { now }: WindowTime,
  add: (tick: number, amount: number) => void,
): void => {
  for (let left = chunk.u8(); left > 0; left--) {
    const ago = chunk.u8();
    const amount = chunk.u32();
    // Milliseconds since the last moment of the bucket; of the running one that was the snapshot itself.
    const age = elapsed + (ago === 0 ? 0 : into + (ago - 1) * tickMs);
    add(Math.floor((now - age) / tickMs), amount);
  }
};
