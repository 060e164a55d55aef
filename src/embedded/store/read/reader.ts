import type { UuidKey } from '../../codec/uuid.ts';
import type { Faults } from '../../faults.ts';
import { type LogFiles, lastKey } from '../database.ts';
import type { Stream } from '../index/streams.ts';
import { StoreCorrupt } from '../records/corrupt.ts';
import { getUint64, positionKey, revisionKey } from '../records/keys.ts';
import { createdOf, idOf, revisionOf, streamNoOf, verifyRecord } from '../records/record.ts';

/** A verified record in LMDB's read buffer: valid until the next read. */
export interface RecordView {
  readonly bytes: Buffer;
  readonly length: number;
}

/** Reads committed records synchronously and checks their checksums. */
export class Reader {
  /** The end of the committed log. Set by the writer. */
  head: number;
  private readonly files: LogFiles;
  private readonly faults: Faults;

  constructor(files: LogFiles, faults: Faults, head: number) {
    this.files = files;
    this.faults = faults;
    this.head = head;
  }

  /** The record at this position, if one begins there. */
  at(position: number): RecordView | undefined {
    const value = this.files.ev.getBinaryFast(positionKey(position));
    if (value === undefined) return undefined;
    const bytes = Buffer.isBuffer(value) ? value : Buffer.from(value as Uint8Array);
    const length = value.length;
    if (!this.faults.skipChecksums) verifyRecord(bytes, length, position);
    return { bytes, length };
  }

  positionOf(stream: Stream, revision: number): number | undefined {
    const value = this.files.sx.getBinaryFast(revisionKey(stream.number, revision));
    return value === undefined ? undefined : getUint64(value, 0);
  }

  /** The event at this revision, verified; undefined when the index has none. */
  event(stream: Stream, revision: number): (RecordView & { readonly position: number }) | undefined {
    // A purged event keeps its index entry if it is the stream's newest.
    const position = revision < stream.first ? undefined : this.positionOf(stream, revision);
    if (position === undefined) return undefined;
    let record: RecordView | undefined;
    try {
      record = this.at(position);
    } catch (error) {
      if (!(error instanceof StoreCorrupt)) throw error;
      throw new StoreCorrupt(`Event ${revision} of ${stream.name}, at position ${position}, is damaged.`);
    }
    if (record === undefined) throw missing(position);
    if (streamNoOf(record.bytes) !== stream.number || revisionOf(record.bytes) !== revision) {
      throw new StoreCorrupt(`The index of ${stream.name} points to another event at position ${position}.`);
    }
    return { ...record, position };
  }

  idAt(stream: Stream, revision: number): { id: UuidKey; position: number } | undefined {
    const found = this.event(stream, revision);
    return found && { id: idOf(found.bytes), position: found.position };
  }

  /** First position from here on where a record begins; otherwise the head. */
  private seek(position: number): number {
    for (const key of this.files.ev.getKeys({ start: Buffer.from(positionKey(position)), limit: 1 })) {
      return Math.min(getUint64(key, 0), this.head);
    }
    return this.head;
  }

  /** Whether everything between these positions was removed. */
  isGap(from: number, to: number): boolean {
    let at = from;
    while (at < to) {
      const key = lastKey(this.files.gaps, Buffer.from(positionKey(at)));
      if (key === undefined) return false;
      const start = getUint64(key, 0);
      const end = start + getUint64(this.files.gaps.get(key)!, 0);
      if (end <= at) return false;
      at = end;
    }
    return true;
  }

  /** The position after a record or a removed part. @throws StoreCorrupt for a hole */
  behind(position: number): number {
    const record = this.at(position);
    return record === undefined ? this.next(position) : position + record.length;
  }

  /** The next record's position, or the head, from a removed part. @throws StoreCorrupt for a hole */
  next(position: number): number {
    const next = this.seek(position);
    if (next === position && next < this.head) {
      // Either it was committed after the snapshot was taken, or its key is damaged and can be listed but not found.
      this.files.root.resetReadTxn();
      if (this.at(position) === undefined) throw missing(position);
    }
    if (!this.isGap(position, next)) throw missing(position);
    return next;
  }

  before(position: number, limit: number): number[] {
    if (position <= 1) return [];
    const start = Buffer.from(positionKey(Math.min(position, this.head) - 1));
    const positions: number[] = [];
    for (const key of this.files.ev.getKeys({ start, reverse: true, limit })) positions.push(getUint64(key, 0));
    return positions;
  }

  /** Whether the position is strictly inside a record. Gaps between records are allowed. */
  isInside(position: number): boolean {
    if (position >= this.head) return false;
    const key = lastKey(this.files.ev, Buffer.from(positionKey(position)));
    if (key === undefined) return false;
    const start = getUint64(key, 0);
    if (start === position) return false;
    const record = this.at(start);
    return record !== undefined && position < start + record.length;
  }
}

export function missing(position: number): StoreCorrupt {
  return new StoreCorrupt(`The record at position ${position} is missing.`);
}

/** Whether `$maxAge` (milliseconds) hides the record. */
export function isExpired(record: Buffer, maxAge: number | undefined, now: number): boolean {
  return maxAge !== undefined && createdOf(record) < now - maxAge;
}
