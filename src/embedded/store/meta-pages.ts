import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { StoreCorrupt } from './corrupt.ts';

// LMDB keeps two meta pages, written in turn: transaction n on page n mod 2. It trusts them blindly: a page of zeros
// kills the process, and a flipped bit in a transaction id opens the previous commit without a word. Offsets within
// a page, for the 64-bit little-endian platforms that lmdb-js has binaries for:
const MAGIC = 24;
const VERSION = 28;
const PAGE_SIZE = 48;
const FLAGS = 52;
const MAIN_ROOT = 136;
const LAST_PAGE = 144;
const TRANSACTION = 152;
const PAGE_END = 160;
const LMDB_MAGIC = 0xbeefc0de;
/** Another one kills the process as well: lmdb-js does not get over the error. */
const LMDB_VERSION = 2;
/** A file of its own, numbers for keys of the free list. One bit more says that the file is encrypted, which kills too. */
const LMDB_FLAGS = 0x4008;
// Every page begins with its own number and the transaction that wrote it. A commit rewrites the root of the main
// table, and that root is not used again before the commit after the next: so each of the two meta pages bears the
// same transaction as its root. Where a flipped bit makes the two change places (n with n - 1 becomes n - 2 with n - 1,
// or n with n + 1), the difference is still one, and this alone finds it, on whichever of the two was hit.
const WRITTEN_BY = 8;
const PAGE_HEADER = 16;
const NO_PAGE = 2n ** 64n - 1n;
/** More than any file has; beyond it an offset is no number that a file can be read at. */
const HIGHEST_PAGE = 2n ** 40n;

export interface CheckedFile {
  /**
   * Whether the file is shorter than its pages, which is allowed when the last ones are free, and otherwise a truncation
   * that only reading everything, in another process, can find out.
   */
  readonly short: boolean;
  /** The last one; 0 where nothing has been committed. */
  readonly transaction: bigint;
}

const NOTHING: CheckedFile = { short: false, transaction: 0n };

interface Meta {
  readonly transaction: bigint;
  readonly pageSize: number;
  readonly root: bigint;
  readonly lastPage: bigint;
}

/**
 * Checks the raw meta pages of an LMDB file before LMDB opens it; a file that does not exist or is empty is fine.
 * @throws StoreCorrupt
 */
export function checkMetaPages(file: string): CheckedFile {
  if (!existsSync(file)) return NOTHING;
  const descriptor = openSync(file, 'r');
  try {
    const { size } = fstatSync(descriptor);
    if (size === 0) return NOTHING;
    const first = readMeta(descriptor, 0, 0, file);
    const second = readMeta(descriptor, first.pageSize, 1, file);
    const fresh = first.transaction === 0n && second.transaction === 0n;
    const difference = first.transaction - second.transaction;
    const sound =
      first.pageSize === second.pageSize &&
      (fresh ||
        ((difference === 1n || difference === -1n) && first.transaction % 2n === 0n && second.transaction % 2n === 1n));
    if (!sound) throw damaged(file);
    if (!hasOwnRoot(descriptor, first) || !hasOwnRoot(descriptor, second)) throw damaged(file);
    const newest = difference > 0n ? first : second;
    return {
      short: BigInt(size) < (newest.lastPage + 1n) * BigInt(newest.pageSize),
      transaction: newest.transaction,
    };
  } finally {
    closeSync(descriptor);
  }
}

function readMeta(descriptor: number, offset: number, page: number, file: string): Meta {
  const bytes = Buffer.alloc(PAGE_END);
  const read = readSync(descriptor, bytes, 0, PAGE_END, offset);
  if (read !== PAGE_END || bytes.readUInt32LE(MAGIC) !== LMDB_MAGIC || bytes.readBigUInt64LE(0) !== BigInt(page)) {
    throw damaged(file);
  }
  if (bytes.readUInt32LE(VERSION) !== LMDB_VERSION || bytes.readUInt16LE(FLAGS) !== LMDB_FLAGS) throw damaged(file);
  const pageSize = bytes.readUInt32LE(PAGE_SIZE);
  if (pageSize < 256 || pageSize > 65_536 || (pageSize & (pageSize - 1)) !== 0) throw damaged(file);
  return {
    pageSize,
    root: bytes.readBigUInt64LE(MAIN_ROOT),
    lastPage: bytes.readBigUInt64LE(LAST_PAGE),
    transaction: bytes.readBigUInt64LE(TRANSACTION),
  };
}

function hasOwnRoot(descriptor: number, meta: Meta): boolean {
  if (meta.root === NO_PAGE) return true;
  if (meta.root > meta.lastPage || meta.root > HIGHEST_PAGE) return false;
  const bytes = Buffer.alloc(PAGE_HEADER);
  if (readSync(descriptor, bytes, 0, PAGE_HEADER, meta.root * BigInt(meta.pageSize)) !== PAGE_HEADER) return false;
  return bytes.readBigUInt64LE(0) === meta.root && bytes.readBigUInt64LE(WRITTEN_BY) === meta.transaction;
}

function damaged(file: string): StoreCorrupt {
  return new StoreCorrupt(`The meta pages of ${file} are damaged.`);
}
