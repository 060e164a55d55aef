import type { Millis } from '../../../clock.ts';
import { whose } from '../../../domain/streams.ts';
import { hashOf, leafHash } from '../../../kernel/store/event-hash.ts';
import type { Recorded } from '../../../kernel/store/store.ts';
import type { SignedCheckpoint } from '../../../merkle/checkpoint.ts';
import type { Verifier } from '../../../merkle/note.ts';
import { originOf } from '../keys.ts';
import { checkpointStream, keyStream, leafOf } from '../leaf.ts';
import type { Place } from '../signing.ts';
import { followChains } from './chain.ts';
import { andMore, type Finding, sorted } from './finding.ts';
import { followHiding } from './hiding.ts';
import { keyRing } from './key-ring.ts';
import { holdAgainst } from './outside.ts';
import { SignedTree } from './signed-tree.ts';

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

const anothersKeys =
  'None of the keys that are known from elsewhere (--pub, or else the secrets in SECRETS_DIR) is one of this log: they are of another, or it is.';
const formless = 'The event holds what has no canonical form, so nobody has written it through Weir.';

/** Events that are kept whole once something is wrong, for a closer look. */
const maxKept = 20_000;

/**
 * Reads a whole log and says what is wrong with it.
 * @param log all events in the global order, the store's own included; what others have written is passed over
 */
export const verifyLog = async (log: AsyncIterable<Recorded>, options: VerifyOptions): Promise<Report> => {
  const chains = followChains();
  const hiding = followHiding();
  const keys = keyRing(options.trusted, options.against);
  const outside = holdAgainst(options.against, keys);
  const signed = new SignedTree(keys, outside, options.now);
  let events = 0;
  /** The name that the log has given itself last. */
  let origin: string | undefined;
  const broken: Broken[] = [];
  const breaks = (event: Recorded, hash: string, what: Finding['class'], says: string): void => {
    const { stream, revision } = event;
    broken.push({ hash, finding: { class: what, index: 0, stream, revision, says } });
  };

  for await (const event of log) {
    hiding.add(event, signed.tree.size);
    if (event.type.startsWith('$')) continue;
    const is = whose(event);
    if (is === 'foreign') continue;
    const isLikeOurs = is !== 'ours';
    if (!isLikeOurs) events += 1;
    const { stream, revision } = event;
    if (stream === checkpointStream && !isLikeOurs) {
      const { newest } = signed;
      signed.addCheckpoint(event);
      if (signed.newest !== newest) origin = signed.newest?.origin;
      continue;
    }
    const found = readableHash(event);
    const own = found ?? formlessHash(event);
    const { hash } = leafOf(event, own);
    const isKept = found !== undefined && signed.waiting < maxKept;
    signed.addEvent({ hash, stream, revision, isLikeOurs, event: isKept ? event : undefined });
    if (isLikeOurs) {
      chains.pass(event);
      continue;
    }
    keys.add(event, hash);
    if (event.type === 'log.started') origin = originOf(String(event.data.log_id));
    if (event.type === 'log.imported') signed.marks.set(hash, 0);
    const says = chains.add(event, own);
    if (found === undefined) breaks(event, hash, 'altered', formless);
    else if (says !== undefined) breaks(event, hash, 'chain', says);
  }

  return reportOf({ signed, keys, outside, broken, hiding, events, origin });
};

interface Read {
  readonly signed: SignedTree;
  readonly keys: ReturnType<typeof keyRing>;
  readonly outside: ReturnType<typeof holdAgainst>;
  readonly broken: readonly Broken[];
  readonly hiding: ReturnType<typeof followHiding>;
  readonly events: number;
  readonly origin: string | undefined;
}

/** What the whole log comes to, once all of it has been read. */
const reportOf = ({ signed, keys, outside, broken, hiding, events, origin }: Read): Report => {
  const uncovered = signed.end();
  const { findings, marks, newest, tree } = signed;
  const tail = new Map(uncovered.map(({ hash }, i) => [hash, tree.size + i]));
  for (const hash of marks.keys()) marks.set(hash, tail.get(hash) ?? marks.get(hash) ?? 0);
  if (keys.isAnothers && newest) signed.add(0, 'key', anothersKeys);
  else findings.push(...inOne(signed.unsigned));
  findings.push(...unexplained(broken, findings, tail));
  const tailLeaves = uncovered.map(({ hash }) => Buffer.from(hash, 'base64'));
  const held = outside.end(tree, tailLeaves, findings, origin);
  const [stranger] = held.ofOthers;
  const outermost = [...held.agreed].at(-1) ?? null;
  const proven = Math.max(signed.proven, outermost ?? 0);
  return {
    events,
    checkpoints: signed.checkpoints,
    removed: signed.removed,
    covered: tree.size,
    uncovered: uncovered.length,
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

/** An event that breaks a chain or has no canonical form. */
interface Broken {
  readonly hash: string;
  readonly finding: Finding;
}

/** Missing signatures as one finding: as a rule all checkpoints lack theirs, or none. */
const inOne = ([first, ...more]: readonly Finding[]): Finding[] =>
  first ? [{ ...first, says: `${first.says.slice(0, -1)}${andMore(more.length)}.` }] : [];

/** Of the broken events those that no other finding explains. */
const unexplained = (
  broken: readonly Broken[],
  findings: readonly Finding[],
  tail: ReadonlyMap<string, number>,
): Finding[] => {
  const touched = new Set(findings.map(({ stream }) => stream));
  let isFirst = findings.length === 0;
  return broken.flatMap(({ hash, finding }) => {
    const index = tail.get(hash);
    const isExplained = !isFirst && (index === undefined || touched.has(finding.stream));
    if (isExplained) return [];
    isFirst = false;
    return [{ ...finding, index: index ?? 0 }];
  });
};
