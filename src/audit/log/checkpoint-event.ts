import type { Clock } from '../../clock.ts';
import { eventId } from '../../kernel/store/event-id.ts';
import type { NewEvent, Recorded } from '../../kernel/store/store.ts';
import { checkpointText, parsedCheckpoint, type SignedCheckpoint } from '../../merkle/checkpoint.ts';
import { type Frontier, grown, rootOfFrontier } from '../../merkle/frontier.ts';
import { type Signer, signed } from '../../merkle/note.ts';
import type { Hash } from '../../merkle/tree.ts';
import { checkpointStream, type Leaf } from './leaf.ts';

/** A leaf with no gap before it: a gateway reads the log from here on. */
export interface Anchor {
  readonly stream: string;
  readonly revision: number;
  readonly index: number;
}

export interface CheckpointEvent {
  readonly from: number;
  readonly hashes: readonly Hash[];
  readonly stubs: Readonly<Record<string, string>>;
  /** The last leaf whose event cannot be removed; null if there is none. */
  readonly anchor: Anchor | null;
  readonly key: number;
  readonly checkpoint: SignedCheckpoint;
}

const checkpointType = 'audit.checkpoint';

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

/** Undefined unless the event has the form that Weir writes. Verifies no signature. */
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

/** The tree extended by a checkpoint; undefined if the checkpoint is empty, does not follow, or has another root. */
export const followed = (tree: Frontier, { from, hashes, checkpoint }: CheckpointEvent): Frontier | undefined => {
  if (from !== tree.size || hashes.length === 0) return undefined;
  const now = grown(tree, hashes);
  return rootOfFrontier(now).equals(checkpoint.root) ? now : undefined;
};
