import { type LogFiles, putEnd } from '../database.ts';
import type { StreamMetadata } from '../index/metadata.ts';
import { encodeStream, type Stream } from '../index/streams.ts';
import { positionKey, putUint64, revisionKey } from '../records/keys.ts';
import { encodeRecord, type NewRecord, recordSize } from '../records/record.ts';

const MIN_SEGMENT_BYTES = 16 * 1024;
const MAX_SEGMENT_BYTES = 256 * 1024;

/** Positions only grow, and with this option LMDB fills each page instead of leaving room. */
const atEnd = { append: true } as const;
/** Puts at the end have promises of their own, which LMDB must never resolve with false. */
const expectWritten = (isWritten: boolean): void => {
  if (!isWritten) throw new Error('LMDB has refused a record at the end of the log');
};
/** A failed commit also rejects the batch. */
const toldByBatch = (): void => {};

/** An event on its way to the disk, with its record. */
export interface Written {
  readonly stream: Stream;
  readonly position: number;
  readonly revision: number;
  readonly bytes: Buffer;
}

/** Records and index entries of a stream that a commit removes. `stream.first` is updated already. */
export interface Purge {
  readonly stream: Stream;
  readonly records: readonly { readonly position: number; readonly bytes: number }[];
  readonly revisions: readonly number[];
}

/** The writes of one commit. LMDB reads their buffers from another thread, so they stay untouched until it is over. */
export class Batch {
  readonly records: Written[] = [];
  /** Metadata that this commit makes visible, by the stream that it describes. */
  readonly metadata = new Map<Stream, StreamMetadata>();
  readonly touched = new Set<Stream>();
  /** Called after the commit, in the order of the requests. */
  readonly replies: (() => void)[] = [];
  bytes = 0;
  /** The end of the log after this batch. */
  end = 0;
  private readonly changed = new Set<Stream>();
  private readonly purges: Purge[] = [];
  private readonly gaps = new Map<number, number>();
  private segment: Buffer = Buffer.alloc(0);
  private used = 0;

  add(stream: Stream, record: NewRecord): Written {
    const size = recordSize(record);
    if (size > this.segment.length - this.used) {
      // Doubles, because a full-size buffer for each small commit would load the garbage collector.
      const length = Math.min(MAX_SEGMENT_BYTES, Math.max(MIN_SEGMENT_BYTES, this.bytes));
      this.segment = Buffer.allocUnsafeSlow(Math.max(length, size));
      this.used = 0;
    }
    encodeRecord(this.segment, this.used, record);
    const bytes = this.segment.subarray(this.used, this.used + size);
    this.used += size;
    this.bytes += size;
    const written = { stream, position: record.position, revision: record.revision, bytes };
    this.records.push(written);
    this.touch(stream);
    return written;
  }

  touch(stream: Stream): void {
    if (this.touched.has(stream)) return;
    this.touched.add(stream);
    stream.pins++;
  }

  /** Marks the entry in `sn` as new or different. */
  change(stream: Stream): void {
    this.changed.add(stream);
  }

  purge(purge: Purge): void {
    this.purges.push(purge);
    this.touch(purge.stream);
    this.change(purge.stream);
  }

  /** Marks bytes of the log as empty. */
  gap(position: number, bytes: number): void {
    this.gaps.set(position, bytes);
  }

  /** There is nothing to commit, only replies to send in turn. */
  get empty(): boolean {
    return this.records.length === 0 && this.purges.length === 0;
  }

  /** Two puts an event, one more for a new, tombstoned or truncated stream. */
  put(files: LogFiles): void {
    const positions = Buffer.allocUnsafeSlow(Math.max(8, this.records.length * 8));
    let at = 0;
    for (const { stream, position, revision, bytes } of this.records) {
      files.ev.put(positionKey(position), bytes, atEnd).then(expectWritten, toldByBatch);
      putUint64(positions, at, position);
      files.sx.put(revisionKey(stream.number, revision), positions.subarray(at, at + 8));
      at += 8;
    }
    for (const { stream, records, revisions } of this.purges) {
      for (const { position, bytes } of records) {
        files.ev.remove(positionKey(position));
        this.gap(position, bytes);
      }
      for (const revision of revisions) files.sx.remove(revisionKey(stream.number, revision));
    }
    this.putGaps(files);
    if (this.end > 0) putEnd(files, this.end);
    for (const stream of this.changed) files.sn.put(stream.nameBytes, encodeStream(stream));
  }

  /** Merges adjacent gaps. */
  private putGaps(files: LogFiles): void {
    const positions = [...this.gaps.keys()].sort((a, b) => a - b);
    for (let i = 0; i < positions.length; ) {
      const start = positions[i]!;
      let end = start;
      while (positions[i] === end) end += this.gaps.get(positions[i++]!)!;
      const length = Buffer.alloc(8);
      putUint64(length, 0, end - start);
      files.gaps.put(positionKey(start), length);
    }
  }
}
