import { Packr, RESERVE_START_SPACE } from 'msgpackr';
import { crc32c } from '../../lmdb-pages/crc32c.ts';

// A row as it is in the file:
//   0 mark u8 | 1 sum of its table and key u32 | 5 sum of that and of what follows u32 | 9 the row in MessagePack
// The sums are CRC-32C, compared by every read and by the walk of the file. MessagePack never begins with the mark, which
// distinguishes the rows of releases without checksums.
const MARK = 0xc1;
const KEY_SUM = 1;
const ROW_SUM = 5;
const ROW = 9;

/** Without shared structures, so that any thread or process can read a row by itself. */
const packr = new Packr({ useRecords: false });

export class DamagedRow extends Error {
  override readonly name = 'DamagedRow';
}

/** The checksum of a table's name, with which those of its rows begin. */
export const sumOfTable = (table: string): number => {
  const name = Buffer.from(table);
  return crc32c(name, 0, name.length);
};

const scratch = Buffer.alloc(2_048);
/** Characters that lmdb-js writes as single equal bytes, except the first character of a key. */
const [firstPlain, endOfPlain] = [28, 0x80];

/** The checksum over the bytes that lmdb-js writes for the key. */
const sumOfKey = (table: number, key: string): number => {
  const { length } = key;
  for (let i = 0; i < length; i++) {
    const code = key.charCodeAt(i);
    if (code < firstPlain || code >= endOfPlain || i === scratch.length) return sumOfRareKey(table, key);
    scratch[i] = code;
  }
  return length === 0 ? sumOfRareKey(table, key) : crc32c(scratch, 0, length, table);
};

const sumOfRareKey = (table: number, key: string): number => {
  const isEscaped = key === '' || key.charCodeAt(0) < firstPlain;
  const bytes = Buffer.from(isEscaped ? `\x1b${key}` : key);
  return crc32c(bytes, 0, bytes.length, table);
};

export const sealRow = (table: number, key: string, row: object): Buffer => {
  const bytes = packr.pack(row, RESERVE_START_SPACE | ROW);
  return sealed(table, key, bytes);
};

/** Adds checksums to the bytes of a row without them. */
export const sealPlainRow = (table: number, key: string, row: Buffer): Buffer => {
  const bytes = Buffer.allocUnsafe(ROW + row.length);
  row.copy(bytes, ROW);
  return sealed(table, key, bytes);
};

const sealed = (table: number, key: string, bytes: Buffer): Buffer => {
  const sum = sumOfKey(table, key);
  bytes[0] = MARK;
  bytes.writeUInt32LE(sum, KEY_SUM);
  bytes.writeUInt32LE(crc32c(bytes, ROW, bytes.length, sum), ROW_SUM);
  return bytes;
};

export const isSealed = (bytes: Buffer): boolean => bytes[0] === MARK;

/**
 * Unpacks the row of this key.
 * @param mayBePlain whether it may have no checksums
 * @throws DamagedRow
 */
export const openRow = <Row>(table: number, key: string, bytes: Buffer, mayBePlain: boolean): Row => {
  if (!isSealed(bytes) && mayBePlain) return openPlainRow(bytes);
  if (!isWhole(sumOfKey(table, key), bytes, 0, bytes.length)) throw new DamagedRow('the checksum of a row is another');
  return packr.unpack(bytes.subarray(ROW)) as Row;
};

const openPlainRow = <Row>(bytes: Buffer): Row => {
  try {
    return packr.unpack(bytes) as Row;
  } catch (cause) {
    throw new DamagedRow('a row cannot be read', { cause });
  }
};

/** Whether a row in a raw file is as written; undefined for a row without checksums. */
export const isAsWritten = (
  table: number,
  key: Buffer,
  keyStart: number,
  keyEnd: number,
  row: Buffer,
  start: number,
  length: number,
): boolean | undefined => {
  if (row[start] !== MARK) return undefined;
  return isWhole(crc32c(key, keyStart, keyEnd, table), row, start, start + length);
};

const isWhole = (keySum: number, row: Buffer, start: number, end: number): boolean =>
  end - start > ROW &&
  row[start] === MARK &&
  row.readUInt32LE(start + KEY_SUM) === keySum &&
  row.readUInt32LE(start + ROW_SUM) === crc32c(row, start + ROW, end, keySum);
