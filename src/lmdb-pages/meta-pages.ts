import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { DamagedFile } from './damaged-file.ts';

// LMDB keeps two meta pages, written in turn: transaction n on page n mod 2. It trusts them blindly: a page of zeros
// kills the process, and a flipped bit in a transaction id opens the previous commit without a word. Offsets within
// a page, for the 64-bit little-endian platforms that lmdb-js has binaries for:
const KIND = 18;
const MAGIC = 24;
const VERSION = 28;
const MAP_SIZE = 40;
export const PAGE_SIZE = 48;
const FLAGS = 52;
const MAIN_ROOT = 136;
export const LAST_PAGE = 144;
export const TRANSACTION = 152;
const BOOT = 160;
export const META_BYTES = 168;
const META_KIND = 8;
const LMDB_MAGIC = 0xbeefc0de;
/** Another one kills the process as well: lmdb-js does not get over the error. */
const LMDB_VERSION = 2;
/** Numbers for keys of the free list. One bit more says that the file is encrypted, which kills too. */
const NUMBERS = 0x8;
const ALONE = 0x4000;
const UNFLUSHED = 0x1000;
// Every page begins with its own number and the transaction that wrote it. A commit rewrites the root of the main
// table, and that root is not used again before the commit after the next: so each of the two meta pages bears the
// same transaction as its root. Where a flipped bit makes the two change places (n with n - 1 becomes n - 2 with n - 1,
// or n with n + 1), the difference is still one, and this alone finds it, on whichever of the two was hit.
const WRITTEN_BY = 8;
const PAGE_HEADER = 16;
export const NO_PAGE = 2n ** 64n - 1n;
/** More than any file has; beyond it an offset is no number that a file can be read at. */
const HIGHEST_PAGE = 2n ** 40n;
/** More is no address. */
const LARGEST_MAP = 2n ** 46n;

/** How LMDB has been told to keep a file. */
export interface Keeping {
  /** A file of its own, and not one in a folder of its own. */
  readonly isAlone: boolean;
  /**
   * A commit can be read before it is on the disk. The last one that is has a third meta page, in the middle of the first; LMDB
   * goes back to it where the machine has been started anew since the last commit.
   */
  readonly overlaps: boolean;
}

export interface CheckedFile {
  /**
   * Whether the file is shorter than its pages, which is allowed when the last ones are free, and otherwise a truncation
   * that only a walk of its pages can find out.
   */
  readonly short: boolean;
  /** The last one; 0 where nothing has been committed. */
  readonly transaction: bigint;
  readonly pageSize: number;
  /** Where the meta page is by which LMDB will open the file; undefined where there is none yet. */
  readonly place?: number;
}

const NOTHING: CheckedFile = { short: false, transaction: 0n, pageSize: 0 };

interface Meta {
  readonly place: number;
  readonly transaction: bigint;
  readonly pageSize: number;
  readonly isUnflushed: boolean;
  readonly boot: bigint;
  readonly root: bigint;
  readonly lastPage: bigint;
}

/**
 * Checks the raw meta pages of an LMDB file before LMDB opens it; a file that does not exist or is empty is fine.
 * @throws DamagedFile
 */
export function checkMetaPages(file: string, keeping: Keeping): CheckedFile {
  if (!existsSync(file)) return NOTHING;
  const descriptor = openSync(file, 'r');
  try {
    const { size } = fstatSync(descriptor);
    return size === 0 ? NOTHING : checked(descriptor, size, file, keeping);
  } finally {
    closeSync(descriptor);
  }
}

