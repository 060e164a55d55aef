import { NO_PAGE } from './meta-pages.ts';
import { BRANCH, HEADER, LEAF, LOWER, type PageFile, UPPER } from './page-file.ts';

// On little-endian 64-bit platforms, as lmdb-js ships:
//   node   low u16 | high u16 | flags u16 | key length u16 | key | data          offsets count from behind the header
//   tree   pad u32 | flags u16 | depth u16 | branch, leaf, overflow pages u64 | entries u64 | root u64
const NODE = 8;
const ON_OVERFLOW_PAGES = 1;
export const IS_TREE = 2;
/** Size of the reference that a node has to a value on overflow pages. */
const OVERFLOW_BYTES = 24;
export const TREE_BYTES = 48;
const MAX_DEPTH = 20;

export interface Tree {
  readonly name: string;
  readonly owner: number;
  readonly flags: number;
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

/**
 * A value on overflow pages is there only as far as its first page. The buffers are reused.
 * @param overflow the first overflow page of the value; 0 if it is beside its key
 */
export type OnEntry = (
  key: Buffer,
  keyStart: number,
  keyEnd: number,
  value: Buffer,
  start: number,
  length: number,
  flags: number,
  overflow: number,
) => void;

export const treeAt = (name: string, owner: number, bytes: Buffer, at: number): Tree => ({
  name,
  owner,
  flags: bytes.readUInt32LE(at) === 0 ? bytes.readUInt16LE(at + 4) : -1,
  depth: bytes.readUInt16LE(at + 6),
  branches: Number(bytes.readBigUInt64LE(at + 8)),
  leaves: Number(bytes.readBigUInt64LE(at + 16)),
  overflows: Number(bytes.readBigUInt64LE(at + 24)),
  entries: Number(bytes.readBigUInt64LE(at + 32)),
  root: bytes.readBigUInt64LE(at + 40),
});

interface Page {
  readonly number: number;
  readonly bytes: Buffer;
  /** Where its offsets, its nodes and the next page begin. */
  readonly base: number;
  readonly first: number;
  readonly end: number;
  readonly nodes: number;
  /** Bytes of its nodes, which are at its end. */
  readonly held: number;
}

interface Walk {
  readonly file: PageFile;
  readonly tree: Tree;
  readonly compare: Compare;
  readonly onEntry: OnEntry | undefined;
  readonly count: { branches: number; leaves: number; overflows: number; entries: number };
}

/**
 * Every page must be the one its parent names, be named once, and hold keys in order within its parents' bounds; the
 * counts must match the tree's header. @throws DamagedFile
 */
export function walkTree(file: PageFile, tree: Tree, compare: Compare, onEntry?: OnEntry): void {
  const count = { branches: 0, leaves: 0, overflows: 0, entries: 0 };
  const isEmpty = tree.root === NO_PAGE;
  if (isEmpty ? tree.depth !== 0 : tree.depth === 0 || tree.depth > MAX_DEPTH) {
    throw file.damage(`the depth of ${tree.name}`);
  }
  if (!isEmpty) visit({ file, tree, compare, onEntry, count }, Number(tree.root), 1, undefined, undefined);
  if (
    count.entries !== tree.entries ||
    count.leaves !== tree.leaves ||
    count.branches !== tree.branches ||
    count.overflows !== tree.overflows
  ) {
    throw file.damage(`${tree.name}, which counts ${tree.entries} entries and has ${count.entries},`);
  }
}

/** `low` and `high` are the bounds that the parents give to its keys. */
function visit(walk: Walk, number: number, depth: number, low: Key | undefined, high: Key | undefined): void {
  if (depth === walk.tree.depth) walkLeaf(walk, readPage(walk, number, LEAF), low, high);
  else walkBranch(walk, readPage(walk, number, BRANCH), depth, low, high);
}

function readPage(walk: Walk, number: number, kind: typeof LEAF | typeof BRANCH): Page {
  const { pageSize, chunk } = walk.file;
  const start = walk.file.page(number, kind, walk.tree.owner, walk.tree.name);
  // A branch is used after its children have been read into the chunk; a leaf is not.
  const bytes = kind === LEAF ? chunk : Buffer.from(chunk.subarray(start, start + pageSize));
  const header = kind === LEAF ? start : 0;
  const base = header + HEADER;
  const end = header + pageSize;
  const lower = uint16(bytes, header + LOWER);
  const nodes = lower >> 1;
  const first = base + lower;
  if (nodes === 0 || lower !== 2 * nodes || first > end) throw damageOf(walk, number);
  return { number, bytes, base, first, end, nodes, held: end - base - uint16(bytes, header + UPPER) };
}

function damageOf(walk: Walk, page: number): Error {
  return walk.file.damage(`page ${page} of ${walk.tree.name}`);
}

function nodeAt(walk: Walk, { number, bytes, base, first, end }: Page, i: number): number {
  const node = base + uint16(bytes, base + 2 * i);
  if (node < first || node + NODE + uint16(bytes, node + 6) > end) throw damageOf(walk, number);
  return node;
}

function walkBranch(walk: Walk, page: Page, depth: number, low: Key | undefined, high: Key | undefined): void {
  const { number, bytes, nodes, held } = page;
  walk.count.branches++;
  let filled = 0;
  for (let i = 0; i < nodes; i++) {
    const from = i === 0 ? low : keyOf(bytes, nodeAt(walk, page, i));
    const to = i + 1 < nodes ? keyOf(bytes, nodeAt(walk, page, i + 1)) : high;
    if (from && to && walk.compare(from.bytes, from.start, from.length, to.bytes, to.start, to.length) >= 0) {
      throw damageOf(walk, number);
    }
    const node = nodeAt(walk, page, i);
    filled += even(NODE + uint16(bytes, node + 6));
    visit(walk, sizeOf(bytes, node) + uint16(bytes, node + 4) * 2 ** 32, depth + 1, from, to);
  }
  if (filled !== held) throw damageOf(walk, number);
}

function walkLeaf(walk: Walk, page: Page, low: Key | undefined, high: Key | undefined): void {
  const { number, bytes, end, nodes, held } = page;
  const compare = walk.compare;
  walk.count.leaves++;
  walk.count.entries += nodes;
  let filled = 0;
  let before = 0;
  let beforeLength = 0;
  const overflows: [page: number, length: number, key: Buffer][] = [];
  for (let i = 0; i < nodes; i++) {
    const node = nodeAt(walk, page, i);
    const key = node + NODE;
    const keyLength = uint16(bytes, node + 6);
    if (i > 0) {
      if (compare(bytes, before, beforeLength, bytes, key, keyLength) >= 0) throw damageOf(walk, number);
    } else if (low && compare(low.bytes, low.start, low.length, bytes, key, keyLength) > 0)
      throw damageOf(walk, number);
    before = key;
    beforeLength = keyLength;
    const flags = uint16(bytes, node + 4);
    const data = key + keyLength;
    const length = sizeOf(bytes, node);
    const isDistant = flags === ON_OVERFLOW_PAGES;
    const isKnown = isDistant || flags === 0 || (flags === IS_TREE && walk.onEntry !== undefined);
    const size = isDistant ? OVERFLOW_BYTES : length;
    if (!isKnown || data + size > end) throw damageOf(walk, number);
    filled += even(NODE + keyLength + size);
    if (isDistant) {
      overflows.push([Number(bytes.readBigUInt64LE(data)), length, Buffer.from(bytes.subarray(key, data))]);
    } else walk.onEntry?.(bytes, key, data, bytes, data, length, flags, 0);
  }
  if (filled !== held) throw damageOf(walk, number);
  if (high && compare(bytes, before, beforeLength, high.bytes, high.start, high.length) >= 0) {
    throw damageOf(walk, number);
  }
  for (const [first, length, key] of overflows) walkOverflow(walk, first, length, key);
}

function walkOverflow(walk: Walk, first: number, length: number, key: Buffer): void {
  const { pageSize, chunk } = walk.file;
  const needed = Math.ceil((HEADER + length) / pageSize);
  walk.count.overflows += walk.file.overflow(first, needed, walk.tree.owner, walk.tree.name);
  const start = walk.file.placeOf(first) + HEADER;
  walk.onEntry?.(key, 0, key.length, chunk, start, length, ON_OVERFLOW_PAGES, first);
}

const uint16 = (bytes: Buffer, at: number): number => bytes[at]! | (bytes[at + 1]! << 8);
/** The size of a leaf's value, or the low half of a branch's page number. */
const sizeOf = (bytes: Buffer, node: number): number => uint16(bytes, node) + uint16(bytes, node + 2) * 2 ** 16;
const even = (size: number): number => size + (size & 1);
const keyOf = (bytes: Buffer, node: number): Key => ({ bytes, start: node + NODE, length: uint16(bytes, node + 6) });

type Compare = (a: Buffer, start: number, length: number, b: Buffer, startB: number, lengthB: number) => number;

export const compareBytes: Compare = (a, start, length, b, startB, lengthB) => {
  const common = Math.min(length, lengthB);
  for (let i = 0; i < common; i++) {
    const difference = a[start + i]! - b[startB + i]!;
    if (difference !== 0) return difference;
  }
  return length - lengthB;
};

/** The free pages are keyed by transaction, in machine byte order. */
export const compareNumbers: Compare = (a, start, length, b, startB, lengthB) => {
  if (length !== 8 || lengthB !== 8) return 1;
  const difference = a.readBigUInt64LE(start) - b.readBigUInt64LE(startB);
  return difference < 0n ? -1 : Number(difference > 0n);
};
