import type { Millis } from '../../clock.ts';
import {
  type EventStore,
  NoSuchPosition,
  type Recorded,
  StoreDamaged,
  type Subscription,
  WrongRevision,
} from '../../kernel/store/store.ts';
import { noLeaves } from '../../merkle/frontier.ts';
import { publish } from '../../telemetry.ts';
import { type Anchor, checkpointOf, followed, newCheckpoint } from './checkpoint-event.ts';
import type { LogKey } from './key-belief.ts';
import { beliefOf, isOwn, keysIn, logKeyOf } from './keys.ts';
import { checkpointStream, keyStream, leafOf } from './leaf.ts';
import { isSignedByOurs } from './new-part.ts';
import type { CheckpointerOptions, Place, Signing, TreeHead } from './signing.ts';
import { mostLeaves, unsignedLeaves } from './unsigned-leaves.ts';

export interface TreeSigner extends Signing {
  sign(): Promise<void>;
  close(): Promise<void>;
}

export class BrokenTree extends Error {
  override readonly name: string = 'BrokenTree';
}

/** What was read of the tree belongs to another log. */
export class AnotherLog extends BrokenTree {
  override readonly name = 'AnotherLog';
  constructor() {
    super('the log is not the one that was read: another is in its place');
  }
}

/** Position and id of its event tell whether the log is still the same. */
interface Head extends TreeHead {
  readonly position: bigint;
  readonly id: string;
}

const defaultDelayMs: Millis = 750;
const defaultRetryMs: Millis = 1_000;
const mostForeign = 100;

const endOf = async (store: Pick<EventStore, 'readAll'>): Promise<bigint | null> => {
  for await (const { position } of store.readAll({ from: 'end', direction: 'backwards', limit: 1 })) return position;
  return null;
};

/**
 * Begins to sign the tree of the log. Each checkpoint is computed from a fresh read, on the connection that then
 * appends it once, so that nothing of a log that was replaced is signed into its replacement.
 * @param restart called when an own key appears in a log that had none
 * @throws BrokenTree if the log is not what was signed, AnotherLog if it is not the log that the tree was read from
 */
