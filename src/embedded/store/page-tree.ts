import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { StoreCorrupt } from './corrupt.ts';
import { crc32c } from './crc32c.ts';

// LMDB believes whatever its pages say. A leaf that was swapped for another, is a version older, or has a flipped bit
// in its header loses keys without a word: searches miss them, scans end early, and no record's checksum is ever asked.
// So before LMDB opens the file, all its trees are walked once in the raw file (about 0.4 s for a million events). Every
// page must be the one its parent names, be named once, hold keys in order within the bounds its parents give, and the
// entries must be as many as the tree's own count says. On little-endian 64-bit platforms, as lmdb-js ships:
//   page   number u64 | transaction u64 | pad u16 | flags u16 | lower u16, upper u16 (or pages u32) | offsets u16 …
//   node   low u16 | high u16 | flags u16 | key length u16 | key | data          offsets count from behind the header
//   tree   pad u32 | flags u16 | depth u16 | branch, leaf, overflow pages u64 | entries u64 | root u64
const HEADER = 24;
const FLAGS = 18;
const LOWER = 20;
const UPPER = 22;
const NODE = 8;
const BRANCH = 1;
const LEAF = 2;
const OVERFLOW = 4;
const KIND = BRANCH | LEAF | OVERFLOW;
const ON_OVERFLOW_PAGES = 1;
/** What a node has in place of data that is on overflow pages. */
const OVERFLOW_BYTES = 24;
const IS_TREE = 2;
const TREE_BYTES = 48;
const FREE_TREE = 48;
const MAIN_TREE = 96;
const LAST_PAGE = 144;
const TRANSACTION = 152;
const META_BYTES = 160;
const NO_ROOT = 2n ** 64n - 1n;
const MAX_DEPTH = 20;
/** Pages read at a time: more only pay where a table lies in the file in the order of its keys, and few do for long. */
const CHUNK_PAGES = 4;

interface Tree {
  readonly name: string;
  readonly depth: number;
  readonly branches: number;
  readonly leaves: number;
  readonly overflows: number;
  readonly entries: number;
  readonly root: bigint;
}

interface Key {
  readonly bytes: Buffer;
  readonly start: number;
  readonly length: number;
}

/** Walks the trees of an LMDB file that nobody has open for writing. @throws StoreCorrupt */
export function checkPageTrees(file: string): void {
  if (!existsSync(file)) return;
  const descriptor = openSync(file, 'r');
  try {
    if (fstatSync(descriptor).size > 0) new Walk(descriptor, file).run();
  } finally {
    closeSync(descriptor);
  }
}

class Walk {
  private readonly descriptor: number;
  private readonly file: string;
  private readonly pageSize: number;
  private readonly pages: number;
  private readonly meta: Buffer;
  private readonly seen: Uint8Array;
  private readonly chunk: Buffer;
  private chunkStart = -1;
  private chunkPages = 0;

  constructor(descriptor: number, file: string) {
    this.descriptor = descriptor;
    this.file = file;
    const first = this.readMeta(0);
    this.pageSize = first.readUInt32LE(FREE_TREE);
    if (this.pageSize < 256 || this.pageSize > 65_536) throw this.damage('its page size');
    const second = this.readMeta(this.pageSize);
    this.meta = first.readBigUInt64LE(TRANSACTION) > second.readBigUInt64LE(TRANSACTION) ? first : second;
    const inFile = Math.ceil(fstatSync(descriptor).size / this.pageSize);
    this.pages = Math.min(inFile, Number(this.meta.readBigUInt64LE(LAST_PAGE)) + 1);
    this.seen = new Uint8Array(this.pages);
    this.chunk = Buffer.allocUnsafe(this.pageSize * CHUNK_PAGES);
  }

  run(): void {
    this.walk(this.tree('free pages', this.meta, FREE_TREE));
    const tables = new Map<string, Tree>();
    this.walk(this.tree('tables', this.meta, MAIN_TREE), (name, flags, bytes, at, length) => {
      if (flags !== IS_TREE || length !== TREE_BYTES) throw this.damage('a table');
      const table = name.toString('latin1').replace(/\0$/, '');
      tables.set(table, this.tree(table, bytes, at));
    });
    for (const [name, tree] of tables) this.walk(tree, name === 'sn' ? this.checkStream : undefined);
    // Each event has an entry in the index, which keeps the newest of a stream whose events were swept away.
    if ((tables.get('ev')?.entries ?? 0) > (tables.get('sx')?.entries ?? 0))
      throw this.damage('the index of its streams');
  }

