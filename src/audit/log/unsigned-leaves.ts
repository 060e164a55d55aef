import { NoCanonicalForm } from '../../kernel/store/event-hash.ts';
import type { Ours } from '../../kernel/store/ownership.ts';
import type { EventStore, Recorded } from '../../kernel/store/store.ts';
import { publish } from '../../telemetry.ts';
import type { Anchor } from './checkpoint-event.ts';
import { checkpointStream, type Leaf, leafOf } from './leaf.ts';

/** Leaves of one checkpoint: an event of half a MiB at most, where each of them may be removed. */
export const mostLeaves = 2_048;

export interface UnsignedLeaf extends Leaf {
  readonly position: bigint;
  /** Undefined where the event may be removed. */
  readonly anchor?: Omit<Anchor, 'index'>;
}

/** The leaves of one log that no checkpoint covers, as it stands whenever they are read. */
export interface UnsignedLeaves {
  /** Of the last leaf that the tree has, as far as was read; null in front of the first. */
  readonly place: bigint | null;
  /**
   * Up to `mostLeaves` of them, read on one connection.
   * @param seen told of each of our events that is met
   */
  read(seen: (event: Recorded) => void): Promise<Reading>;
  /** What a checkpoint covers is no longer unsigned; where its place is not known yet, it is when it is read. */
  cover(hashes: readonly Buffer[]): void;
}

export interface Reading {
  readonly leaves: readonly UnsignedLeaf[];
  /** Whether there are no more. */
  readonly isAll: boolean;
  /** It holds: nothing was covered since it began. */
  settle(): void;
}

/** Undefined of what has no canonical form: it is nothing of ours, and whoever verifies finds it between what was signed. */
const leafIfAny = (event: Recorded): Leaf | undefined => {
  try {
    return leafOf(event);
  } catch (error) {
    if (!(error instanceof NoCanonicalForm)) throw error;
    publish('stream.passed_over', { stream: event.stream, type: event.type });
    return undefined;
  }
};

/** @param covered leaves behind the place that the tree has too: their events come once more, or are gone */
export const unsignedLeaves = (
  { store, ours }: { readonly store: Pick<EventStore, 'readAll'>; readonly ours: Ours },
  from: bigint | null,
  covered: Set<string>,
): UnsignedLeaves => {
  let place = from;
  /** As they were last read; to know where they are once a checkpoint covers them. */
  let known: readonly UnsignedLeaf[] = [];
  return {
    get place() {
      return place;
    },
    async read(seen) {
      let leaves: UnsignedLeaf[] = [];
      let at = place;
      const met: string[] = [];
      const limit = Number.MAX_SAFE_INTEGER;
      for await (const event of store.readAll({ from: place ?? 'start', direction: 'forwards', limit, once: true })) {
        const { stream, revision, position } = event;
        if (position === place || ours([event]).length === 0) continue;
        seen(event);
        const leaf = stream === checkpointStream ? undefined : leafIfAny(event);
        if (!leaf) continue;
        if (covered.has(leaf.hash)) {
          // What is in front of it and in no checkpoint was removed before whoever signed could see it.
          leaves = [];
          met.push(leaf.hash);
          at = position;
          continue;
        }
        leaves.push({ ...leaf, position, ...(leaf.stub === undefined && { anchor: { stream, revision } }) });
        if (leaves.length === mostLeaves) break;
      }
      return {
        leaves,
        isAll: leaves.length < mostLeaves,
        settle() {
          for (const hash of met) covered.delete(hash);
          place = at;
          known = leaves;
        },
      };
    },
    cover(hashes) {
      let end = 0;
      for (const hash of hashes) {
        const text = hash.toString('base64');
        const at = known[end]?.hash === text ? end : known.findIndex((leaf, i) => i > end && leaf.hash === text);
        if (at < 0) covered.add(text);
        else {
          place = known[at]!.position;
          end = at + 1;
        }
      }
      known = known.slice(end);
    },
  };
};
