import { describe, expect, test } from 'vitest';
import { randomFrom } from '../../../bench/gen/random.ts';
import { type Attempt, judgeWindow, windowMs } from '../../../bench/truth/window-oracle.ts';

const limits = { key: 6, project: 9, organization: 12 };
const holders = [
  { key: 'a', project: 'p' },
  { key: 'b', project: 'p' },
  { key: 'c', project: 'q' },
];

interface Answer {
  readonly isRefused: boolean;
  readonly retryAfter: number | null;
}
/** A limiter as a server has one: asked at a whole millisecond. */
type Limiter = (now: number, holder: (typeof holders)[number]) => Answer;

interface Flaws {
  /** Milliseconds of the window. */
  readonly window?: number;
  readonly countsRefused?: boolean;
  /** Windows that begin anew at fixed times. */
  readonly isFixed?: boolean;
  /** One more than the limit. */
  readonly extra?: number;
  readonly ignoresOrganization?: boolean;
  /** Seconds added to Retry-After. */
  readonly advice?: number;
  readonly looksOnlyAtTheKey?: boolean;
  readonly isSilent?: boolean;
  /** Two workers that do not know of each other. */
  readonly workers?: number;
}

/** The limiter of contract F.1, or one with a planted bug. */
const limiter = (flaws: Flaws = {}): Limiter => {
  const { window = windowMs, countsRefused = true, isFixed = false, extra = 0, advice = 0, workers = 1 } = flaws;
  const logs = Array.from({ length: workers }, () => new Map<string, number[]>());
  let turn = 0;
  return (now, { key, project }) => {
    const log = logs[turn++ % workers]!;
    const scopes = [
      { name: key, limit: limits.key },
      { name: project, limit: limits.project },
      ...(flaws.ignoresOrganization ? [] : [{ name: 'organization', limit: limits.organization }]),
    ];
    const begin = isFixed ? Math.floor(now / window) * window : now - window + 1;
    const times = ({ name }: { name: string }) => log.get(name) ?? [];
    const isRefused = scopes.some((scope) => times(scope).filter((at) => at >= begin).length >= scope.limit + extra);
    if (countsRefused || !isRefused) for (const scope of scopes) log.set(scope.name, [...times(scope), now]);
    const looked = flaws.looksOnlyAtTheKey ? scopes.slice(0, 1) : scopes;
    const room = Math.max(
      ...looked.map((scope) => {
        const newest = times(scope).toSorted((a, b) => b - a)[scope.limit - 1];
        return newest === undefined ? now : newest + windowMs;
      }),
    );
    const retryAfter = Math.max(1, Math.ceil((room - now) / 1000)) + advice;
    return { isRefused, retryAfter: isRefused && !flaws.isSilent ? Math.max(1, retryAfter) : null };
  };
};

/** A client that sends bursts at the edges of the minute, over a way that takes up to 3 ms each direction. */
const observe = (limit: Limiter, seed: number): Attempt[] => {
  const random = randomFrom(seed);
  const attempts: Attempt[] = [];
  let now = 10_000;
  const send = (holder: (typeof holders)[number], isPatient: boolean): Attempt => {
    const sent = now;
    now += Math.ceil(random() * 3);
    const answer = limit(now, holder);
    now += Math.ceil(random() * 3);
    const attempt = { ...holder, ...answer, sent, received: now, isPatient };
    attempts.push(attempt);
    return attempt;
  };
  for (let burst = 0; burst < 60; burst++) {
    const holder = holders[Math.floor(random() * holders.length)]!;
    const size = 1 + Math.floor(random() * (random() < 0.3 ? 9 : 3));
    for (let i = 0; i < size; i++) send(holder, false);
    const edge = Math.ceil(now / windowMs) * windowMs;
    now += Math.max(1, Math.floor(random() < 0.3 ? edge - now - 20 + random() * 40 : random() * 9_000));
  }
  for (let i = 0; i < 6; i++) {
    let refused = send(holders[i % 3]!, false);
    for (let tries = 0; !refused.isRefused && tries < 30; tries++) refused = send(holders[i % 3]!, false);
    if (refused.retryAfter === null) continue;
    now += refused.retryAfter * 1000;
    send(holders[i % 3]!, true);
  }
  return attempts;
};

const seeds = Array.from({ length: 8 }, (_, seed) => seed + 1);
const violatedClaims = (flaws: Flaws, seed: number): string[] =>
  judgeWindow(observe(limiter(flaws), seed), limits)
    .filter(({ violations }) => violations > 0)
    .map(({ claim }) => claim);

test('an exact limiter violates nothing, and every claim has cases', () => {
  for (const seed of seeds) {
    const rows = judgeWindow(observe(limiter(), seed), limits);
    expect(rows.filter(({ violations }) => violations > 0)).toEqual([]);
    expect(rows.every(({ cases }) => cases > 0)).toBe(true);
  }
});

describe('a planted bug is caught in every run', () => {
  test.each<[string, Flaws, string]>([
    ['fixed windows, which admit twice the limit', { isFixed: true }, 'never more than the limit admitted in any 60 s'],
    [
      'a window that is a second short',
      { window: windowMs - 1000 },
      'admitted only below the limit, refused attempts counted',
    ],
    ['one more than the limit', { extra: 1 }, 'never more than the limit admitted in any 60 s'],
    ['two workers with counters of their own', { workers: 2 }, 'never more than the limit admitted in any 60 s'],
    [
      'an organization that is not limited',
      { ignoresOrganization: true },
      'admitted only below the limit, refused attempts counted',
    ],
    [
      'refused attempts that do not count',
      { countsRefused: false },
      'admitted only below the limit, refused attempts counted',
    ],
    ['a window that is a second long', { window: windowMs + 1000 }, 'nothing is refused below the limit'],
    ['one less than the limit', { extra: -1 }, 'nothing is refused below the limit'],
    ['refusals without advice', { isSilent: true }, 'every refusal says when to come back'],
    ['advice that is a second early', { advice: -1 }, 'Retry-After is never too early'],
    ['advice by the key alone', { looksOnlyAtTheKey: true }, 'Retry-After is never too early'],
    ['advice that is a second late', { advice: 1 }, 'Retry-After is never too late'],
  ])('%s', (_, flaws, claim) => {
    for (const seed of seeds) expect(violatedClaims(flaws, seed)).toContain(claim);
  });

  test('a client that waited out early advice is turned away', () => {
    const caught = seeds.filter((seed) =>
      violatedClaims({ advice: -2 }, seed).includes('who waits it out is admitted'),
    );
    expect(caught.length).toBeGreaterThan(seeds.length / 2);
  });
});

test('what is within the delays of the way is no violation', () => {
  const one = { key: 'a', project: 'p', isRefused: false, retryAfter: null, isPatient: false };
  // Seven admitted, the last possibly 60 s after the first.
  const attempts = [0, 1, 2, 3, 4, 5, 59_999].map((sent) => ({ ...one, sent, received: sent + 5 }));
  expect(judgeWindow(attempts, limits)[0]!.violations).toBe(0);
  const sooner = attempts.map((attempt, i) => (i === 6 ? { ...attempt, sent: 59_990, received: 59_999 } : attempt));
  expect(judgeWindow(sooner, limits)[0]!.violations).toBe(1);
});
