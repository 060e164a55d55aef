import type { Millis } from '../../../clock.ts';
import { isRemovable, whose } from '../../../domain/streams.ts';
import { hashOf, leafHash } from '../../../kernel/store/event-hash.ts';
import type { Recorded } from '../../../kernel/store/store.ts';
import type { SignedCheckpoint } from '../../../merkle/checkpoint.ts';
import { type Frontier, grown, noLeaves, rootOfFrontier } from '../../../merkle/frontier.ts';
import type { Verifier } from '../../../merkle/note.ts';
import { type CheckpointEvent, checkpointOf } from '../checkpoint-event.ts';
import { originOf } from '../keys.ts';
import { checkpointStream, keyStream, leafOf } from '../leaf.ts';
import { type Actual, align, type Expected, removedEarly, signedStub } from './align.ts';
import { followChains } from './chain.ts';
import { andMore, type Finding, sorted } from './finding.ts';
import { followHiding } from './hiding.ts';
import { keyRing } from './key-ring.ts';
import { holdAgainst } from './outside.ts';

type Place = Pick<Recorded, 'stream' | 'revision'>;

export interface VerifyOptions {
  /** Keys that are known from elsewhere than the log. */
  readonly trusted: readonly Verifier[];
  /** Checkpoints that are known from elsewhere than the log. */
  readonly against: readonly SignedCheckpoint[];
  /** Milliseconds: whether what may be removed one day has a right to be gone. */
  readonly now: Millis;
}

export interface Report {
  /** Of ours, the checkpoints among them. */
  readonly events: number;
  readonly checkpoints: number;
  /** Leaves that a checkpoint covers, and those behind the last. */
  readonly covered: number;
  readonly uncovered: number;
  /** Events that were removed, as events of their kind may be. */
  readonly removed: number;
  readonly newest: SignedCheckpoint | null;
  /** Complete, in the order of the tree. */
  readonly findings: readonly Finding[];
  /** The largest size up to which a checkpoint from elsewhere shows that nothing was taken back; null where none does. */
  readonly outside: number | null;
  /** The log was copied from another: so many leaves of it came from there. Null where it was not. */
  readonly imported: number | null;
  /** A checkpoint from elsewhere covers all that was copied and nothing since: the log that it came from has signed it. */
  readonly isImportProven: boolean;
  /** Whether a key is known from elsewhere than the log. */
  readonly isKeyTrusted: boolean;
  /** The first leaf of those that checkpoints cover and nobody vouches for: their key is in the log alone. Null where there is none. */
  readonly unprovenFrom: number | null;
  /** Events of keys for which nobody vouches. */
  readonly passedOver: readonly Place[];
  /** The names of this log and of another, of which some checkpoints from elsewhere are; null where none is. */
  readonly mistaken: { readonly origin: string; readonly other: string; readonly count: number } | null;
}

const placeText = ({ stream, revision }: Place): string => `${revision}@${stream}`;

/** Six bytes of a hash. */
const shortened = (hash: string): number => Buffer.from(hash.slice(0, 8), 'base64').readUIntBE(0, 6);

/** Of what has no canonical form: it is nothing that was signed, and this the hash of nothing that ever is. */
const formlessHash = ({ stream, revision }: Recorded): string => leafHash(`${stream}@${revision}`);

/** The event's hash, where it has one. */
const readableHash = (event: Recorded): string | undefined => {
  try {
    return hashOf(event);
  } catch {
    return undefined;
  }
};

const stubless = 'The checkpoint lacks what is to stay of an event that may be removed.';
const anothersKeys =
  'None of the keys that are known from elsewhere (--pub, or else the secrets in SECRETS_DIR) is one of this log: they are of another, or it is.';
const formless = 'The event holds what has no canonical form, so nobody has written it through Weir.';

/** Events that are kept whole once something is wrong, for a closer look. */
const mostKept = 20_000;

/**
 * Reads a whole log and says what is wrong with it.
 * @param log all events in the global order, the store's own included; what others have written is passed over
 */
