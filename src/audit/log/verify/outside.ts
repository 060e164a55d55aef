import type { SignedCheckpoint } from '../../../merkle/checkpoint.ts';
import { type Frontier, grown, rootOfFrontier } from '../../../merkle/frontier.ts';
import type { Finding } from './finding.ts';
import type { KeyRing } from './key-ring.ts';

/** Checkpoints from elsewhere, held against the tree while it grows. */
export interface Outside {
  /** The tree is about to get these leaves. */
  pass(tree: Frontier, leaves: readonly Buffer[]): void;
  /** @param found what is known to be wrong; a root that differs for that reason is no finding of its own */
  end(
    tree: Frontier,
    uncovered: readonly Buffer[],
    found: readonly Finding[],
  ): { readonly findings: readonly Finding[]; readonly agreed: ReadonlySet<number> };
}

export const holdAgainst = (against: readonly SignedCheckpoint[], keys: KeyRing): Outside => {
  const inOrder = against.toSorted((a, b) => a.size - b.size);
  /** So many of them the tree has come to. */
  let passed = 0;
  const differing: SignedCheckpoint[] = [];
  /** Sizes of those that agree, in their order. */
  const agreed = new Set<number>();
  let largest = 0;

  const pass = (tree: Frontier, leaves: readonly Buffer[]): void => {
    const end = tree.size + leaves.length;
    for (let next = inOrder[passed]; next && next.size <= end; next = inOrder[passed]) {
      passed += 1;
      const root = rootOfFrontier(grown(tree, leaves.slice(0, next.size - tree.size)));
      if (root.equals(next.root)) {
        agreed.add(next.size);
        largest = next.size;
      } else differing.push(next);
    }
  };

  return {
    pass,
    end(tree, uncovered, found) {
      pass(tree, uncovered);
      const findings: Finding[] = [];
      const [unsigned, ...more] = against.filter((checkpoint) => !keys.hasSigned(checkpoint));
      if (unsigned) {
        const rest = more.length === 0 ? '' : `, and so it is with ${more.length} more`;
        const says = `The checkpoint of ${unsigned.size} leaves to compare with is not signed by a key of this log${rest}.`;
        findings.push({ class: 'signature', index: unsigned.size, says });
      }
      const [first] = differing;
      const isExplained = first && found.some(({ index }) => index >= largest && index < first.size);
      if (first && !isExplained) {
        const says = `The checkpoint of ${first.size} leaves is of a log that went another way.`;
        findings.push({ class: 'forked', index: largest, to: first.size, says });
      }
      const last = passed < inOrder.length ? inOrder.at(-1) : undefined;
      const size = tree.size + uncovered.length;
      if (last) {
        const says = `A checkpoint has seen ${last.size} leaves, and there are ${size}.`;
        findings.push({ class: 'rolled-back', index: size, to: last.size, says });
      }
      return { findings, agreed };
    },
  };
};
