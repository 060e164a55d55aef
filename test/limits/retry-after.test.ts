import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { countInactive, countRequest, start } from '../../src/limits/count-request.ts';
import { waitAfter, waitOfInactive } from '../../src/limits/http/retry-after.ts';
import { reserve } from '../../src/limits/reserve.ts';
import { release, settle } from '../../src/limits/settle.ts';
import { isRefused, type Ticket } from '../../src/limits/window/ticket.ts';
import { limitSubject, WindowStore } from '../../src/limits/window/window-store.ts';
import { people, smallPlans } from './world.ts';

vi.setConfig({ testTimeout: 120_000 });

const windows = () =>
  new WindowStore({ name: 'test', scopes: ['key', 'project', 'organization'], plans: smallPlans, tierOf: () => 0 });

interface Asked {
  readonly who: number;
  readonly tokens: number;
  readonly after: number;
  readonly actual: number;
}
const asked: fc.Arbitrary<Asked> = fc.record({
  who: fc.nat(people.length - 1),
  tokens: fc.integer({ min: 1, max: 120 }),
  after: fc.oneof(fc.nat(300), fc.nat(9_000), fc.constantFrom(59_999, 60_000, 600_000, 3_000_000)),
  actual: fc.nat(140),
});

/** One whole request; null when it passed, else the seconds it is told to wait. */
const request = (store: WindowStore, { who, tokens, actual }: Asked, now: number): number | null => {
  const me = limitSubject(...people[who]!);
  const ticket = start(store, me, now);
  const outcome = isRefused(ticket) ? ticket : reserve(store, ticket, tokens, now);
  if (isRefused(outcome)) return waitAfter(store, me, outcome, tokens, now).seconds;
  settle(store, outcome, actual);
  return null;
};

/** Refusals whose wait, `shorter` by so much, was not enough. */
const dishonest = (history: readonly Asked[], shorter: number): { refused: number; failed: number } => {
  const store = windows();
  let now = 0;
  let refused = 0;
  let failed = 0;
  for (const each of history) {
    now += each.after;
    const seconds = request(store, each, now);
    if (seconds === null) continue;
    refused++;
    now += (seconds - shorter) * 1000;
    if (request(store, each, now) !== null) failed++;
  }
  return { refused, failed };
};

describe('Retry-After', () => {
  const histories = fc.array(asked, { minLength: 100, maxLength: 100 });

  test('is honest: whoever waits it out with no other traffic passes', () => {
    let refused = 0;
    fc.assert(
      fc.property(histories, (history) => {
        const seen = dishonest(history, 0);
        refused += seen.refused;
        expect(seen.failed).toBe(0);
      }),
      { numRuns: 100 },
    );
    expect(refused).toBeGreaterThan(1_000);
  });

  test('canary: a second less is often not enough', () => {
    const seen = fc.sample(histories, { numRuns: 30, seed: 7 }).map((history) => dishonest(history, 1));
    const total = (name: 'refused' | 'failed') => seen.reduce((sum, each) => sum + each[name], 0);
    expect(total('failed')).toBeGreaterThan(total('refused') / 3);
  });

  test('looks at windows that the refusal itself has filled', () => {
    const store = windows();
    const me = limitSubject('k', 'p', 'o');
    // Four in flight at the organization alone, from other keys, so that the key's own minute fills by being refused.
    for (const [key, project] of [
      ['a', 'x'],
      ['b', 'y'],
      ['c', 'z'],
      ['d', 'u'],
    ] as const) {
      expect(isRefused(start(store, limitSubject(key, project, 'o'), 0))).toBe(false);
    }
    for (let attempt = 0; attempt < 4; attempt++) {
      const refused = start(store, me, 1_000);
      if (!isRefused(refused)) throw new Error('admitted');
      const wait = waitAfter(store, me, refused, 0, 1_000);
      expect(wait).toEqual({
        scope: 'organization',
        metric: 'concurrent_requests',
        limit: 4,
        model: null,
        seconds: [1, 1, 1, 60][attempt],
      });
    }
  });

  test('names the limit that lasts longest of those that refused', () => {
    const store = windows();
    const me = limitSubject('k', 'p', 'o');
    for (let attempt = 0; attempt < 30; attempt++) countRequest(store, me, attempt * 70_000);
    const why = countRequest(store, me, 30 * 70_000);
    const wait = waitAfter(store, me, why, 0, 30 * 70_000);
    expect(wait).toMatchObject({ scope: 'key', metric: 'requests_per_day', limit: 30 });
    expect(wait.seconds).toBe(145 * 600 - 30 * 70);
  });

  test('takes the minute windows as needed whole where the body was too large to read, and the day window as sufficient', () => {
    const store = windows();
    const me = limitSubject('k', 'p', 'o');
    const first = reserve(store, start(store, me, 0) as Ticket, 10, 0) as Ticket;
    settle(store, first, 10);
    for (let attempt = 0; attempt < 3; attempt++) release(store, start(store, me, 1_500) as Ticket);
    const refused = start(store, me, 1_500);
    if (!isRefused(refused)) throw new Error('admitted');
    // The minute's tokens of second 0 leave at 61 s; the requests of 0 s at 60 s.
    expect(waitAfter(store, me, refused, 'unknown', 1_500).seconds).toBe(60);
    expect(waitAfter(store, me, refused, 90, 1_500).seconds).toBe(60);
    // What is no number would fit nothing but an idle day.
    expect(waitAfter(store, me, refused, Number.NaN, 1_500).seconds).toBe(86_999);
    const again = start(store, me, 30_000);
    if (!isRefused(again)) throw new Error('admitted');
    expect(waitAfter(store, me, again, 'unknown', 30_000).seconds).toBe(32);
    expect(waitAfter(store, me, again, 90, 30_000).seconds).toBe(32);
  });

  test('of an inactive key knows its own windows alone, and leaves those of its project in peace', () => {
    const store = windows();
    const me = limitSubject('k', 'p', 'o');
    for (let attempt = 0; attempt < 4; attempt++) expect(countInactive(store, me, 0)).toBe(0);
    const why = countInactive(store, me, 10);
    expect(why).not.toBe(0);
    expect(waitOfInactive(store, me, why, 10)).toEqual({
      scope: 'key',
      metric: 'requests_per_minute',
      limit: 4,
      model: null,
      seconds: 60,
    });
    for (let other = 0; other < 3; other++) {
      const ticket = start(store, limitSubject(`k${other}`, 'p', 'o'), 10);
      expect(isRefused(ticket)).toBe(false);
      release(store, ticket as Ticket);
    }
  });
});
