import type { Recorded } from '../../kernel/store/store.ts';
import type { SignedCheckpoint } from '../../merkle/checkpoint.ts';
import { grown, noLeaves, rootOfFrontier } from '../../merkle/frontier.ts';
import { isSignedWith } from '../../merkle/note.ts';
import { type Hash, type HashSource, inclusionProof } from '../../merkle/tree.ts';
import { checkpointOf } from './checkpoint-event.ts';
import type { Keys, LogKey } from './key-belief.ts';
import { checkpointStream, leafOf } from './leaf.ts';

export interface LeafList extends HashSource {
  readonly newest: SignedCheckpoint | undefined;
  readonly stubs: ReadonlyMap<number, string>;
  indexOf(leaf: string): number | undefined;
}

const width = 256;

/** How many checkpoints from the end of the log are searched for a valid signature. */
const mostLookedAt = 256;

export const newestSigned = ({ believed }: Pick<Keys, 'believed'>) => {
  const last: SignedCheckpoint[] = [];
  return {
    add(checkpoint: SignedCheckpoint): void {
      if (last.push(checkpoint) > mostLookedAt) last.shift();
    },
    get found(): SignedCheckpoint | undefined {
      return last.findLast((checkpoint) => isSignedByOne(checkpoint, believed));
    },
  };
};

export const isSignedByOne = ({ origin, note }: SignedCheckpoint, keys: readonly Pick<LogKey, 'verifier'>[]): boolean =>
  keys.some(({ verifier }) => verifier.name === origin && isSignedWith(note, verifier));

export const leafList = async (log: AsyncIterable<Recorded>, keys: Pick<Keys, 'believed'>): Promise<LeafList> => {
  const levels: Hash[][] = [[]];
  const indices = new Map<string, number>();
  const stubs = new Map<number, string>();
  const checkpoints = newestSigned(keys);
  const add = (level: number, hash: Hash): void => {
    levels[level] ??= [];
    const list = levels[level];
    list.push(hash);
    if (list.length % width === 0) add(level + 1, rootOfFrontier(grown(noLeaves, list.slice(-width))));
  };
  for await (const event of log) {
    const said = event.stream === checkpointStream ? checkpointOf(event) : undefined;
    if (!said) continue;
    for (const [i, hash] of said.hashes.entries()) {
      indices.set(hash.toString('base64'), said.from + i);
      add(0, hash);
    }
    for (const [index, stub] of Object.entries(said.stubs)) stubs.set(Number(index), stub);
    checkpoints.add(said.checkpoint);
  }
  const newest = checkpoints.found;
  return {
    newest,
    stubs: new Map([...stubs].filter(([index]) => index < (newest?.size ?? 0))),
    indexOf: (leaf) => indices.get(leaf),
    at(level, index) {
      const hash = levels[level]?.[index];
      if (!hash) throw new RangeError(`The tree has no hash ${index} of level ${level}.`);
      return hash;
    },
  };
};

export interface EventProof {
  readonly index: number;
  /** The text that the leaf is the hash of: the canonical event, or its stub. */
  readonly leaf: string;
  readonly hashes: readonly Hash[];
}

/** Undefined if no checkpoint up to `size` covers the event. */
export const proofOf = (
  event: Recorded,
  covered: {
    readonly canonical: string;
    readonly leaves: HashSource;
    readonly indexOf: (leaf: string) => number | undefined;
    readonly size: number;
  },
): EventProof | undefined => {
  const { canonical, leaves, indexOf, size } = covered;
  const { hash, stub } = leafOf(event);
  const index = indexOf(hash);
  if (index === undefined || index >= size) return undefined;
  return { index, leaf: stub ?? canonical, hashes: inclusionProof(leaves, index, size) };
};