  /** A name with a flipped bit would never be asked for, so its checksum would never be looked at. */
  private readonly checkStream = (name: Buffer, _: number, bytes: Buffer, at: number, length: number): void => {
    const sum = length === 17 && crc32c(bytes, at, at + 13, crc32c(name, 0, name.length));
    if (sum !== bytes.readUInt32BE(at + 13)) throw this.damage(`the entry of stream ${name.toString('utf8')}`);
  };

  private readMeta(offset: number): Buffer {
    const bytes = Buffer.alloc(META_BYTES);
    if (readSync(this.descriptor, bytes, 0, META_BYTES, offset) !== META_BYTES) throw this.damage('its meta pages');
    return bytes;
  }

  private tree(name: string, bytes: Buffer, at: number): Tree {
    return {
      name,
      depth: bytes.readUInt16LE(at + 6),
      branches: Number(bytes.readBigUInt64LE(at + 8)),
      leaves: Number(bytes.readBigUInt64LE(at + 16)),
      overflows: Number(bytes.readBigUInt64LE(at + 24)),
      entries: Number(bytes.readBigUInt64LE(at + 32)),
      root: bytes.readBigUInt64LE(at + 40),
    };
  }

  private walk(
    tree: Tree,
    onEntry?: (key: Buffer, flags: number, bytes: Buffer, data: number, length: number) => void,
  ): void {
    const count = { branches: 0, leaves: 0, overflows: 0, entries: 0 };
    const compare: Compare = tree.name === 'free pages' ? compareNumbers : compareBytes;
    const damage = (page: number) => this.damage(`page ${page} of ${tree.name}`);

    const visit = (number: number, depth: number, low: Key | undefined, high: Key | undefined): void => {
      const kind = depth === tree.depth ? LEAF : BRANCH;
      const start = this.page(number, kind, tree.name);
      // A branch is needed while its children come through the same buffer; a leaf is done with at once.
      const bytes = kind === LEAF ? this.chunk : Buffer.from(this.chunk.subarray(start, start + this.pageSize));
      const base = (kind === LEAF ? start : 0) + HEADER;
      const end = base - HEADER + this.pageSize;
      const nodes = uint16(bytes, base - HEADER + LOWER) >> 1;
      const first = base + 2 * nodes;
      if (nodes === 0 || first > end) throw damage(number);
      /** Bytes that its nodes take, at the end of the page. */
      const held = end - base - uint16(bytes, base - HEADER + UPPER);
      let filled = 0;
      const nodeAt = (i: number): number => {
        const node = base + uint16(bytes, base + 2 * i);
        if (node < first || node + NODE + uint16(bytes, node + 6) > end) throw damage(number);
        return node;
      };
      if (kind === BRANCH) {
        count.branches++;
        for (let i = 0; i < nodes; i++) {
          // The first child has no separator of its own.
          const from = i === 0 ? low : keyOf(bytes, nodeAt(i));
          const to = i + 1 < nodes ? keyOf(bytes, nodeAt(i + 1)) : high;
          if (from && to && compare(from.bytes, from.start, from.length, to.bytes, to.start, to.length) >= 0) {
            throw damage(number);
          }
          const node = nodeAt(i);
          filled += even(NODE + uint16(bytes, node + 6));
          visit(sizeOf(bytes, node) + uint16(bytes, node + 4) * 2 ** 32, depth + 1, from, to);
        }
        if (filled !== held) throw damage(number);
        return;
      }
      count.leaves++;
      count.entries += nodes;
      let before = 0;
      let beforeLength = 0;
      const overflows: [number, number][] = [];
      for (let i = 0; i < nodes; i++) {
        const node = nodeAt(i);
        const key = node + NODE;
        const keyLength = uint16(bytes, node + 6);
        if (i > 0) {
          if (compare(bytes, before, beforeLength, bytes, key, keyLength) >= 0) throw damage(number);
        } else if (low && compare(low.bytes, low.start, low.length, bytes, key, keyLength) > 0) throw damage(number);
        before = key;
        beforeLength = keyLength;
        const flags = uint16(bytes, node + 4);
        const data = key + keyLength;
        const length = sizeOf(bytes, node);
        filled += even(NODE + keyLength + (flags & ON_OVERFLOW_PAGES ? OVERFLOW_BYTES : length));
        if (flags & ON_OVERFLOW_PAGES) {
          if (data + OVERFLOW_BYTES > end) throw damage(number);
          overflows.push([Number(bytes.readBigUInt64LE(data)), Math.ceil((HEADER + length) / this.pageSize)]);
        } else {
          if (data + length > end) throw damage(number);
          onEntry?.(bytes.subarray(key, data), flags, bytes, data, length);
        }
      }
      if (filled !== held) throw damage(number);
      if (high && compare(bytes, before, beforeLength, high.bytes, high.start, high.length) >= 0) throw damage(number);
      for (const [page, pages] of overflows) count.overflows += this.overflow(page, pages, tree.name);
    };

    if (tree.root !== NO_ROOT) {
      if (tree.depth === 0 || tree.depth > MAX_DEPTH) throw this.damage(`the depth of ${tree.name}`);
      visit(Number(tree.root), 1, undefined, undefined);
    }
    if (
      count.entries !== tree.entries ||
      count.leaves !== tree.leaves ||
      count.branches !== tree.branches ||
      count.overflows !== tree.overflows
    ) {
      throw this.damage(`${tree.name}, which counts ${tree.entries} entries and has ${count.entries},`);
    }
  }

