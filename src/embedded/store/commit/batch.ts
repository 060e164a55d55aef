import { type LogFiles, putEnd } from '../database.ts';
import type { StreamMetadata } from '../index/metadata.ts';
import { encodeStream, type Stream } from '../index/streams.ts';
import { positionKey, putUint64, revisionKey } from '../records/keys.ts';
import { encodeRecord, type NewRecord, recordSize } from '../records/record.ts';

const MIN_SEGMENT_BYTES = 16 * 1024;
const MAX_SEGMENT_BYTES = 256 * 1024;

/** Positions only grow. Told so, LMDB fills each page before it begins the next, where it else leaves one record's room. */
const atEnd = { append: true } as const;
/** Such a put has a promise of its own. That it was refused cannot be, and must not pass if it is: nobody catches it. */
const expectWritten = (isWritten: boolean): void => {
  if (!isWritten) throw new Error('LMDB has refused a record at the end of the log');
};
/** A commit that fails rejects the batch as well. */
const toldByBatch = (): void => {};

/** One event on its way to the disk. `bytes` is its record. */
export interface Written {
  readonly stream: Stream;
  readonly position: number;
  readonly revision: number;
  readonly bytes: Buffer;
}

/** What a commit removes of one stream: records, and entries of its index. `stream.first` says so already. */
export interface Purge {
  readonly stream: Stream;
  readonly records: readonly { readonly position: number; readonly bytes: number }[];
  readonly revisions: readonly number[];
}

/** The writes of one commit. Their buffers stay untouched until it is over: LMDB reads them from another thread. */
export class Batch {
  readonly records: Written[] = [];
  /** Metadata that becomes visible with this commit, by the stream it describes. */
  readonly metadata = new Map<Stream, StreamMetadata>();
  readonly touched = new Set<Stream>();
  /** To be called after the commit, in the order of the requests. */
  readonly replies: (() => void)[] = [];
  bytes = 0;
  /** Where the log ends after this batch. */
  end = 0;
  private readonly changed = new Set<Stream>();
  private readonly purges: Purge[] = [];
  private readonly gaps = new Map<number, number>();
  private segment: Buffer = Buffer.alloc(0);
  private used = 0;

  add(stream: Stream, record: NewRecord): Written {
    const size = recordSize(record);
    if (size > this.segment.length - this.used) {
      // As much again as there is: a buffer of the largest size for each small commit is work for the collector.
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

  /** The entry in `sn` is new or different. */
  change(stream: Stream): void {
    this.changed.add(stream);
  }

  /** Removes the head of a stream with this commit. */
  purge(purge: Purge): void {
    this.purges.push(purge);
    this.touch(purge.stream);
    this.change(purge.stream);
  }

  /** Says that from this position on so many bytes of the log are empty. */
  gap(position: number, bytes: number): void {
    this.gaps.set(position, bytes);
  }

  /** Whether there is nothing to commit, but only replies that wait for their turn. */
  get empty(): boolean {
    return this.records.length === 0 && this.purges.length === 0;
  }

  /** All puts of this batch: two an event, one more for a stream that is new, tombstoned or truncated. */
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

  /** One entry for gaps that lie side by side. */
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
