import type { Millis } from '../../clock.ts';
import type { WindowRecord } from '../record/record.ts';
import { modulo, secondMs, tenMinutesMs, type WindowTime } from '../record/time.ts';
import { keyAlone } from '../window/attempt-journal.ts';
import { startHalfFull } from '../window/half-full.ts';
import { restoreModel } from '../window/models.ts';
import { acquire, acquireOuter } from '../window/records.ts';
import { limitSubject, type WindowStore } from '../window/window-store.ts';
import { type ChunkFault, ChunkReader, modelScope } from './snapshot-form.ts';

export interface Restored {
  /** A record in several chunks counts several times. */
  readonly records: number;
  /** Faults by place; the rest of a buffer after a fault is not read. */
  readonly refused: readonly { readonly buffer: number; readonly offset: number; readonly reason: ChunkFault }[];
  /** The minute windows begin half used, because something was refused or there was no chunk. */
  readonly halfFull: boolean;
}

/**
 * Restores windows before the first request, from buffers of whole chunks, oldest first. The time since the snapshot is taken
 * from the wall clock, and none when that has gone back. Buckets begin and end when they did before, so that they count as long as
 * without a restart; where the clocks do not tell that, at least as long. Without sound chunks the windows start half full
 * (`startHalfFull`).
 */
export const restore = (
  store: WindowStore,
  buffers: readonly Uint8Array[],
  wallMs: Millis,
  nowMs: Millis,
): Restored => {
  const files = buffers.map((bytes) => chunksOf(bytes, store.name));
  const last = files.flat().findLast((chunk) => typeof chunk !== 'string');
  if (last === undefined) store.time.set(nowMs);
  else store.time.begin(nowMs, last.intoTenMinutes + elapsedSince(last, wallMs));
  let records = 0;
  let chunks = 0;
  const named: Named = { run: -1, keys: new Map() };
  const refused: { buffer: number; offset: number; reason: ChunkFault }[] = [];
  for (const [buffer, file] of files.entries()) {
    let offset = 0;
    for (const chunk of file) {
      const read = typeof chunk === 'string' ? chunk : readChunk(store, chunk, wallMs, named);
      if (typeof read === 'string') {
        refused.push({ buffer, offset, reason: read });
        break;
      }
      records += read;
      chunks++;
      offset += (chunk as ChunkReader).length;
    }
  }
  const halfFull = chunks === 0 || refused.length > 0;
  if (halfFull) startHalfFull(store, nowMs);
  return { records, refused, halfFull };
};

/** The verified chunks of a file, or those before its first fault and the fault. */
const chunksOf = (bytes: Uint8Array, name: string): readonly (ChunkReader | ChunkFault)[] => {
  const chunks: (ChunkReader | ChunkFault)[] = [];
  for (let offset = 0; offset < bytes.length; ) {
    const chunk = ChunkReader.at(bytes, offset, name);
    chunks.push(chunk);
    if (typeof chunk === 'string') break;
    offset += chunk.length;
  }
  return chunks;
};

const elapsedSince = ({ wallMs }: ChunkReader, now: Millis): Millis => Math.max(0, Math.ceil(now - wallMs));

/** By how much the wall clock may differ from the monotonic one between two chunks; a larger difference is a change of the clock. */
const driftMs = 500;

/**
 * The same, so that the chunk's buckets are those of the present time: every run goes on with the buckets of the run before, so a
 * small difference is a drift of the wall clock.
 */
const elapsedBy = (time: WindowTime, chunk: ChunkReader, wallMs: Millis): Millis => {
  const elapsed = elapsedSince(chunk, wallMs);
  const drift = modulo(time.now - chunk.intoTenMinutes - elapsed + driftMs, tenMinutesMs) - driftMs;
  return drift <= driftMs ? Math.max(0, elapsed + drift) : elapsed;
};

/** Keys by their numbers in the run whose chunks are read. */
interface Named {
  run: number;
  readonly keys: Map<number, WindowRecord>;
}

/** @returns the number of records, or the fault */
const readChunk = (store: WindowStore, chunk: ChunkReader, wallMs: Millis, named: Named): number | ChunkFault => {
  const { time } = store;
  const { run, intoSecond, intoTenMinutes } = chunk;
  const elapsed = elapsedBy(time, chunk, wallMs);
  try {
    if (run !== named.run) named.keys.clear();
    named.run = run;
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

/** The next record, made with its outer ones; null for invalid fields. */
const readIdentity = (store: WindowStore, chunk: ChunkReader, named: Named): WindowRecord | null => {
  const scope = chunk.u8();
  const number = chunk.i32();
  const [id, project, organization] = [chunk.text(), chunk.text(), chunk.text()];
  if (id === '') return null;
  if (scope === modelScope && store.top === 2)
    return restoreModel(store, acquireOuter(store, 1, project, organization), id);
  if (scope > store.top) return null;
  if (scope > 0) return acquireOuter(store, scope, id, organization);
  const key = acquire(store, limitSubject(id, project === '' ? null : project, organization));
  named.keys.set(number, key);
  return key;
};

/** Counts attempts again. A key without a record yet has one later, in this chunk or the same save, which includes them. */
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
    // Since the bucket's last millisecond; the running one ended with the snapshot.
    const age = elapsed + (ago === 0 ? 0 : into + 1 + (ago - 1) * tickMs);
    add(Math.floor((now - age) / tickMs), amount);
  }
};
