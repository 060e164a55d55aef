import type { Millis } from '../../clock.ts';
import { serial } from '../../kernel/mailbox.ts';
import {
  type NewEvent,
  NoSuchPosition,
  type Recorded,
  StoreDamaged,
  type Subscription,
  WrongRevision,
} from '../../kernel/store/store.ts';
import { noLeaves } from '../../merkle/frontier.ts';
import { publish } from '../../telemetry.ts';
import { type Anchor, checkpointOf, followed, newCheckpoint } from './checkpoint-event.ts';
import type { FollowedKeys } from './keys.ts';
import { checkpointStream, keyStream, leafOf } from './leaf.ts';
import { isSignedByOurs } from './new-part.ts';
import type { CheckpointerOptions, Place, Signing, TreeHead } from './signing.ts';
import { mostLeaves, type UnsignedLeaf, type UnsignedLeaves, unsignedLeaves } from './unsigned-leaves.ts';

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

/** Follows the checkpoints of one log and appends the next ones. */
export class LogSigner implements Signing {
  readonly #foreign: Place[] = [];
  stopped: Error | undefined;
  isOver = false;
  readonly hasKey: boolean;
  subscription: Subscription | undefined;
  readonly #options: CheckpointerOptions;
  readonly #keys: FollowedKeys;
  readonly #inTurn = serial();
  #timer: NodeJS.Timeout | undefined;
  #head: Head | undefined;
  /** Of the newest checkpoint, own or not. */
  #lastRevision = -1;
  /** Position of the newest leaf that was delivered. */
  #newest: bigint | null = null;
  #unsigned: UnsignedLeaves;
  /** The failure of the store was reported. */
  #isLost = false;

  constructor(options: CheckpointerOptions, keys: FollowedKeys) {
    this.#options = options;
    this.#keys = keys;
    this.hasKey = keys.hasOwn;
    this.#unsigned = unsignedLeaves(options, null, new Set());
  }

  get passedOver(): readonly Place[] {
    return [...this.#keys.passedOver.map(({ revision }) => ({ stream: keyStream, revision })), ...this.#foreign];
  }

  /** Position after which the followed log is to be delivered. */
  get place(): bigint | null {
    return this.#unsigned.place;
  }

  /** Goes on from the last checkpoint in the read model. @throws BrokenTree, AnotherLog */
  async begin(known: TreeHead): Promise<void> {
    const { store, leaves, signers, signed } = this.#options;
    const { revision, anchor } = known;
    for await (const event of store.read(checkpointStream, { from: revision, limit: 1 })) {
      const said = checkpointOf(event);
      if (event.revision !== revision || said?.checkpoint.signed !== known.note) break;
      const isOurs = isSignedByOurs(event, signers);
      // An own key after it has accepted what others have signed.
      if (!isOurs && event.position > this.#keys.newestOwn.position)
        throw new BrokenTree(`revision ${revision} of ${checkpointStream} is not signed by this log’s key`);
      this.#head = { ...known, position: event.position, id: event.id };
      this.#lastRevision = revision;
      if (isOurs) signed(said.checkpoint, event.position);
    }
    if (!this.#head) throw new AnotherLog();
    const covered = new Set<string>();
    for (let index = (anchor?.index ?? -1) + 1; index < known.tree.size; index++)
      covered.add(leaves.at(0, index).toString('base64'));
    this.#unsigned = unsignedLeaves(this.#options, anchor && (await this.#placeOf(anchor)), covered);
  }

  async #placeOf({ stream, revision, index }: Anchor): Promise<bigint> {
    const { store, leaves } = this.#options;
    for await (const event of store.read(stream, { from: revision, limit: 1 })) {
      const hash = leaves.at(0, index).toString('base64');
      if (event.revision === revision && leafOf(event).hash === hash) return event.position;
    }
    throw new BrokenTree(`revision ${revision} of ${stream} is not what was signed`);
  }

  async take(event: Recorded): Promise<void> {
    if (event.stream === checkpointStream) return this.#adopt(event);
    if (event.stream === keyStream) this.#keys.add(event);
    this.#newest = event.position;
    this.#signIn(this.#delayMs);
  }

  async sign(): Promise<void> {
    this.#cancel();
    if (this.hasKey) await this.#inTurn(() => this.#sign());
  }

  stop(error: Error): void {
    if (this.isOver) return;
    this.stopped = error;
    this.#cancel();
    publish('follower.stopped', { follower: 'audit log', error });
  }

  end(): void {
    this.isOver = true;
    this.#cancel();
  }

  async close(): Promise<void> {
    this.end();
    await this.subscription?.close();
  }

  get #delayMs(): Millis {
    return this.#options.delayMs ?? defaultDelayMs;
  }

  get #isDone(): boolean {
    return this.isOver || this.stopped !== undefined;
  }

