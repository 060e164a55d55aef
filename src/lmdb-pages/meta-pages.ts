import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { DamagedFile } from './damaged-file.ts';

// LMDB writes two meta pages in turn: transaction n on page n mod 2. It trusts them: a page of zeros kills the
// process, and a flipped bit in a transaction id silently opens the previous commit. Offsets within a page, on the
// 64-bit little-endian platforms of lmdb-js:
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
/** Any other kills the process, because lmdb-js does not survive the error. */
const LMDB_VERSION = 2;
/** Numeric keys of the free list. One bit more would mean an encrypted file, which kills the process too. */
const NUMBERS = 0x8;
const ALONE = 0x4000;
const UNFLUSHED = 0x1000;
// A page begins with its number and the transaction that wrote it. A commit rewrites the root of the main table, and
// that root is not reused before the next but one commit, so each meta page has the transaction of its root. If a
// flipped bit swaps the order of the two meta pages (n, n-1 becomes n-2, n-1; or n, n+1), their difference is still
// one; only this check finds it.
const WRITTEN_BY = 8;
const PAGE_HEADER = 16;
export const NO_PAGE = 2n ** 64n - 1n;
/** Beyond this an offset is no safe integer. */
const HIGHEST_PAGE = 2n ** 40n;
/** Beyond this the size is no address. */
const LARGEST_MAP = 2n ** 46n;

export interface Keeping {
  /** `noSubdir` */
  readonly isAlone: boolean;
  /**
   * `overlappingSync`: commits can be read before they are on disk. The last flushed one has a third meta page, in the
   * middle of the first; LMDB returns to it if the machine was restarted since.
   */
  readonly overlaps: boolean;
}

export interface CheckedFile {
  /** The last pages are missing: allowed if they are free. */
  readonly short: boolean;
  /** 0 if nothing has been committed. */
  readonly transaction: bigint;
  readonly pageSize: number;
  /** Offset of the meta page that LMDB will use; undefined for an empty file. */
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

/** @throws DamagedFile */
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
  // After a return to the flushed commit, both meta pages have the same root.
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

/** How lmdb-js tells one boot of the machine from another; null if it cannot. */
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
