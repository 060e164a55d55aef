import type { Clock } from '../../clock.ts';
import { eventId } from '../../kernel/store/event-id.ts';
import type { NewEvent, Recorded } from '../../kernel/store/store.ts';
import { checkpointText, parsedCheckpoint, type SignedCheckpoint } from '../../merkle/checkpoint.ts';
import { type Frontier, grown, rootOfFrontier } from '../../merkle/frontier.ts';
import { type Signer, signed } from '../../merkle/note.ts';
import type { Hash } from '../../merkle/tree.ts';
import { checkpointStream, type Leaf } from './leaf.ts';

/** A leaf in front of which nothing is missing: where whoever goes on with the tree begins to read. */
export interface Anchor {
  readonly stream: string;
  readonly revision: number;
  readonly index: number;
}

/** What an event `audit.checkpoint` says: the leaves since the one before, and the signed root over all. */
export interface CheckpointEvent {
  readonly from: number;
  readonly hashes: readonly Hash[];
  /** Of leaves whose events may be removed, by index. */
  readonly stubs: Readonly<Record<string, string>>;
  /** The last leaf whose event stays; null while there is none. */
  readonly anchor: Anchor | null;
  /** Number of the key that has signed. */
  readonly key: number;
  readonly checkpoint: SignedCheckpoint;
}

const checkpointType = 'audit.checkpoint';

/** The event that adds leaves to a tree, signed. */
export const newCheckpoint = (parts: {
  readonly tree: Frontier;
  readonly leaves: readonly Leaf[];
  readonly anchor: Anchor | null;
  readonly origin: string;
  readonly key: number;
  readonly signer: Signer;
  readonly clock: Clock;
}): NewEvent => {
  const { tree, leaves, anchor, origin, key, signer, clock } = parts;
  const hashes = leaves.map(({ hash }) => Buffer.from(hash, 'base64'));
  const now = grown(tree, hashes);
  const note = signed(checkpointText({ origin, size: now.size, root: rootOfFrontier(now) }), signer);
  const stubs = Object.fromEntries(
    leaves.flatMap(({ stub }, i) => (stub === undefined ? [] : [[tree.size + i, stub]])),
  );
  const id = eventId(note, 0, checkpointStream, checkpointType, {});
  const data = { from: tree.size, hashes: Buffer.concat(hashes).toString('base64'), stubs, anchor, key, note };
  const actor = { type: 'system', id: 'audit log' } as const;
  const metadata = { at: clock.wall(), actor, $correlationId: id, $causationId: id, v: 1 };
  return { id, type: checkpointType, data, metadata };
};

const isNumber = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** Reads the event; undefined where it is not what Weir writes. Nothing is said of its truth. */
export const checkpointOf = ({ type, data }: Pick<Recorded, 'type' | 'data'>): CheckpointEvent | undefined => {
  const { from, hashes, stubs, anchor, key, note } = data as Record<string, unknown>;
  if (type !== checkpointType || !isNumber(from) || !isNumber(key)) return undefined;
  if (typeof hashes !== 'string' || typeof note !== 'string' || typeof stubs !== 'object' || stubs === null)
    return undefined;
  const checkpoint = parsedCheckpoint(note);
  const bytes = Buffer.from(hashes, 'base64');
  if (!checkpoint || bytes.length % 32 !== 0 || checkpoint.size !== from + bytes.length / 32) return undefined;
  const list = Array.from({ length: bytes.length / 32 }, (_, i) => bytes.subarray(i * 32, i * 32 + 32));
  const texts = stubs as Readonly<Record<string, string>>;
  return { from, hashes: list, stubs: texts, anchor: (anchor ?? null) as Anchor | null, key, checkpoint };
};

/** The tree with what a checkpoint adds; undefined where it adds nothing, does not follow, or its root is another. */
export const followed = (tree: Frontier, { from, hashes, checkpoint }: CheckpointEvent): Frontier | undefined => {
  if (from !== tree.size || hashes.length === 0) return undefined;
  const now = grown(tree, hashes);
  return rootOfFrontier(now).equals(checkpoint.root) ? now : undefined;
};
