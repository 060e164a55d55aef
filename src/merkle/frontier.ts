import { emptyRoot, type Hash, nodeHash } from './tree.ts';

/** What is needed to extend a tree: the roots of its complete subtrees, largest first. Immutable. */
export interface Frontier {
  readonly size: number;
  readonly peaks: readonly Hash[];
}

export const noLeaves: Frontier = { size: 0, peaks: [] };

export const grown = ({ size, peaks }: Frontier, leaves: Iterable<Hash>): Frontier => {
  const stack = [...peaks];
  let count = size;
  for (const leaf of leaves) {
    let node = leaf;
    for (let full = count; full % 2 === 1; full = Math.floor(full / 2)) node = nodeHash(stack.pop() as Hash, node);
    stack.push(node);
    count += 1;
  }
  return { size: count, peaks: stack };
};

export const rootOfFrontier = ({ peaks }: Frontier): Hash =>
  peaks.length === 0 ? emptyRoot : peaks.reduceRight((right, left) => nodeHash(left, right));
