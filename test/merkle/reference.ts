import { createHash } from 'node:crypto';
import type { HashSource } from '../../src/merkle/tree.ts';

/** RFC 6962 as it is written there, without a thought for speed. */
const sha = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};
const largestBelow = (n: number): number => {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
};

export const leafOf = (data: Uint8Array): Buffer => sha(Buffer.of(0), data);

export const mth = (leaves: readonly Buffer[]): Buffer => {
  if (leaves.length === 0) return sha();
  if (leaves.length === 1) return leaves[0]!;
  const k = largestBelow(leaves.length);
  return sha(Buffer.of(1), mth(leaves.slice(0, k)), mth(leaves.slice(k)));
};

export const path = (m: number, leaves: readonly Buffer[]): Buffer[] => {
  if (leaves.length === 1) return [];
  const k = largestBelow(leaves.length);
  return m < k
    ? [...path(m, leaves.slice(0, k)), mth(leaves.slice(k))]
    : [...path(m - k, leaves.slice(k)), mth(leaves.slice(0, k))];
};

const subProof = (m: number, leaves: readonly Buffer[], isWhole: boolean): Buffer[] => {
  if (m === leaves.length) return isWhole ? [] : [mth(leaves)];
  const k = largestBelow(leaves.length);
  return m <= k
    ? [...subProof(m, leaves.slice(0, k), isWhole), mth(leaves.slice(k))]
    : [...subProof(m - k, leaves.slice(k), false), mth(leaves.slice(0, k))];
};
export const proof = (m: number, leaves: readonly Buffer[]): Buffer[] =>
  m === 0 || m === leaves.length ? [] : subProof(m, leaves, true);

/** A source over leaves, which remembers what it has computed. */
export const sourceOf = (leaves: readonly Buffer[]): HashSource => {
  const known = new Map<string, Buffer>();
  const at = (level: number, index: number): Buffer => {
    if (level === 0) return leaves[index]!;
    const name = `${level}/${index}`;
    const found = known.get(name) ?? mth(Array.from({ length: 256 }, (_, i) => at(level - 1, index * 256 + i)));
    known.set(name, found);
    return found;
  };
  return { at };
};
