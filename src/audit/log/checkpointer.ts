import { setTimeout as wait } from 'node:timers/promises';
import type { Clock, Millis } from '../../clock.ts';
import { NoCanonicalForm } from '../../kernel/event-hash.ts';
import type { Ours } from '../../kernel/ownership.ts';
import { type EventStore, type Recorded, type Subscription, WrongRevision } from '../../kernel/store.ts';
import type { SignedCheckpoint } from '../../merkle/checkpoint.ts';
import type { Frontier } from '../../merkle/frontier.ts';
import { isSignedWith } from '../../merkle/note.ts';
import type { HashSource } from '../../merkle/tree.ts';
import { publish } from '../../telemetry.ts';
import { type Anchor, checkpointOf, followed, newCheckpoint } from './checkpoint-event.ts';
import { logKeyOf, type Signers } from './keys.ts';
import { checkpointStream, type Leaf, leafOf } from './leaf.ts';

/** The tree as its last checkpoint left it. */
export interface TreeHead {
  readonly tree: Frontier;
  /** Of the checkpoint on its stream. */
  readonly revision: number;
  readonly anchor: Anchor | null;
  /** Number of the key in force. */
  readonly key: number;
}

export interface CheckpointerOptions {
  readonly store: Pick<EventStore, 'append' | 'read' | 'subscribe' | 'state'>;
  readonly ours: Ours;
  readonly origin: string;
  readonly signers: Signers;
  readonly clock: Clock;
  /** Where the tree stands, and its leaves; asked whenever it is begun with. */
  readonly head: () => TreeHead | undefined;
  readonly leaves: HashSource;
  /** Told of each checkpoint that is on its stream, and of its event's position, whoever has signed it. */
  readonly signed: (checkpoint: SignedCheckpoint, position: bigint) => void;
  /** From the first leaf that no checkpoint covers to the next checkpoint. */
  readonly delayMs?: Millis;
}

export interface Checkpointer {
  /** Why it does not go on; it then signs nothing more. */
  readonly stopped: Error | undefined;
  /** Another log is in the place of the one that was followed. */
  beginAgain(): Promise<void>;
  /** Signs what no checkpoint covers yet. */
  close(): Promise<void>;
}

/** The tree is not what a checkpoint in the log says. */
export class BrokenTree extends Error {
  override readonly name = 'BrokenTree';
}