  #signIn(ms: Millis): void {
    if (this.#isDone) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#inTurn(() => this.#sign());
    }, ms);
  }

  #cancel(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** The checkpointer reports it and begins again. */
  #leave(): void {
    if (this.isOver) return;
    this.end();
    this.stopped = new AnotherLog();
    this.#options.replaced();
  }

  #isHead({ position, id }: Recorded): boolean {
    return position === this.#head?.position && id === this.#head.id;
  }

  async #hasHead(): Promise<boolean> {
    if (!this.#head) return true;
    const options = { from: this.#head.revision, limit: 1, once: true };
    for await (const event of this.#options.store.read(checkpointStream, options)) return this.#isHead(event);
    return false;
  }

  async #sign(): Promise<void> {
    if (this.#isDone) return;
    const { store, retryMs = defaultRetryMs } = this.#options;
    if (store.state.is === 'lost') return this.#signIn(retryMs);
    const base = this.#head;
    try {
      let isThere = base === undefined;
      const { leaves, isAll, settle } = await this.#unsigned.read((event) => {
        isThere ||= this.#isHead(event);
        if (event.stream === keyStream) this.#keys.add(event);
      });
      // The head may lie after the part that was read.
      if (!isAll) isThere ||= await this.#hasHead();
      // Nothing may run between the end of the read and the append.
      if (this.#isDone || this.#head !== base) return;
      if (!isThere) return this.#leave();
      settle();
      if (leaves.length === 0) return;
      const event = this.#nextCheckpoint(leaves);
      const revision = this.#lastRevision < 0 ? 'no_stream' : this.#lastRevision;
      const appended = await store.append(checkpointStream, [event], revision, { once: true });
      if (!this.isOver) await this.#adopt({ ...event, ...appended, stream: checkpointStream });
    } catch (error) {
      this.#failed(error as Error, retryMs);
    }
  }

  #nextCheckpoint(leaves: readonly UnsignedLeaf[]): NewEvent {
    const { origin, signers, clock } = this.#options;
    const tree = this.#head?.tree ?? noLeaves;
    const key = this.#keys.numberAt(leaves.at(-1)!.position);
    const last = leaves.findLastIndex(({ anchor }) => anchor !== undefined);
    const anchor = leaves[last]?.anchor;
    return newCheckpoint({
      tree,
      leaves,
      anchor: anchor ? { ...anchor, index: tree.size + last } : (this.#head?.anchor ?? null),
      origin,
      key,
      signer: signers(key),
      clock,
    });
  }

  #failed(error: Error, retryMs: Millis): void {
    if (error instanceof NoSuchPosition) this.#leave();
    else if (error instanceof StoreDamaged) this.stop(error);
    else {
      // Another gateway was first and its checkpoint will be delivered; or the store is away.
      if (!(error instanceof WrongRevision) && !this.#isLost) {
        publish('audit.unsigned', { error });
        this.#isLost = true;
      }
      this.#signIn(retryMs);
    }
  }

  async #adopt(event: Recorded): Promise<void> {
    if (this.stopped || event.revision <= this.#lastRevision) return;
    const said = checkpointOf(event);
    const tree = said && followed(this.#head?.tree ?? noLeaves, said);
    const isOurs = isSignedByOurs(event, this.#options.signers);
    if (!tree || !isOurs) {
      // Repeated own checkpoints are harmless; own ones beyond our tree are not.
      const isStray = !tree && (!isOurs || said!.checkpoint.size <= (this.#head?.tree.size ?? 0));
      return this.#doubt(event, isStray);
    }
    const { revision, position, id } = event;
    this.#lastRevision = revision;
    this.#unsigned.cover(said.hashes);
    this.#head = { tree, revision, note: said.checkpoint.signed, anchor: said.anchor, position, id };
    this.#isLost = false;
    this.#options.signed(said.checkpoint, position);
    this.#cancel();
    // A full checkpoint leaves more to sign.
    if (said.hashes.length === mostLeaves) this.#signIn(0);
    else this.#signRest();
  }

  #signRest(): void {
    if (this.#newest !== null && this.#newest > (this.#unsigned.place ?? -1n)) this.#signIn(this.#delayMs);
  }

  /**
   * A checkpoint that is not our next: of another log, or planted. A planted one that changes nothing is passed over;
   * one that every reader takes for the next ends the signing.
   */
  async #doubt({ stream, revision }: Recorded, isStray: boolean): Promise<void> {
    const error = new BrokenTree(`revision ${revision} of ${stream} does not follow the one before`);
    this.stopped = error;
    this.#cancel();
    const isSame = revision === this.#lastRevision + 1 && (await this.#hasHead().catch(() => true));
    if (!isSame) return this.#leave();
    if (!isStray) return this.stop(error);
    this.stopped = undefined;
    this.#lastRevision = revision;
    if (this.#foreign.length < mostForeign) this.#foreign.push({ stream, revision });
    publish('audit.checkpoint_passed_over', { stream, revision });
    this.#signRest();
  }
}
