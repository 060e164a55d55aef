import type { Millis } from '../../../clock.ts';
import { isRemovable } from '../../../domain/streams.ts';
import { leafHash } from '../../../kernel/store/event-hash.ts';
import type { Recorded } from '../../../kernel/store/store.ts';
import type { SignedCheckpoint } from '../../../merkle/checkpoint.ts';
import { type Frontier, grown, noLeaves, rootOfFrontier } from '../../../merkle/frontier.ts';
import { type CheckpointEvent, checkpointOf } from '../checkpoint-event.ts';
import type { Place } from '../signing.ts';
import { type Actual, align, type Expected, removedEarly, signedStub } from './align.ts';
import type { Finding } from './finding.ts';
import type { KeyRing } from './key-ring.ts';
import type { Outside } from './outside.ts';

const placeText = ({ stream, revision }: Place): string => `${revision}@${stream}`;

/** Six bytes of a hash, to save memory. */
const shortened = (hash: string): number => Buffer.from(hash.slice(0, 8), 'base64').readUIntBE(0, 6);

const bytesOf = ({ hash }: { readonly hash: string }): Buffer => Buffer.from(hash, 'base64');

const stubless = 'The checkpoint lacks what is to stay of an event that may be removed.';

/** The signed tree of a log, matched with its events. */
export class SignedTree {
  readonly findings: Finding[] = [];
  /** Checkpoints without a valid signature: usually all of them or none. */
  readonly unsigned: Finding[] = [];
  /** Leaves of import marks, with their indices. */
  readonly marks = new Map<string, number>();
  tree: Frontier = noLeaves;
  checkpoints = 0;
  /** Events that were removed in due time. */
  removed = 0;
  newest: SignedCheckpoint | null = null;
  /** Leaves covered by a checkpoint with a believed key. */
  proven = 0;
  /** Leaves and events that do not match each other yet. */
  private expected: Expected[] = [];
  private actual: Actual[] = [];
  private isAstray = false;
  private isLost = false;
  private nextRevision = 0;
  private readonly explained = new Set<number>();
  private readonly keys: KeyRing;
  private readonly outside: Outside;
  private readonly now: Millis;

  constructor(keys: KeyRing, outside: Outside, now: Millis) {
    this.keys = keys;
    this.outside = outside;
    this.now = now;
  }

  get waiting(): number {
    return this.actual.length;
  }

  addEvent(event: Actual): void {
    this.actual.push(event);
  }

  addCheckpoint(event: Recorded): void {
    this.checkpoints += 1;
    const { stream, revision } = event;
    const place = { stream, revision };
    this.checkRevision(place);
    const said = checkpointOf(event);
    const { size } = this.tree;
    if (!said) this.add(size, 'checkpoint', 'A checkpoint cannot be read.', place);
    else if (said.from < size)
      this.add(said.from, 'forked', 'A checkpoint begins before the end of the one before.', place);
    else this.extendBy(said, place);
  }

  private extendBy(said: CheckpointEvent, place: Place): void {
    const { size } = this.tree;
    if (said.hashes.length === 0) this.add(size, 'checkpoint', 'The checkpoint adds nothing to the one before.', place);
    // Events stand in for the leaves of missing checkpoints.
    const filled = this.unexplained(said.from - size).map(bytesOf);
    this.extend(filled, null, grown(this.tree, filled));
    const [leaves, after] = this.treeOf(said);
    const { isProven, wrong } = this.keys.judge(said, leaves);
    if (wrong?.class === 'signature') this.unsigned.push({ ...wrong, index: said.from, ...place });
    else if (wrong) this.add(said.from, wrong.class, wrong.says, place);
    if (isProven) this.proven = said.checkpoint.size;
    for (const [index, stub] of Object.entries(said.stubs)) {
      const leaf = leaves[Number(index) - said.from]?.toString('base64');
      if (leaf === undefined || typeof stub !== 'string' || leafHash(stub) !== leaf)
        this.add(said.from, 'checkpoint', `What the checkpoint says of leaf ${index} is not what was signed.`, place);
    }
    this.extend(leaves, said.stubs, after);
    this.newest = said.checkpoint;
    this.settle();
  }

