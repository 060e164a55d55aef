import { hash } from 'node:crypto';

export type Hash = Buffer;

/** `at(level, index)` is the root of the `256^level` leaves from `index · 256^level`. Level 0 are the leaves. */
export interface HashSource {
  at(level: number, index: number): Hash;
}

const pair = Buffer.alloc(65, 1);

/** RFC 6962, 2.1. */
export const nodeHash = (left: Hash, right: Hash): Hash => {
  left.copy(pair, 1);
  right.copy(pair, 33);
  return hash('sha256', pair, 'buffer');
};

export const emptyRoot: Hash = hash('sha256', '', 'buffer');

/** The largest power of two below `size`, which is at least 2. */
const split = (size: number): number => 2 ** Math.ceil(Math.log2(size) - 1);

const isPowerOf256 = (size: number): number | undefined => {
  const level = Math.log2(size) / 8;
  return Number.isInteger(level) ? level : undefined;
};

/** MTH of RFC 6962 for the leaves from `low` to before `high`. */
const rootOfRange = (source: HashSource, low: number, high: number): Hash => {
  const size = high - low;
  const level = isPowerOf256(size);
  if (level !== undefined && low % size === 0) return source.at(level, low / size);
  const half = split(size);
  return nodeHash(rootOfRange(source, low, low + half), rootOfRange(source, low + half, high));
};

export const rootOf = (source: HashSource, size: number): Hash =>
  size === 0 ? emptyRoot : rootOfRange(source, 0, size);

/** PATH of RFC 6962. `index` must be less than `size`. */
export const inclusionProof = (source: HashSource, index: number, size: number): Hash[] => {
  const path = (low: number, high: number): Hash[] => {
    if (high - low === 1) return [];
    const middle = low + split(high - low);
    return index < middle
      ? [...path(low, middle), rootOfRange(source, middle, high)]
      : [...path(middle, high), rootOfRange(source, low, middle)];
  };
  return path(0, size);
};

/** PROOF of RFC 6962: the first `older` leaves are those of the tree of `size`. */
export const consistencyProof = (source: HashSource, older: number, size: number): Hash[] => {
  const sub = (low: number, high: number, isWhole: boolean): Hash[] => {
    if (older === high) return isWhole ? [] : [rootOfRange(source, low, high)];
    const middle = low + split(high - low);
    return older <= middle
      ? [...sub(low, middle, isWhole), rootOfRange(source, middle, high)]
      : [...sub(middle, high, false), rootOfRange(source, low, middle)];
  };
  return older === 0 || older === size ? [] : sub(0, size, true);
};

/** `nodeHash` would cut a longer hash, or fill a shorter one with bytes of the last call. */
const areHashes = (hashes: readonly Buffer[]): hashes is readonly Hash[] => hashes.every(({ length }) => length === 32);

/** Follows a path up to the root (RFC 9162, 2.1.3.2 and 2.1.4.2). @returns whether it ends there */
const climbs = (
  [from, to]: readonly [node: number, last: number],
  path: readonly Hash[],
  join: (hash: Hash, isLeft: boolean) => void,
): boolean => {
  let [node, last] = [from, to];
  for (const each of path) {
    if (last === 0) return false;
    const isLeft = node % 2 === 1 || node === last;
    join(each, isLeft);
    while (isLeft && node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)];
    [node, last] = [half(node), half(last)];
  }
  return last === 0;
};

export const isIncluded = (leaf: Hash, index: number, size: number, proof: readonly Hash[], root: Hash): boolean => {
  if (index < 0 || index >= size || !areHashes([leaf, ...proof])) return false;
  let result = leaf;
  const isPath = climbs([index, size - 1], proof, (each, isLeft) => {
    result = isLeft ? nodeHash(each, result) : nodeHash(result, each);
  });
  return isPath && result.equals(root);
};

/** Whether the older tree is the beginning of the newer one. */
export const isConsistent = (
  older: { readonly size: number; readonly root: Hash },
  newer: { readonly size: number; readonly root: Hash },
  proof: readonly Hash[],
): boolean => {
  if (older.size > newer.size || !areHashes(proof)) return false;
  if (older.size === newer.size) return proof.length === 0 && older.root.equals(newer.root);
  if (older.size === 0) return proof.length === 0 && older.root.equals(emptyRoot);
  let [node, last] = [older.size - 1, newer.size - 1];
  while (node % 2 === 1) [node, last] = [half(node), half(last)];
  const [first, ...rest] = node === 0 ? [older.root, ...proof] : proof;
  if (first === undefined) return false;
  let [olderRoot, newerRoot] = [first, first];
  const isPath = climbs([node, last], rest, (each, isLeft) => {
    if (isLeft) olderRoot = nodeHash(each, olderRoot);
    newerRoot = isLeft ? nodeHash(each, newerRoot) : nodeHash(newerRoot, each);
  });
  return isPath && olderRoot.equals(older.root) && newerRoot.equals(newer.root);
};

/** Shifts are limited to 32 bits. */
const half = (number: number): number => Math.floor(number / 2);
