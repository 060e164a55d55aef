import { crc32c } from '../../../lmdb-pages/crc32c.ts';
import type { UuidKey } from '../../codec/uuid.ts';
import { type LogFiles, lastKey } from '../database.ts';
import { StoreCorrupt } from '../records/corrupt.ts';
import { getUint64, positionKey, revisionKey } from '../records/keys.ts';
import { dataStart, verifyRecord } from '../records/record.ts';
import { parseMetadata, type StreamMetadata } from './metadata.ts';

export interface Uncommitted {
  readonly id: UuidKey;
  readonly position: number;
}

/** `last` and `tombstoned` include uncommitted writes and are for the writer; readers use the `committed` fields. */
export interface Stream {
  readonly name: string;
  readonly nameBytes: Buffer;
  /** 0 until the stream is first written. */
  number: number;
  last: number;
  committedLast: number;
  tombstoned: boolean;
  committedTombstone: boolean;
  /** Lowest stored revision: above 0 once `$maxAge` has removed a head, above `last` once it has removed all. */
  first: number;
  /** Events after `committedLast`. */
  uncommitted: Uncommitted[];
  /** Uncommitted batches with a write to this stream. */
  pins: number;
  /** Loaded at first use: the stream `$$` + name, and its last event. */
  metastream: Stream | undefined;
  metadata: StreamMetadata | undefined;
  committedMetadata: StreamMetadata | undefined;
}

const PREFIX = '$$';
const PER_GENERATION = 10_000;
const HIGHEST_ORDINARY = 2 ** 62;
const HIGHEST = 2 ** 63;
const VALUE_BYTES = 17;

export function isMetastreamName(name: string): boolean {
  return name.startsWith(PREFIX);
}

/** The value of `sn`: number u32, tombstone u8, first stored revision f64, CRC-32C of these and the name. */
export function encodeStream(stream: Stream): Buffer {
  const out = Buffer.alloc(VALUE_BYTES);
  out.writeUInt32BE(stream.number, 0);
  out[4] = stream.tombstoned ? 1 : 0;
  out.writeDoubleBE(stream.first, 5);
  out.writeUInt32BE(nameChecksum(stream.nameBytes, out), 13);
  return out;
}

export interface StreamEntry {
  readonly number: number;
  readonly tombstoned: boolean;
  readonly first: number;
}

/** Parses an entry of `sn`; undefined when it is damaged. */
export function decodeStream(nameBytes: Buffer, value: Buffer): StreamEntry | undefined {
  if (value.length !== VALUE_BYTES || value.readUInt32BE(13) !== nameChecksum(nameBytes, value)) return undefined;
  return { number: value.readUInt32BE(0), tombstoned: value[4] === 1, first: value.readDoubleBE(5) };
}

/** Two generations of at most 10,000 streams. A metastream is kept in its stream's entry, so that each has one object. */
export class Streams {
  private readonly files: LogFiles;
  private young = new Map<string, Stream>();
  private old = new Map<string, Stream>();

  constructor(files: LogFiles) {
    this.files = files;
  }

  get(name: string): Stream {
    if (isMetastreamName(name)) return this.metastreamOf(this.get(name.slice(PREFIX.length)));
    let stream = this.young.get(name);
    if (stream !== undefined) return stream;
    stream = this.old.get(name) ?? this.load(name);
    this.young.set(name, stream);
    if (this.young.size > PER_GENERATION) this.age();
    return stream;
  }

  metastreamOf(stream: Stream): Stream {
    if (stream.metastream !== undefined) return stream.metastream;
    const metastream = this.load(PREFIX + stream.name);
    stream.metastream = metastream;
    stream.metadata = stream.committedMetadata = this.loadMetadata(metastream);
    return metastream;
  }

  committedMetadata(stream: Stream): StreamMetadata | undefined {
    this.metastreamOf(stream);
    return stream.committedMetadata;
  }

  private age(): void {
    const kept = new Map<string, Stream>();
    for (const [name, stream] of this.old) if (isPinned(stream)) kept.set(name, stream);
    this.old = this.young;
    this.young = kept;
  }

  private load(name: string): Stream {
    const nameBytes = Buffer.from(name);
    const stream: Stream = {
      name,
      nameBytes,
      number: 0,
      last: -1,
      committedLast: -1,
      tombstoned: false,
      committedTombstone: false,
      first: 0,
      uncommitted: [],
      pins: 0,
      metastream: undefined,
      metadata: undefined,
      committedMetadata: undefined,
    };
    const value = nameBytes.length === 0 ? undefined : this.files.sn.get(nameBytes);
    if (value === undefined) return stream;
    const entry = decodeStream(nameBytes, value);
    if (entry === undefined) throw new StoreCorrupt(`The index entry of stream ${name} is damaged.`);
    stream.number = entry.number;
    stream.tombstoned = stream.committedTombstone = entry.tombstoned;
    stream.first = entry.first;
    const newest = this.newest(stream.number, HIGHEST);
    // Every stream with a number has an event or a tombstone.
    if (newest === undefined || newest > HIGHEST_ORDINARY !== entry.tombstoned) {
      throw new StoreCorrupt(`The index of stream ${name} has lost its last event.`);
    }
    const last = entry.tombstoned ? this.newest(stream.number, HIGHEST_ORDINARY) : newest;
    if (last !== undefined) stream.last = stream.committedLast = last;
    return stream;
  }

  /** The highest revision that is not above `limit`. */
  private newest(streamNo: number, limit: number): number | undefined {
    const key = lastKey(this.files.sx, revisionKey(streamNo, limit));
    return key !== undefined && key.readUInt32BE(0) === streamNo ? getUint64(key, 4) : undefined;
  }

  private loadMetadata(metastream: Stream): StreamMetadata | undefined {
    if (metastream.committedLast < 0) return undefined;
    const index = this.files.sx.get(revisionKey(metastream.number, metastream.committedLast));
    if (index === undefined) throw new StoreCorrupt(`Stream ${metastream.name} has lost its last event.`);
    const position = getUint64(index, 0);
    const record = this.files.ev.get(positionKey(position));
    if (record === undefined) throw new StoreCorrupt(`The record at position ${position} is missing.`);
    const bytes = Buffer.from(record.buffer, record.byteOffset, record.length);
    verifyRecord(bytes, bytes.length, position);
    return parseMetadata(bytes.subarray(dataStart(bytes, bytes.length)), metastream.committedLast);
  }
}

function nameChecksum(name: Buffer, value: Buffer): number {
  return crc32c(value, 0, 13, crc32c(name, 0, name.length));
}

function isPinned(stream: Stream): boolean {
  return stream.pins > 0 || (stream.metastream !== undefined && isPinned(stream.metastream));
}