  /** Compares what is left. @returns the events after the last checkpoint */
  end(): readonly { readonly hash: string }[] {
    const wasExplained = (hash: string): boolean => this.explained.has(shortened(hash));
    const { findings, removed, uncovered } = align(this.expected, this.actual, wasExplained, this.now);
    this.findings.push(...findings);
    this.removed += removed;
    return uncovered;
  }

  add(index: number, what: Finding['class'], says: string, more: Partial<Finding> = {}): void {
    this.findings.push({ class: what, index, says, ...more });
  }

  private checkRevision(place: Place): void {
    const { revision } = place;
    const next = this.nextRevision;
    if (revision !== next) {
      this.add(this.tree.size, revision < next ? 'duplicated' : 'missing', `Checkpoint ${next} should be here.`, place);
    }
    this.nextRevision = Math.max(next, revision + 1);
  }

  /** Events of Weir beyond those that leaves wait for. */
  private unexplained(count: number): readonly Actual[] {
    const { length } = this.expected;
    return this.actual.filter(({ isLikeOurs }) => !isLikeOurs).slice(length, length + count);
  }

  /** The checkpoint's leaves, or if its hashes are wrong and the events are right, the events'. */
  private treeOf({ from, hashes, checkpoint }: CheckpointEvent): readonly [readonly Buffer[], Frontier] {
    const isRight = (after: Frontier): boolean => rootOfFrontier(after).equals(checkpoint.root);
    const said = grown(this.tree, hashes);
    if (isRight(said)) return [hashes, said];
    const found = this.unexplained(hashes.length).map(bytesOf);
    const to = from + hashes.length;
    const after = grown(this.tree, found);
    if (!this.isAstray && found.length === hashes.length && isRight(after)) {
      const says = 'The hashes beside a checkpoint are not those that were signed; the events are.';
      this.add(from, 'checkpoint', says, { to });
      return [found, after];
    }
    // Every later root is wrong too.
    if (!this.isLost) {
      const says = 'Neither the events nor the hashes beside the checkpoint are what was signed.';
      this.add(from, 'altered', says, { to });
    }
    this.isLost = true;
    return [hashes, said];
  }

  private extend(leaves: readonly Buffer[], stubs: CheckpointEvent['stubs'] | null, after: Frontier): void {
    this.outside.pass(this.tree, leaves);
    for (const [i, leaf] of leaves.entries()) {
      const index = this.tree.size + i;
      const hash = leaf.toString('base64');
      this.expected.push({ hash, index, stub: stubs === null ? null : stubs[index] });
      if (this.marks.has(hash)) this.marks.set(hash, index);
    }
    this.tree = after;
  }

  /** Matches events with leaves in order, up to the first mismatch. */
  private settle(): void {
    if (this.isAstray) return;
    const { expected, actual } = this;
    let [at, done] = [0, 0];
    let places: ReadonlySet<string> | undefined;
    const isThere = (place: Place): boolean => {
      places ??= new Set(actual.map(placeText));
      return places.has(placeText(place));
    };
    for (; done < expected.length; done++) {
      let here = at;
      while (actual[here]?.isLikeOurs) here += 1;
      const wanted = expected[done]!;
      const found = actual[here];
      if (found?.hash === wanted.hash) {
        at = here + 1;
        if (wanted.stub === undefined && isRemovable(found.stream)) this.add(wanted.index, 'checkpoint', stubless);
      } else if (!this.isGone(wanted, isThere)) break;
      this.explained.add(shortened(wanted.hash));
    }
    this.isAstray = done < expected.length;
    this.expected = expected.slice(done);
    this.actual = actual.slice(at);
  }

  private isGone(wanted: Expected, isThere: (place: Place) => boolean): boolean {
    const stub = signedStub(wanted);
    if (stub === undefined || isThere(stub)) return false;
    const early = removedEarly(stub, wanted.index, this.now);
    if (early) this.findings.push(early);
    else this.removed += 1;
    return true;
  }
}
