import { describe, expect, test } from 'vitest';
import { randomFrom } from '../../../bench/gen/random.ts';
import { type Flight, judgeConcurrency, noticeMs } from '../../../bench/truth/concurrency-oracle.ts';

const limits = { key: 4, project: 6, organization: 8 };
const holders = [
  { key: 'a', project: 'p' },
  { key: 'b', project: 'p' },
  { key: 'c', project: 'q' },
];

interface Flaws {
  readonly extra?: number;
  readonly ignoresOrganization?: boolean;
  /** Slots of streams that were cut are never given back. */
  readonly leaksCut?: boolean;
  /** Milliseconds for which a slot stays taken after its end. */
  readonly lingers?: number;
}

/** A gateway that admits by slots, seen by a client over a way of a millisecond or two. */
const observe = (flaws: Flaws, seed: number): { flights: Flight[]; afterwards: Flight[] } => {
  const { extra = 0, lingers = 0 } = flaws;
  const random = randomFrom(seed);
  const taken: { key: string; project: string; until: number }[] = [];
  const admit = (now: number, { key, project }: (typeof holders)[number]): boolean => {
    const open = taken.filter(({ until }) => until > now);
    const room = (count: number, limit: number): boolean => count < limit + extra;
    return (
      room(open.filter((each) => each.key === key).length, limits.key) &&
      room(open.filter((each) => each.project === project).length, limits.project) &&
      (flaws.ignoresOrganization || room(open.length, limits.organization))
    );
  };
  const ask = (sent: number, holder: (typeof holders)[number]): Flight => {
    const now = sent + 1 + Math.floor(random() * 2);
    if (!admit(now, holder)) {
      return { ...holder, sent, head: now + 1, openUntil: null, ended: now + 1, isRefused: true, isCut: false };
    }
    const length = 100 + random() * 500;
    const isCut = random() < 0.3;
    const ended = now + (isCut ? length / 2 : length);
    // What was cut is noticed a little later.
    taken.push({
      ...holder,
      until: isCut ? (flaws.leaksCut ? Infinity : ended + random() * noticeMs) : ended + lingers,
    });
    return { ...holder, sent, head: now + 1, openUntil: ended - 10, ended: ended + 1, isRefused: false, isCut };
  };
  const flights: Flight[] = [];
  let now = 0;
  for (let burst = 0; burst < 150; burst++) {
    const holder = holders[Math.floor(random() * holders.length)]!;
    for (let i = 0; i < 1 + Math.floor(random() * 8); i++) flights.push(ask(now, holder));
    now += random() * 80;
  }
  const end = Math.max(...flights.map(({ ended }) => ended)) + noticeMs + 1;
  const counts = [limits.key, limits.project - limits.key, limits.organization - limits.project];
  return {
    flights,
    afterwards: holders.flatMap((holder, i) => Array.from({ length: counts[i]! }, () => ask(end, holder))),
  };
};

const seeds = Array.from({ length: 8 }, (_, seed) => seed + 1);
const violated = (flaws: Flaws, seed: number): string[] => {
  const { flights, afterwards } = observe(flaws, seed);
  return judgeConcurrency(flights, limits, afterwards)
    .filter(({ violations }) => violations > 0)
    .map(({ claim }) => claim);
};

test('an exact gateway violates nothing, and every claim has cases', () => {
  for (const seed of seeds) {
    const { flights, afterwards } = observe({}, seed);
    const rows = judgeConcurrency(flights, limits, afterwards);
    expect(rows.filter(({ violations }) => violations > 0)).toEqual([]);
    expect(rows.every(({ cases }) => cases > 0)).toBe(true);
  }
});

describe('a planted bug is caught in every run', () => {
  test.each<[string, Flaws, string]>([
    ['one slot too many', { extra: 1 }, 'never more in flight than the limit'],
    ['an organization without slots', { ignoresOrganization: true }, 'never more in flight than the limit'],
    ['one slot too few', { extra: -1 }, 'nothing is refused while there are slots'],
    ['slots that linger', { lingers: 400 }, 'nothing is refused while there are slots'],
    ['slots that are lost with a cut stream', { leaksCut: true }, 'after any mix of aborts every slot is free again'],
  ])('%s', (_, flaws, claim) => {
    for (const seed of seeds) expect(violated(flaws, seed)).toContain(claim);
  });
});