interface Pending extends Leaf {
  /** Undefined where the event may be removed. */
  readonly anchor?: Omit<Anchor, 'index'>;
  /** Of a key event. */
  readonly key?: number;
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

/** Leaves of one checkpoint: an event of half a MiB at most, where each of them may be removed. */
const mostLeaves = 2_048;
/** So many leaves wait for a checkpoint; more are not read from the log until some are signed. */
const mostWaiting = 8 * mostLeaves;
const defaultDelayMs: Millis = 750;
const retryMs: Millis = 1_000;
const closingMs: Millis = 1_500;

/**
 * Follows the log and signs its tree. Any number of gateways do so at once: a checkpoint is appended at the exact revision
 * behind the last one, so one of them is first, and all go on from what it has signed.
 */
export const startCheckpoints = async (options: CheckpointerOptions): Promise<Checkpointer> => {
  const { store, ours, origin, signers, clock, delayMs = defaultDelayMs } = options;
  let head: TreeHead | undefined;
  let pending: Pending[] = [];
  /** Leaves behind the anchor that the tree has already: their events come once more, or are gone. */
  let covered = new Set<string>();
  let subscription: Subscription | undefined;
  let timer: NodeJS.Timeout | undefined;
  let signing: Promise<void> = Promise.resolve();
  /** The last attempt to sign came to nothing: what is needed for the next may still be in the log, unread. */
  let isBeaten = false;
  /** It was the store that failed, and that was said. */
  let isLost = false;
  let stopped: Error | undefined;

  const stop = (error: Error): void => {
    if (stopped) return;
    stopped = error;
    clearTimeout(timer);
    publish('follower.stopped', { follower: 'audit log', error });
  };

  const schedule = (ms: Millis): void => {
    if (timer !== undefined || stopped || pending.length === 0) return;
    timer = setTimeout(() => {
      timer = undefined;
      void inTurn();
    }, ms);
  };

  const inTurn = (): Promise<void> => {
    signing = signing.then(sign);
    return signing;
  };

  const sign = async (): Promise<void> => {
    const leaves = pending.slice(0, mostLeaves);
    if (leaves.length === 0 || stopped) return;
    if (store.state.is === 'lost') {
      isBeaten = true;
      schedule(retryMs);
      return;
    }
    const tree = head?.tree ?? { size: 0, peaks: [] };
    const key = leaves.findLast((leaf) => leaf.key !== undefined)?.key ?? head?.key ?? 1;
    const last = leaves.findLastIndex((leaf) => leaf.anchor !== undefined);
    const anchor = leaves[last]?.anchor;
    const event = newCheckpoint({
      tree,
      leaves,
      anchor: anchor ? { ...anchor, index: tree.size + last } : (head?.anchor ?? null),
      origin,
      key,
      signer: signers(key),
      clock,
    });
    try {
      const place = await store.append(checkpointStream, [event], head?.revision ?? 'no_stream');
      adopt({ ...event, ...place, stream: checkpointStream });
    } catch (error) {
      // Another gateway was first, and its checkpoint is on its way; or the store is away, and it is tried again.
      isBeaten = true;
      if (!(error instanceof WrongRevision)) {
        if (!isLost) publish('audit.unsigned', { leaves: pending.length, error });
        isLost = true;
      }
      schedule(retryMs);
    }
  };

  /** Drops what the checkpoint covers, in its order: what it passes over was removed before whoever signed it could see it. */
  const drop = (hashes: readonly Buffer[]): void => {
    let end = 0;
    for (const hash of hashes) {
      const text = hash.toString('base64');
      const at = pending[end]?.hash === text ? end : pending.findIndex((leaf, i) => i > end && leaf.hash === text);
      if (at >= 0) end = at + 1;
    }
    pending = pending.slice(end);
  };

  const adopt = (event: Recorded): void => {
    if (event.revision <= (head?.revision ?? -1)) return;
    const said = checkpointOf(event);
    const tree = said && followed(head?.tree ?? { size: 0, peaks: [] }, said);
    const isSigned = said !== undefined && isSignedWith(said.checkpoint.note, signers(said.key).verifier);
    if (!tree || !isSigned) {
      stop(new BrokenTree(`revision ${event.revision} of ${event.stream} does not follow the one before`));
      return;
    }
    drop(said.hashes);
    head = { tree, revision: event.revision, anchor: said.anchor, key: said.key };
    isBeaten = false;
    isLost = false;
    options.signed(said.checkpoint, event.position);
    clearTimeout(timer);
    timer = undefined;
    // A full one has left more behind.
    schedule(said.hashes.length === mostLeaves ? 0 : delayMs);
  };

  const take = (event: Recorded): void => {
    const { stream, revision } = event;
    if (stream === checkpointStream) {
      adopt(event);
      return;
    }
    const leaf = leafIfAny(event);
    if (!leaf) return;
    if (covered.delete(leaf.hash)) return;
    const key = logKeyOf(event)?.number;
    const anchor = leaf.stub === undefined ? { anchor: { stream, revision } } : {};
    pending.push({ ...leaf, ...anchor, ...(key !== undefined && { key }) });
    schedule(pending.length >= mostLeaves ? 0 : delayMs);
  };

  /** Where the leaves that no checkpoint covers begin: behind the anchor. */
  const placeOf = async (anchor: Anchor): Promise<bigint> => {
    for await (const event of store.read(anchor.stream, { from: anchor.revision, limit: 1 })) {
      const hash = options.leaves.at(0, anchor.index).toString('base64');
      if (event.revision === anchor.revision && leafOf(event).hash === hash) return event.position;
    }
    throw new BrokenTree(`revision ${anchor.revision} of ${anchor.stream} is not what was signed`);
  };

  const begin = async (): Promise<void> => {
    pending = [];
    covered = new Set();
    stopped = undefined;
    head = options.head();
    try {
      const anchor = head?.anchor;
      const after = anchor ? await placeOf(anchor) : null;
      for (let index = (anchor?.index ?? -1) + 1; index < (head?.tree.size ?? 0); index++) {
        covered.add(options.leaves.at(0, index).toString('base64'));
      }
      subscription = store.subscribe({
        after,
        async deliver(batch) {
          for (const event of ours(batch)) if (!stopped) take(event);
          while (pending.length > mostWaiting && !isBeaten && !stopped) await inTurn();
        },
        failed: stop,
      });
    } catch (error) {
      stop(error as Error);
    }
  };

  await begin();
  return {
    get stopped() {
      return stopped;
    },
    async beginAgain() {
      clearTimeout(timer);
      timer = undefined;
      await subscription?.close();
      await begin();
    },
    async close() {
      clearTimeout(timer);
      // Whoever closes has little time, and a store that is away would take it all: the next start covers the rest.
      await Promise.race([inTurn(), wait(closingMs, undefined, { ref: false })]);
      await subscription?.close();
      clearTimeout(timer);
    },
  };
};