  /** Has the page in the buffer, as the one it is said to be; returns where. */
  private page(number: number, kind: number, tree: string): number {
    const damage = () => this.damage(`page ${number} of ${tree}`);
    if (!(number >= 2 && number < this.pages) || this.seen[number] !== 0) throw damage();
    this.seen[number] = 1;
    if (number < this.chunkStart || number >= this.chunkStart + this.chunkPages || this.chunkStart < 0) {
      this.chunkStart = number;
      const read = readSync(this.descriptor, this.chunk, 0, this.chunk.length, number * this.pageSize);
      this.chunkPages = Math.floor(read / this.pageSize);
      if (this.chunkPages === 0) throw damage();
    }
    const start = (number - this.chunkStart) * this.pageSize;
    if (this.chunk.readBigUInt64LE(start) !== BigInt(number)) throw damage();
    if ((this.chunk.readUInt16LE(start + FLAGS) & KIND) !== kind) throw damage();
    return start;
  }

  /** How many pages hold data that needs so many: more where LMDB has put less into those of what was there before. */
  private overflow(first: number, needed: number, tree: string): number {
    const start = this.page(first, OVERFLOW, tree);
    const pages = this.chunk.readUInt32LE(start + LOWER);
    if (pages < needed || first + pages > this.pages) {
      throw this.damage(`page ${first} of ${tree}`);
    }
    for (let page = first + 1; page < first + pages; page++) {
      if (this.seen[page] !== 0) throw this.damage(`page ${page} of ${tree}`);
      this.seen[page] = 1;
    }
    return pages;
  }

  private damage(what: string): StoreCorrupt {
    return new StoreCorrupt(`${this.file} is damaged: ${what} cannot be right.`);
  }
}

const uint16 = (bytes: Buffer, at: number): number => bytes[at]! | (bytes[at + 1]! << 8);
/** The size of a leaf's value, or the low half of a branch's child. */
const sizeOf = (bytes: Buffer, node: number): number => uint16(bytes, node) + uint16(bytes, node + 2) * 2 ** 16;
/** Nodes begin at even places. */
const even = (size: number): number => size + (size & 1);
const keyOf = (bytes: Buffer, node: number): Key => ({ bytes, start: node + NODE, length: uint16(bytes, node + 6) });

type Compare = (a: Buffer, start: number, length: number, b: Buffer, startB: number, lengthB: number) => number;

const compareBytes: Compare = (a, start, length, b, startB, lengthB) => {
  const common = Math.min(length, lengthB);
  for (let i = 0; i < common; i++) {
    const difference = a[start + i]! - b[startB + i]!;
    if (difference !== 0) return difference;
  }
  return length - lengthB;
};

/** The free pages are kept by transaction, in the machine's byte order. */
const compareNumbers: Compare = (a, start, length, b, startB, lengthB) => {
  if (length !== 8 || lengthB !== 8) return 1;
  const difference = a.readBigUInt64LE(start) - b.readBigUInt64LE(startB);
  return difference < 0n ? -1 : Number(difference > 0n);
};
