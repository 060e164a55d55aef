import type { SignedCheckpoint } from '../../../merkle/checkpoint.ts';
import { type Frontier, grown, rootOfFrontier } from '../../../merkle/frontier.ts';
import { andMore, type Finding } from './finding.ts';
import type { KeyRing } from './key-ring.ts';

interface Held {
  readonly findings: readonly Finding[];
  readonly agreed: ReadonlySet<number>;
  readonly ofOthers: readonly SignedCheckpoint[];
}

export interface Outside {
  /** To be called before the tree gets these leaves. */
  pass(tree: Frontier, leaves: readonly Buffer[]): void;
  /** @param found known findings, which may explain a differing root @param origin of this log, if known */
  end(tree: Frontier, uncovered: readonly Buffer[], found: readonly Finding[], origin: string | undefined): Held;
}

export const holdAgainst = (against: readonly SignedCheckpoint[], keys: KeyRing): Outside => {
  const inOrder = against.toSorted((a, b) => a.size - b.size);
  let passed = 0;
  const differing: SignedCheckpoint[] = [];
  const agreeing: SignedCheckpoint[] = [];

  const pass = (tree: Frontier, leaves: readonly Buffer[]): void => {
    const end = tree.size + leaves.length;
    for (let next = inOrder[passed]; next && next.size <= end; next = inOrder[passed]) {
      passed += 1;
      const root = rootOfFrontier(grown(tree, leaves.slice(0, next.size - tree.size)));
      (root.equals(next.root) ? agreeing : differing).push(next);
    }
  };

  return {
    pass,
    end(tree, uncovered, found, origin) {
      pass(tree, uncovered);
      const isOurs = (checkpoint: SignedCheckpoint): boolean => origin === undefined || checkpoint.origin === origin;
      const agreed = new Set(agreeing.filter(isOurs).map(({ size }) => size));
      const size = tree.size + uncovered.length;
      const findings = [
        unsignedAmong(against.filter(isOurs), keys),
        forkOf(differing.find(isOurs), agreed, found),
        rollBackOf(inOrder.slice(passed).findLast(isOurs), size),
      ].filter((finding) => finding !== undefined);
      return { findings, agreed, ofOthers: against.filter((checkpoint) => !isOurs(checkpoint)) };
    },
  };
};

const unsignedAmong = (against: readonly SignedCheckpoint[], keys: KeyRing): Finding | undefined => {
  const [unsigned, ...more] = against.filter((checkpoint) => !keys.hasSigned(checkpoint));
  if (!unsigned) return undefined;
  const says = `The checkpoint of ${unsigned.size} leaves to compare with is not signed by a key of this log${andMore(more.length)}.`;
  return { class: 'signature', index: unsigned.size, says };
};

const forkOf = (
  first: SignedCheckpoint | undefined,
  agreed: ReadonlySet<number>,
  found: readonly Finding[],
): Finding | undefined => {
  if (!first) return undefined;
  const index = Math.max(0, ...[...agreed].filter((size) => size < first.size));
  if (found.some((finding) => finding.index >= index && finding.index < first.size)) return undefined;
  const says = `The checkpoint of ${first.size} leaves is of a log that went another way, as where an older backup is restored and goes on.`;
  return { class: 'forked', index, to: first.size, says };
};

const rollBackOf = (last: SignedCheckpoint | undefined, size: number): Finding | undefined =>
  last && {
    class: 'rolled-back',
    index: size,
    to: last.size,
    says: `A checkpoint has seen ${last.size} leaves, and there are ${size}: events were taken back, as where an older backup is restored.`,
  };
