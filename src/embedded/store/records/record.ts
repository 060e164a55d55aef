import { crc32c } from '../../../lmdb-pages/crc32c.ts';
import type { UuidKey } from '../../codec/uuid.ts';
import { putVarint, varintSize } from '../../codec/write.ts';
import { StoreCorrupt } from './corrupt.ts';
import { getUint64, putUint64 } from './keys.ts';

/** Uses the stream name or the type only. */
export type Filter = (record: Buffer) => boolean;

// A value of `ev`:
//   0 crc u32 | 4 flags u8 | 5 streamNo u32 | 9 nameStart u16 | 11 nameLen u16 | 13 typeStart u16 | 15 typeLen u16
//   17 dataLen u32 | 21 revision u64 | 29 created f64 ms | 37 id 16 B | 53 RecordedEvent without its id field
// Name and type are read where they are in the RecordedEvent, which ends with the event's data. The checksum covers the
// position (the key) and everything after itself, so that a misplaced record is found. Integers are big-endian.
const CRC = 0;
const FLAGS = 4;
const STREAM_NO = 5;
const NAME_START = 9;
const NAME_LENGTH = 11;
const TYPE_START = 13;
const TYPE_LENGTH = 15;
const DATA_LENGTH = 17;
const REVISION = 21;
const CREATED = 29;
export const ID = 37;
/** Start of the stored fields of the RecordedEvent, which end with the record. */
export const RECORDED = 53;

const FLAG_JSON = 1;
const FLAG_LINK = 2;

/** 2^63 - 1 on the wire; here its nearest double. */
export const TOMBSTONE_REVISION = 2 ** 63;
const TOMBSTONE_WIRE = 2n ** 63n - 1n;

const CONTENT_TYPE = Buffer.from('content-type');
const JSON_TYPE = Buffer.from('application/json');
const BINARY_TYPE = Buffer.from('application/octet-stream');
const TYPE = Buffer.from('type');
const CREATED_KEY = Buffer.from('created');

export interface NewRecord {
  readonly position: number;
  readonly streamNo: number;
  readonly name: Uint8Array;
  readonly revision: number;
  readonly id: UuidKey;
  readonly type: Uint8Array;
  readonly json: boolean;
  readonly metadata: Uint8Array;
  readonly data: Uint8Array;
  /** Wall clock, whole milliseconds. */
  readonly created: number;
}

const wireRevision = (revision: number) => (revision >= TOMBSTONE_REVISION ? TOMBSTONE_WIRE : revision);

/** `$>`, whose data is `revision@stream`. */
function isLinkType(type: Uint8Array): boolean {
  return type.length === 2 && type[0] === 0x24 && type[1] === 0x3e;
}

function entrySize(key: Uint8Array, valueLength: number): number {
  return 2 + key.length + 1 + varintSize(valueLength) + valueLength;
}

export function recordSize(record: NewRecord): number {
  const { name, type, metadata, data, position } = record;
  const nameField = 1 + varintSize(name.length) + name.length;
  const map = [
    entrySize(TYPE, type.length),
    entrySize(CONTENT_TYPE, record.json ? JSON_TYPE.length : BINARY_TYPE.length),
    entrySize(CREATED_KEY, ticks(record.created).length),
  ];
  let size = RECORDED;
  size += 1 + varintSize(nameField) + nameField;
  size += 1 + varintSize(wireRevision(record.revision)) + 2 * (1 + varintSize(position));
  for (const entry of map) size += 1 + varintSize(entry) + entry;
  if (metadata.length > 0) size += 1 + varintSize(metadata.length) + metadata.length;
  if (data.length > 0) size += 1 + varintSize(data.length) + data.length;
  return size;
}

/** 100-ns ticks since the Unix epoch, decimal. */
function ticks(ms: number): string {
  return `${ms}0000`;
}