export const verifyLog = async (log: AsyncIterable<Recorded>, options: VerifyOptions): Promise<Report> => {
  const findings: Finding[] = [];
  const chains = followChains();
  const hiding = followHiding();
  const keys = keyRing(options.trusted, options.against);
  const outside = holdAgainst(options.against, keys);
  /** What the checkpoints say of the tree, and the leaves of it that the events do not explain yet. */
  let tree: Frontier = noLeaves;
  let expected: Expected[] = [];
  let actual: Actual[] = [];
  let isAstray = false;
  let isLost = false;
  let nextRevision = 0;
  /** The leaves that were found in their places, shortened: there are many. */
  const explained = new Set<number>();
  const wasExplained = (hash: string): boolean => explained.has(shortened(hash));
  const counts = { events: 0, checkpoints: 0, removed: 0 };
  let newest: SignedCheckpoint | null = null;
  /** Leaves that a checkpoint covers for whose key somebody vouches. */
  let proven = 0;
  /** Of the marks of imports, their leaves, and where those are in the tree. */
  const marks = new Map<string, number>();
  /** Names that the log gives itself; its last checkpoint has the last. */
  const origins: string[] = [];
  /** Checkpoints that are not signed as they should be: as a rule all, or none. */
  const unsigned: Finding[] = [];
  const broken: { readonly hash: string; readonly finding: Finding }[] = [];

  const add = (index: number, what: Finding['class'], says: string, more: Partial<Finding> = {}): void => {
    findings.push({ class: what, index, says, ...more });
  };

  /** Lets the events explain the leaves, as far as they do so one after another. */
  const settle = (): void => {
    if (isAstray) return;
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
        if (wanted.stub === undefined && isRemovable(found.stream)) add(wanted.index, 'checkpoint', stubless);
      } else if (!isGone(wanted, isThere)) break;
      explained.add(shortened(wanted.hash));
    }
    isAstray = done < expected.length;
    expected = expected.slice(done);
    actual = actual.slice(at);
  };
  const isGone = (wanted: Expected, isThere: (place: Place) => boolean): boolean => {
    const stub = signedStub(wanted);
    if (stub === undefined || isThere(stub)) return false;
    const early = removedEarly(stub, wanted.index, options.now);
    if (early) findings.push(early);
    else counts.removed += 1;
    return true;
  };

  /** The tree with the leaves that a checkpoint adds: as it says, or where that is not what was signed and the events are, as they say. */
  const treeOf = ({ from, hashes, checkpoint }: CheckpointEvent): readonly [readonly Buffer[], Frontier] => {
    const isRight = (after: Frontier): boolean => rootOfFrontier(after).equals(checkpoint.root);
    const said = grown(tree, hashes);
    if (isRight(said)) return [hashes, said];
    const there = actual
      .filter(({ isLikeOurs }) => !isLikeOurs)
      .slice(expected.length, expected.length + hashes.length);
    const found = there.map(({ hash }) => Buffer.from(hash, 'base64'));
    const to = from + hashes.length;
    const after = grown(tree, found);
    if (!isAstray && found.length === hashes.length && isRight(after)) {
      add(from, 'checkpoint', 'The hashes beside a checkpoint are not those that were signed; the events are.', { to });
      return [found, after];
    }
    // From here on no root can be right.
    if (!isLost)
      add(from, 'altered', 'Neither the events nor the hashes beside the checkpoint are what was signed.', { to });
    isLost = true;
    return [hashes, said];
  };

  const check = (event: Recorded): void => {
    counts.checkpoints += 1;
    const said = checkpointOf(event);
    const { stream, revision } = event;
    const place = { stream, revision };
    if (revision !== nextRevision) {
      add(
        tree.size,
        revision < nextRevision ? 'duplicated' : 'missing',
        `Checkpoint ${nextRevision} should be here.`,
        place,
      );
    }
    nextRevision = Math.max(nextRevision, revision + 1);
    if (!said) {
      add(tree.size, 'checkpoint', 'A checkpoint cannot be read.', place);
      return;
    }
    if (said.from < tree.size) {
      add(said.from, 'forked', 'A checkpoint begins before the end of the one before.', place);
      return;
    }
    if (said.hashes.length === 0) add(tree.size, 'checkpoint', 'The checkpoint adds nothing to the one before.', place);
    // Checkpoints are missing, which was said: the events stand for what they covered.
    const gap = actual
      .filter(({ isLikeOurs }) => !isLikeOurs)
      .slice(expected.length, expected.length + said.from - tree.size);
    const filled = gap.map(({ hash }) => Buffer.from(hash, 'base64'));
    extend(filled, null, grown(tree, filled));
    const [leaves, after] = treeOf(said);
    const { isProven, wrong } = keys.judge(said, leaves);
    if (wrong?.class === 'signature') unsigned.push({ ...wrong, index: said.from, ...place });
    else if (wrong) add(said.from, wrong.class, wrong.says, place);
    if (isProven) proven = said.checkpoint.size;
    for (const [index, stub] of Object.entries(said.stubs)) {
      const leaf = leaves[Number(index) - said.from]?.toString('base64');
      if (leaf === undefined || typeof stub !== 'string' || leafHash(stub) !== leaf)
        add(said.from, 'checkpoint', `What the checkpoint says of leaf ${index} is not what was signed.`, place);
    }
    extend(leaves, said.stubs, after);
    newest = said.checkpoint;
    origins.push(newest.origin);
    settle();
  };

  /** @param stubs null where the checkpoint that had them is missing */
  const extend = (leaves: readonly Buffer[], stubs: CheckpointEvent['stubs'] | null, after: Frontier): void => {
    outside.pass(tree, leaves);
    for (const [i, leaf] of leaves.entries()) {
      const index = tree.size + i;
      const hash = leaf.toString('base64');
      expected.push({ hash, index, stub: stubs === null ? null : stubs[index] });
      if (marks.has(hash)) marks.set(hash, index);
    }
    tree = after;
  };

  for await (const event of log) {
    hiding.add(event, tree.size);
    if (event.type.startsWith('$')) continue;
    const is = whose(event);
    if (is === 'foreign') continue;
    if (is === 'ours') counts.events += 1;
    const { stream, revision } = event;
    if (stream === checkpointStream && is === 'ours') {
      check(event);
      continue;
    }
    const found = readableHash(event);
    const own = found ?? formlessHash(event);
    const { hash } = leafOf(event, own);
    actual.push({
      hash,
      stream,
      revision,
      isLikeOurs: is !== 'ours',
      event: found !== undefined && actual.length < mostKept ? event : undefined,
    });
    if (is !== 'ours') {
      chains.pass(event);
      continue;
    }
    keys.add(event, hash);
    if (event.type === 'log.started') origins.push(originOf(String(event.data.log_id)));
    if (event.type === 'log.imported') marks.set(hash, 0);
    const says = chains.add(event, own);
    if (found === undefined)
      broken.push({ hash, finding: { class: 'altered', index: 0, stream, revision, says: formless } });
    else if (says !== undefined) broken.push({ hash, finding: { class: 'chain', index: 0, stream, revision, says } });
  }

  const end = align(expected, actual, wasExplained, options.now);
  findings.push(...end.findings);
  const tail = new Map(end.uncovered.map(({ hash }, i) => [hash, tree.size + i]));
  for (const hash of marks.keys()) marks.set(hash, tail.get(hash) ?? marks.get(hash) ?? 0);
  const [firstUnsigned, ...moreUnsigned] = unsigned;
  if (keys.isAnothers && newest) add(0, 'key', anothersKeys);
  else if (firstUnsigned)
    findings.push({ ...firstUnsigned, says: `${firstUnsigned.says.slice(0, -1)}${andMore(moreUnsigned.length)}.` });
  const touched = new Set(findings.map(({ stream }) => stream));
  for (const { hash, finding } of broken) {
    const index = tail.get(hash);
    const isExplained = findings.length > 0 && (index === undefined || touched.has(finding.stream));
    if (!isExplained) findings.push({ ...finding, index: index ?? 0 });
  }
  const tailLeaves = end.uncovered.map(({ hash }) => Buffer.from(hash, 'base64'));
  const origin = origins.at(-1);
  const held = outside.end(tree, tailLeaves, findings, origin);
  const [stranger] = held.ofOthers;
  const outermost = [...held.agreed].at(-1) ?? null;
  proven = Math.max(proven, outermost ?? 0);
  return {
    ...counts,
    removed: counts.removed + end.removed,
    covered: tree.size,
    uncovered: end.uncovered.length,
    newest,
    findings: sorted([...findings, ...hiding.findings, ...held.findings]),
    outside: outermost,
    unprovenFrom: proven < tree.size ? proven : null,
    passedOver: keys.passedOver.map(({ revision }) => ({ stream: keyStream, revision })),
    imported: marks.size === 0 ? null : Math.max(...marks.values()),
    isImportProven: [...marks.values()].every((size) => held.agreed.has(size)),
    isKeyTrusted: keys.isTrusted,
    mistaken: stranger && origin !== undefined ? { origin, other: stranger.origin, count: held.ofOthers.length } : null,
  };
};
