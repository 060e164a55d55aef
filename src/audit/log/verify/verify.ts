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
import { followHiding, type Hiding } from './hiding.ts';
import { type KeyRing, keyRing } from './key-ring.ts';
import { holdAgainst, type Outside } from './outside.ts';
import { SignedTree } from './signed-tree.ts';

export interface VerifyOptions {
  readonly trusted: readonly Verifier[];
  readonly against: readonly SignedCheckpoint[];
  /** Decides whether events that may be removed are gone too early. */
  readonly now: Millis;
}

export interface Report {
  readonly events: number;
  readonly checkpoints: number;
  readonly covered: number;
  readonly uncovered: number;
  readonly removed: number;
  readonly newest: SignedCheckpoint | null;
  /** All of them, in the order of the tree. */
  readonly findings: readonly Finding[];
  /** Largest size of an agreeing outside checkpoint; null if there is none. */
  readonly outside: number | null;
  /** Leaves that were imported from another log; null if none were. */
  readonly imported: number | null;
  /** Whether an outside checkpoint covers exactly the imported leaves. */
  readonly isImportProven: boolean;
  readonly isKeyTrusted: boolean;
  /** The first covered leaf that no believed key has signed; null if there is none. */
  readonly unprovenFrom: number | null;
  readonly passedOver: readonly Place[];
  readonly mistaken: { readonly origin: string; readonly other: string; readonly count: number } | null;
}

/** For an event without a canonical form: a hash that no signed leaf can have. */
const formlessHash = ({ stream, revision }: Recorded): string => leafHash(`${stream}@${revision}`);

/** Undefined if it has no canonical form. */
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

/** Whole events that are kept for a closer comparison after a mismatch. */
const maxKept = 20_000;

/** @param log all events in global order, including the store's own; foreign ones are skipped */
export const verifyLog = async (log: AsyncIterable<Recorded>, options: VerifyOptions): Promise<Report> => {
  const chains = followChains();
  const hiding = followHiding();
  const keys = keyRing(options.trusted, options.against);
  const outside = holdAgainst(options.against, keys);
  const signed = new SignedTree(keys, outside, options.now);
  let events = 0;
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
  readonly keys: KeyRing;
  readonly outside: Outside;
  readonly broken: readonly Broken[];
  readonly hiding: Hiding;
  readonly events: number;
  readonly origin: string | undefined;
}

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

interface Broken {
  readonly hash: string;
  readonly finding: Finding;
}

/** Missing signatures as one finding, because usually all checkpoints lack theirs, or none. */
const inOne = ([first, ...more]: readonly Finding[]): Finding[] =>
  first ? [{ ...first, says: `${first.says.slice(0, -1)}${andMore(more.length)}.` }] : [];

/** Broken events that no other finding explains. */
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
