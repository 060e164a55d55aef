import { NoCanonicalForm } from '../../kernel/store/event-hash.ts';
import type { Ours } from '../../kernel/store/ownership.ts';
import type { EventStore, Recorded } from '../../kernel/store/store.ts';
import { publish } from '../../telemetry.ts';
import type { Anchor } from './checkpoint-event.ts';
import { checkpointStream, type Leaf, leafOf } from './leaf.ts';

/** Keeps the event below half a MiB even if every leaf has a stub. */
export const mostLeaves = 2_048;

export interface UnsignedLeaf extends Leaf {
  readonly position: bigint;
  readonly anchor?: Omit<Anchor, 'index'>;
}

export interface UnsignedLeaves {
  /** Position of the last covered leaf, as far as it is known; null at the beginning. */
  readonly place: bigint | null;
  /** Reads up to `mostLeaves` on one connection. @param seen called with each event of Weir */
  read(seen: (event: Recorded) => void): Promise<Reading>;
  /** Marks leaves as covered; positions that are not known yet are found by the next read. */
  cover(hashes: readonly Buffer[]): void;
}

export interface Reading {
  readonly leaves: readonly UnsignedLeaf[];
  readonly isAll: boolean;
  /** Keeps the result; valid only if nothing was covered since the read began. */
  settle(): void;
}

/** Weir writes no event without a canonical form; a verifier reports it. */
const leafIfAny = (event: Recorded): Leaf | undefined => {
  try {
    return leafOf(event);
  } catch (error) {
    if (!(error instanceof NoCanonicalForm)) throw error;
    publish('stream.passed_over', { stream: event.stream, type: event.type });
    return undefined;
  }
};

/** @param covered hashes of covered leaves after `from`, whose events are still to come or are removed */
export const unsignedLeaves = (
  { store, ours }: { readonly store: Pick<EventStore, 'readAll'>; readonly ours: Ours },
  from: bigint | null,
  covered: Set<string>,
): UnsignedLeaves => {
  let place = from;
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
          // Events before it that no checkpoint covers were removed before the signer read them.
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
