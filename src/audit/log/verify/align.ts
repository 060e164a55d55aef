import type { Millis } from '../../../clock.ts';
import { goneFrom } from '../../../domain/streams.ts';
import { type Hashed, leafHash } from '../../../kernel/store/event-hash.ts';
import { leafOf, type Stub, stubOf } from '../leaf.ts';
import type { Finding } from './finding.ts';

export interface Expected {
  readonly hash: string;
  readonly index: number;
  /** Null if it is unknown whether the leaf has a stub. */
  readonly stub: string | null | undefined;
}

export interface Actual {
  readonly hash: string;
  readonly stream: string;
  readonly revision: number;
  /** On one of Weir's streams, but not what Weir writes: considered only in the place of a missing event. */
  readonly isLikeOurs: boolean;
  /** Only for the first events, to limit memory. */
  readonly event?: Hashed | undefined;
}

/** Indices of the longest increasing subsequence; negative numbers are skipped. */
const longestRise = (numbers: readonly number[]): Set<number> => {
  const ends: number[] = [];
  const before: number[] = [];
  for (const [i, number] of numbers.entries()) {
    if (number < 0) continue;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[ends[middle]!]! < number) low = middle + 1;
      else high = middle;
    }
    before[i] = low > 0 ? ends[low - 1]! : -1;
    ends[low] = i;
  }
  const found = new Set<number>();
  for (let i = ends.at(-1) ?? -1; i >= 0; i = before[i]!) found.add(i);
  return found;
};

/** Undefined unless the event may be removed and its stub is the signed one. */
export const signedStub = ({ hash, stub }: Expected): Stub | undefined =>
  stub != null && leafHash(stub) === hash ? stubOf(stub) : undefined;

const isOf = (stub: Stub, { stream, revision }: Actual): boolean =>
  stream === stub.stream && revision === stub.revision;

export const removedEarly = ({ stream, revision }: Stub, index: number, now: Millis): Finding | undefined =>
  goneFrom(stream) <= now
    ? undefined
    : { class: 'missing', index, stream, revision, says: 'The event is gone, and its time is not over.' };

/** How many streams are tried for an event that was moved. */
const mostTried = 64;

const alteration = (expected: Expected, actual: Actual, others: readonly Actual[]): Finding => {
  const { index } = expected;
  const { stream, revision } = actual;
  if (index === 0)
    return { class: 'genesis', index, stream, revision, says: 'The first event is not the one that was signed.' };
  const isMoved = others.slice(0, mostTried).some((other) => {
    if (other.stream === stream || !actual.event) return false;
    return [other.revision, revision].some(
      (at) => leafOf({ ...actual.event!, stream: other.stream, revision: at }).hash === expected.hash,
    );
  });
  return isMoved
    ? { class: 'swapped', index, stream, revision, says: 'The event was signed as one of another stream.' }
    : { class: 'altered', index, stream, revision, says: 'The event is not the one that was signed.' };
};

/**
 * The smallest set of changes from the signed leaves to the present ones.
 * @param expected without gaps
 * @param wasThere whether a hash was matched among earlier leaves
 */
export const align = (
  expected: readonly Expected[],
  actual: readonly Actual[],
  wasThere: (hash: string) => boolean,
  now: Millis,
): { readonly findings: Finding[]; readonly removed: number; readonly uncovered: readonly Actual[] } => {
  const places = new Map(expected.map(({ hash }, i) => [hash, i]));
  const seen = new Set<string>();
  const isDuplicate = actual.map(
    ({ hash }) => wasThere(hash) || (places.has(hash) && seen.size === seen.add(hash).size),
  );
  const mapped = actual.map(({ hash, isLikeOurs }, i) =>
    isLikeOurs || isDuplicate[i] ? -1 : (places.get(hash) ?? -1),
  );
  const kept = longestRise(mapped);
  const findings: Finding[] = [];
  const pairs: [Expected, Actual][] = [];
  let removed = 0;
  let next = 0;
  let strangers: Actual[] = [];

  /** Pairs the missing leaves up to `end` with the unknown ones in their place. */
  const closeGap = (end: number, isLast: boolean): Actual[] => {
    const lost = expected.slice(next, end).filter(({ hash }) => !seen.has(hash));
    const left = [...strangers];
    for (const each of lost) {
      const stub = signedStub(each);
      const at = stub ? left.findIndex((other) => isOf(stub, other)) : 0;
      const [found] = at >= 0 ? left.splice(at, 1) : [];
      const early = stub && removedEarly(stub, each.index, now);
      if (found) pairs.push([each, found]);
      else if (early) findings.push(early);
      else if (stub) removed += 1;
      else if (each.index === 0) findings.push({ class: 'genesis', index: 0, says: 'The first event is not there.' });
      else findings.push({ class: 'missing', index: each.index, says: 'An event that was signed is not there.' });
    }
    strangers = [];
    const more = left.filter(({ isLikeOurs }) => !isLikeOurs);
    if (isLast) return more;
    for (const { stream, revision } of more) {
      const index = expected[end]?.index ?? 0;
      findings.push({ class: 'inserted', index, stream, revision, says: 'The event was not signed.' });
    }
    return [];
  };

  for (const [i, each] of actual.entries()) {
    const { stream, revision } = each;
    const at = mapped[i]!;
    if (kept.has(i)) {
      closeGap(at, false);
      next = at + 1;
    } else if (isDuplicate[i]) {
      const index = expected[next]?.index ?? (expected.at(-1)?.index ?? -1) + 1;
      findings.push({ class: 'duplicated', index, stream, revision, says: 'The event is there once more.' });
    } else if (at >= 0) {
      const index = Math.min(expected[at]!.index, expected[next]?.index ?? Number.POSITIVE_INFINITY);
      findings.push({ class: 'reordered', index, stream, revision, says: 'The event is not in its place.' });
    } else {
      strangers.push(each);
    }
  }
  const uncovered = closeGap(expected.length, true);
  const others = pairs.map(([, each]) => each);
  for (const [wanted, found] of pairs) findings.push(alteration(wanted, found, others));
  return { findings, removed, uncovered };
};