/** Writes a record, for which there must be `recordSize` bytes. */
export function encodeRecord(out: Buffer, start: number, record: NewRecord): void {
  const { name, type, metadata, data, position } = record;
  out[start + FLAGS] = (record.json ? FLAG_JSON : 0) | (isLinkType(type) ? FLAG_LINK : 0);
  out.writeUInt32BE(record.streamNo, start + STREAM_NO);
  out.writeUInt16BE(name.length, start + NAME_LENGTH);
  out.writeUInt16BE(type.length, start + TYPE_LENGTH);
  out.writeUInt32BE(data.length, start + DATA_LENGTH);
  putUint64(out, start + REVISION, record.revision);
  out.writeDoubleBE(record.created, start + CREATED);
  out.write(record.id, start + ID, 16, 'latin1');
  let at = start + RECORDED;
  at = putBytes(out, at, 0x12, 1 + varintSize(name.length) + name.length);
  at = putBytes(out, at, 0x1a, name.length);
  out.writeUInt16BE(at - start, start + NAME_START);
  out.set(name, at);
  at += name.length;
  out[at++] = 0x18;
  at = putVarint(out, at, wireRevision(record.revision));
  out[at++] = 0x20;
  at = putVarint(out, at, position);
  out[at++] = 0x28;
  at = putVarint(out, at, position);
  at = putEntry(out, at, TYPE, type);
  out.writeUInt16BE(at - type.length - start, start + TYPE_START);
  at = putEntry(out, at, CONTENT_TYPE, record.json ? JSON_TYPE : BINARY_TYPE);
  const created = ticks(record.created);
  at = putBytes(out, at, 0x32, entrySize(CREATED_KEY, created.length));
  at = putBytes(out, at, 0x0a, CREATED_KEY.length);
  out.set(CREATED_KEY, at);
  at = putBytes(out, at + CREATED_KEY.length, 0x12, created.length);
  at += out.write(created, at, created.length, 'latin1');
  if (metadata.length > 0) {
    at = putBytes(out, at, 0x3a, metadata.length);
    out.set(metadata, at);
    at += metadata.length;
  }
  if (data.length > 0) {
    at = putBytes(out, at, 0x42, data.length);
    out.set(data, at);
    at += data.length;
  }
  out.writeUInt32BE(checksum(out, start, at, position), start + CRC);
}

function putBytes(out: Uint8Array, at: number, tag: number, length: number): number {
  out[at] = tag;
  return putVarint(out, at + 1, length);
}

function putEntry(out: Uint8Array, at: number, key: Uint8Array, value: Uint8Array): number {
  at = putBytes(out, at, 0x32, entrySize(key, value.length));
  at = putBytes(out, at, 0x0a, key.length);
  out.set(key, at);
  at = putBytes(out, at + key.length, 0x12, value.length);
  out.set(value, at);
  return at + value.length;
}

const keyScratch = Buffer.alloc(8);

function checksum(bytes: Uint8Array, start: number, end: number, position: number): number {
  putUint64(keyScratch, 0, position);
  return crc32c(bytes, start + FLAGS, end, crc32c(keyScratch, 0, 8));
}

/** @throws StoreCorrupt unless this record was written at this position */
export function verifyRecord(record: Buffer, length: number, position: number): void {
  if (length <= RECORDED || record.readUInt32BE(CRC) !== checksum(record, 0, length, position)) {
    throw new StoreCorrupt(`The record at position ${position} is damaged.`);
  }
}

// For a verified record at offset 0. LMDB's read buffer is longer than the record, so `length` is passed.
export const streamNoOf = (record: Buffer) => record.readUInt32BE(STREAM_NO);
export const revisionOf = (record: Buffer) => getUint64(record, REVISION);
export const createdOf = (record: Buffer) => record.readDoubleBE(CREATED);
export const isLink = (record: Buffer) => (record[FLAGS]! & FLAG_LINK) !== 0;
export const idOf = (record: Buffer): UuidKey => record.toString('latin1', ID, ID + 16);
export const nameStart = (record: Buffer) => record.readUInt16BE(NAME_START);
export const nameEnd = (record: Buffer) => nameStart(record) + record.readUInt16BE(NAME_LENGTH);
export const typeStart = (record: Buffer) => record.readUInt16BE(TYPE_START);
export const typeEnd = (record: Buffer) => typeStart(record) + record.readUInt16BE(TYPE_LENGTH);
export const nameOf = (record: Buffer) => record.toString('utf8', nameStart(record), nameEnd(record));
export const dataStart = (record: Buffer, length: number) => length - record.readUInt32BE(DATA_LENGTH);