function checked(descriptor: number, size: number, file: string, keeping: Keeping): CheckedFile {
  const damaged = () => new DamagedFile(`The meta pages of ${file} are damaged.`);
  const metaAt = (place: number): Meta => {
    const meta = readMeta(descriptor, place, keeping);
    if (meta === undefined) throw damaged();
    return meta;
  };
  const pageAt = (place: number, page: number): Meta => {
    const header = Buffer.alloc(MAGIC + 8);
    const read = readSync(descriptor, header, 0, header.length, place);
    const isMeta =
      read === header.length &&
      header.readBigUInt64LE(0) === BigInt(page) &&
      header.readUInt16LE(KIND) === META_KIND &&
      header.readUInt32LE(MAGIC) === LMDB_MAGIC &&
      header.readUInt32LE(VERSION) === LMDB_VERSION;
    if (!isMeta) throw damaged();
    return metaAt(place);
  };
  const first = pageAt(0, 0);
  const second = pageAt(first.pageSize, 1);
  const isFresh = first.transaction === 0n && second.transaction === 0n;
  const difference = first.transaction - second.transaction;
  const isSound =
    first.pageSize === second.pageSize &&
    (isFresh ||
      ((difference === 1n || difference === -1n) && first.transaction % 2n === 0n && second.transaction % 2n === 1n));
  if (!isSound) throw damaged();
  const newest = difference > 0n ? first : second;
  // Where LMDB has gone back to the flushed one, both meta pages have the root of one transaction.
  if (!keeping.overlaps && !(hasOwnRoot(descriptor, first) && hasOwnRoot(descriptor, second))) throw damaged();
  const used = newest.isUnflushed && newest.boot !== bootId() ? metaAt(first.pageSize / 2) : newest;
  const isUsable = used.pageSize === first.pageSize && used.transaction <= newest.transaction;
  if (!isUsable || !hasOwnRoot(descriptor, used)) throw damaged();
  return {
    short: BigInt(size) < (used.lastPage + 1n) * BigInt(used.pageSize),
    transaction: used.transaction,
    pageSize: used.pageSize,
    place: used.place,
  };
}

/** Undefined where it cannot be one. */
function readMeta(descriptor: number, place: number, { isAlone, overlaps }: Keeping): Meta | undefined {
  const bytes = Buffer.alloc(META_BYTES);
  if (readSync(descriptor, bytes, 0, META_BYTES, place) !== META_BYTES) return undefined;
  const flags = bytes.readUInt16LE(FLAGS);
  if ((flags & ~(overlaps ? UNFLUSHED : 0)) !== (NUMBERS | (isAlone ? ALONE : 0))) return undefined;
  const pageSize = bytes.readUInt32LE(PAGE_SIZE);
  if (pageSize < 256 || pageSize > 65_536 || (pageSize & (pageSize - 1)) !== 0) return undefined;
  if (bytes.readBigUInt64LE(MAP_SIZE) > LARGEST_MAP) return undefined;
  return {
    place,
    pageSize,
    isUnflushed: (flags & UNFLUSHED) !== 0,
    boot: bytes.readBigInt64LE(BOOT),
    root: bytes.readBigUInt64LE(MAIN_ROOT),
    lastPage: bytes.readBigUInt64LE(LAST_PAGE),
    transaction: bytes.readBigUInt64LE(TRANSACTION),
  };
}

function hasOwnRoot(descriptor: number, meta: Meta): boolean {
  if (meta.lastPage > HIGHEST_PAGE) return false;
  if (meta.root === NO_PAGE) return true;
  if (meta.root > meta.lastPage) return false;
  const bytes = Buffer.alloc(PAGE_HEADER);
  if (readSync(descriptor, bytes, 0, PAGE_HEADER, meta.root * BigInt(meta.pageSize)) !== PAGE_HEADER) return false;
  return bytes.readBigUInt64LE(0) === meta.root && bytes.readBigUInt64LE(WRITTEN_BY) === meta.transaction;
}

/** By what lmdb-js tells one run of the machine from another; null where there is nothing to tell it by. */
function bootId(): bigint | null {
  const [digits] = /^[0-9a-f]+/i.exec(bootText()) ?? [];
  return digits === undefined ? null : BigInt(`0x${digits}`);
}

function bootText(): string {
  try {
    if (process.platform === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1');
    return execFileSync('sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'latin1' });
  } catch {
    return '';
  }
}