export const signTree = async (options: CheckpointerOptions, restart: () => void): Promise<TreeSigner> => {
  const { store, ours, origin, signers, clock, delayMs = defaultDelayMs, retryMs = defaultRetryMs } = options;
  const end = await endOf(store);
  const keys = await keysIn(store, beliefOf(signers));
  let lastKey = keys.revision ?? -1;
  /** Of the newest checkpoint, own or not. */
  let lastRevision = -1;
  const foreign: Place[] = [];
  let head: Head | undefined;
  let unsigned = unsignedLeaves(options, null, new Set());
  let newest: bigint | null = null;
  let timer: NodeJS.Timeout | undefined;
  let signing: Promise<void> = Promise.resolve();
  let isLost = false;
  let isOver = false;
  let stopped: Error | undefined;

  const own = (): readonly LogKey[] => keys.believed.filter(isOwn(signers));
  const headOf = (known: TreeHead, { position, id }: Pick<Recorded, 'position' | 'id'>): Head => ({
    ...known,
    position,
    id,
  });
  const tell = ({ revision }: LogKey): void => publish('audit.key_passed_over', { stream: keyStream, revision });

  const stop = (error: Error): void => {
    if (isOver) return;
    stopped = error;
    clearTimeout(timer);
    publish('follower.stopped', { follower: 'audit log', error });
  };

  const leave = (): void => {
    if (isOver) return;
    isOver = true;
    stopped = new AnotherLog();
    clearTimeout(timer);
    options.replaced();
  };

  const schedule = (ms: Millis): void => {
    if (timer !== undefined || stopped || isOver) return;
    timer = setTimeout(() => {
      timer = undefined;
      void inTurn();
    }, ms);
  };

  const inTurn = (): Promise<void> => {
    signing = signing.then(sign);
    return signing;
  };

  const isHead = ({ position, id }: Recorded): boolean => position === head?.position && id === head.id;

  const hasHead = async (): Promise<boolean> => {
    if (!head) return true;
    for await (const event of store.read(checkpointStream, { from: head.revision, limit: 1, once: true }))
      return isHead(event);
    return false;
  };

  const noteKey = (event: Recorded): void => {
    if (event.revision <= lastKey) return;
    lastKey = event.revision;
    const key = logKeyOf(event);
    if (key && !keys.add(key)) tell(key);
  };

  /** Nothing may run between the end of the read and the append. */
  const sign = async (): Promise<void> => {
    if (isOver || stopped) return;
    if (store.state.is === 'lost') return schedule(retryMs);
    try {
      const base = head;
      let isThere = head === undefined;
      const { leaves, isAll, settle } = await unsigned.read((event) => {
        isThere ||= isHead(event);
        if (event.stream === keyStream) noteKey(event);
      });
      // The head may lie after the part that was read.
      if (!isAll) isThere ||= await hasHead();
      if (isOver || stopped || head !== base) return;
      if (!isThere) {
        leave();
        return;
      }
      settle();
      const end = leaves.at(-1)?.position;
      if (end === undefined) return;
      const tree = head?.tree ?? noLeaves;
      const key = (own().findLast(({ position }) => position <= end) ?? own()[0]!).number;
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
      const once = { once: true };
      const appended = await store.append(
        checkpointStream,
        [event],
        lastRevision < 0 ? 'no_stream' : lastRevision,
        once,
      );
      if (!isOver) await adopt({ ...event, ...appended, stream: checkpointStream });
    } catch (error) {
      if (error instanceof NoSuchPosition) {
        leave();
        return;
      }
      if (error instanceof StoreDamaged) {
        stop(error);
        return;
      }
      // Another gateway was first and its checkpoint will be delivered; or the store is away.
      if (!(error instanceof WrongRevision)) {
        if (!isLost) publish('audit.unsigned', { error });
        isLost = true;
      }
      schedule(retryMs);
    }
  };

  const adopt = async (event: Recorded): Promise<void> => {
    if (stopped || event.revision <= lastRevision) return;
    const said = checkpointOf(event);
    const tree = said && followed(head?.tree ?? noLeaves, said);
    const isOurs = isSignedByOurs(event, signers);
    if (!tree || !isOurs) {
      // Repeated own checkpoints are harmless; own ones beyond our tree are not.
      const isStray = !tree && (!isOurs || said!.checkpoint.size <= (head?.tree.size ?? 0));
      await doubt(event, isStray);
      return;
    }
    lastRevision = event.revision;
    unsigned.cover(said.hashes);
    head = headOf({ tree, revision: event.revision, note: said.checkpoint.signed, anchor: said.anchor }, event);
    isLost = false;
    options.signed(said.checkpoint, event.position);
    clearTimeout(timer);
    timer = undefined;
    // A full checkpoint leaves more to sign.
    if (said.hashes.length === mostLeaves) schedule(0);
    else if (newest !== null && newest > (unsigned.place ?? -1n)) schedule(delayMs);
  };

  /**
   * A checkpoint that is not our next: of another log, or planted. A planted one that changes nothing is passed over;
   * one that every reader takes for the next ends the signing.
   */
  const doubt = async ({ stream, revision }: Recorded, isStray: boolean): Promise<void> => {
    const error = new BrokenTree(`revision ${revision} of ${stream} does not follow the one before`);
    stopped = error;
    clearTimeout(timer);
    timer = undefined;
    const isNext = revision === lastRevision + 1;
    const isSame = isNext && (await hasHead().catch(() => true));
    if (!isSame) {
      leave();
      return;
    }
    if (!isStray) {
      stop(error);
      return;
    }
    stopped = undefined;
    lastRevision = revision;
    if (foreign.length < mostForeign) foreign.push({ stream, revision });
    publish('audit.checkpoint_passed_over', { stream, revision });
    if (newest !== null && newest > (unsigned.place ?? -1n)) schedule(delayMs);
  };

  const take = async (event: Recorded): Promise<void> => {
    if (event.stream === checkpointStream) return adopt(event);
    if (event.stream === keyStream) noteKey(event);
    newest = event.position;
    schedule(delayMs);
  };

  /** Position after which the uncovered leaves begin. */
  const placeOf = async ({ stream, revision, index }: Anchor): Promise<bigint> => {
    for await (const event of store.read(stream, { from: revision, limit: 1 })) {
      const hash = options.leaves.at(0, index).toString('base64');
      if (event.revision === revision && leafOf(event).hash === hash) return event.position;
    }
    throw new BrokenTree(`revision ${revision} of ${stream} is not what was signed`);
  };

  const begin = async (known: TreeHead): Promise<void> => {
    const { revision, anchor } = known;
    for await (const event of store.read(checkpointStream, { from: revision, limit: 1 })) {
      const said = checkpointOf(event);
      if (event.revision !== revision || said?.checkpoint.signed !== known.note) break;
      const isOurs = isSignedByOurs(event, signers);
      // An own key after it has accepted what others have signed.
      if (!isOurs && event.position > own().at(-1)!.position)
        throw new BrokenTree(`revision ${revision} of ${checkpointStream} is not signed by this log’s key`);
      head = headOf(known, event);
      lastRevision = revision;
      if (isOurs) options.signed(said.checkpoint, event.position);
    }
    if (!head) throw new AnotherLog();
    const covered = new Set<string>();
    for (let index = (anchor?.index ?? -1) + 1; index < known.tree.size; index++)
      covered.add(options.leaves.at(0, index).toString('base64'));
    unsigned = unsignedLeaves(options, anchor && (await placeOf(anchor)), covered);
  };

  const takeKey = (event: Recorded): void => {
    if (event.stream !== keyStream) return;
    noteKey(event);
    if (own().length === 0 || isOver) return;
    isOver = true;
    restart();
  };

  for (const key of keys.passedOver) tell(key);
  const hasKey = own().length > 0;
  if (hasKey) {
    const known = options.head();
    if (known) await begin(known);
  } else publish('audit.no_key', {});
  const subscription: Subscription = store.subscribe({
    after: hasKey ? unsigned.place : end,
    async deliver(batch) {
      for (const event of ours(batch)) if (!isOver) await (hasKey ? take : takeKey)(event);
    },
    failed: stop,
  });

  return {
    get stopped() {
      return stopped;
    },
    hasKey,
    get passedOver() {
      return [...keys.passedOver.map(({ revision }) => ({ stream: keyStream, revision })), ...foreign];
    },
    sign: async () => {
      clearTimeout(timer);
      if (hasKey) await inTurn();
    },
    async close() {
      isOver = true;
      clearTimeout(timer);
      await subscription.close();
    },
  };
};
