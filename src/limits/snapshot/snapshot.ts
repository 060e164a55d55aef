import type { Millis } from '../../clock.ts';
import { dayMs } from '../../clock.ts';
import { requestsPerDay, tokensPerDay, tokensPerMinute } from '../record/metrics.ts';
import type { WindowRecord } from '../record/record.ts';
import { secondMs, tenMinutesMs } from '../record/time.ts';
import type { WindowStore } from '../window/window-store.ts';
import { ChunkWriter, modelScope } from './snapshot-form.ts';

/**
 * The attempts since the last snapshot and up to `most` changed records, as one chunk; null when there is nothing. Call it
 * until it returns null, with a turn of the loop between: a record takes one to three microseconds. Requests in flight are left
 * out.
 */
export const snapshot = (store: WindowStore, wallMs: Millis, nowMs: Millis, most = 500): Uint8Array | null => {
  const attempts = store.journal.length;
  // Before the records, which include these attempts.
  const writer = begin(store, wallMs, nowMs);
  for (const record of store.unsaved) {
    if (writer.records === most) break;
    store.unsaved.delete(record);
    record.unsaved = false;
    record.advance(store.time);
    writeRecord(store, record, writer);
  }
  return attempts === 0 && writer.records === 0 ? null : writer.finish();
};

const begin = (store: WindowStore, wallMs: Millis, nowMs: Millis): ChunkWriter => {
  const { journal, time } = store;
  time.set(nowMs);
  const writer = new ChunkWriter(store.name, wallMs);
  writer.u32(store.run);
  writer.u32(time.now % secondMs);
  writer.u32(time.now % tenMinutesMs);
  writer.i32(time.ms);
  // Times in the journal are modulo 2^32 ms, so after a day whole records replace it.
  if (journal.overflowed || time.now - store.savedAt >= dayMs) {
    for (const record of store.all()) store.changed(record);
    journal.clear();
  }
  store.savedAt = time.now;
  writer.u32(journal.length / 2);
  writer.array(journal.words.subarray(0, journal.length));
  journal.clear();
  return writer;
};

/** A chunk without records, for the beginning of a file. */
export const opening = (store: WindowStore, wallMs: Millis, nowMs: Millis): Uint8Array =>
  begin(store, wallMs, nowMs).finish();

const writeRecord = (store: WindowStore, record: WindowRecord, writer: ChunkWriter): void => {
  const { kind, parent, organization } = record;
  writer.begin();
  writer.u8(kind.isOfModel ? modelScope : kind.scope);
  writer.i32(record.number);
  writer.text(record.id);
  writer.text((kind.scope === 0 && parent !== organization) || kind.isOfModel ? parent!.id : '');
  writer.text(record === organization ? '' : organization.id);
  const { ageMs, gaps } = record.attempts(store.time);
  writer.u16(record.requestsLastMinute);
  writer.u32(ageMs);
  writer.array(gaps);
  for (const metric of [tokensPerMinute, requestsPerDay, tokensPerDay]) {
    const count = writer.reserve();
    let buckets = 0;
    record.forEachBucket(metric, (ago, amount) => {
      writer.u8(ago);
      writer.u32(amount);
      buckets++;
    });
    writer.fill(count, buckets);
  }
};
