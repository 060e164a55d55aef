import { describe, expect, test } from 'vitest';
import { countInactive, countRequest, start } from '../../src/limits/count-request.ts';
import { creditWindows, inferenceWindows } from '../../src/limits/families.ts';
import { inspect } from '../../src/limits/inspect.ts';
import { reserve } from '../../src/limits/reserve.ts';
import { settle } from '../../src/limits/settle.ts';
import { retier } from '../../src/limits/window/records.ts';
import { isRefused, type Ticket } from '../../src/limits/window/ticket.ts';
import { limitSubject } from '../../src/limits/window/window-store.ts';

describe('why was I limited', () => {
  test('tells each window of a scope, and what refused last and when', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    const me = limitSubject('k', 'p', 'o');
    for (let n = 0; n < 4; n++) reserve(store, start(store, me, 1_000) as Ticket, 100_000, 1_000);
    expect(inspect(store, 'key', 'k', 1_000)?.lastRefusal).toBeNull();
    expect(isRefused(start(store, me, 2_000))).toBe(true);
    expect(inspect(store, 'key', 'k', 9_000)).toEqual({
      scope: 'key',
      id: 'k',
      tier: 0,
      windows: [
        { metric: 'requests_per_minute', used: 5, limit: 60, remaining: 55, resetMs: 52_000 },
        { metric: 'requests_per_day', used: 5, limit: 10_000, remaining: 9_995, resetMs: 145 * 600_000 - 9_000 },
        { metric: 'concurrent_requests', used: 4, limit: 4, remaining: 0, resetMs: null },
        { metric: 'tokens_per_minute', used: 400_000, limit: 1_000_000, remaining: 600_000, resetMs: 53_000 },
      ],
      lastRefusal: { metrics: ['concurrent_requests'], agoMs: 7_000 },
    });
    expect(inspect(store, 'organization', 'o', 9_000)?.lastRefusal).toBeNull();
  });

  test('tells of tokens that did not fit', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    const me = limitSubject('k', 'p', 'o');
    const first = reserve(store, start(store, me, 0) as Ticket, 600_000, 0) as Ticket;
    expect(isRefused(reserve(store, start(store, me, 0) as Ticket, 600_000, 3_000))).toBe(true);
    settle(store, first, 600_000);
    expect(inspect(store, 'key', 'k', 4_000)?.lastRefusal).toEqual({ metrics: ['tokens_per_minute'], agoMs: 1_000 });
    expect(inspect(store, 'project', 'p', 4_000)?.lastRefusal).toBeNull();
  });

  test('tells it of the scope that refused, and of no other', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    const last = (scope: 'key' | 'project' | 'organization', id: string) => inspect(store, scope, id, 0)?.lastRefusal;
    // The project's 90 a minute are gone before any of its keys' 60.
    for (let n = 0; n < 90; n++) countRequest(store, limitSubject(`k${n % 3}`, 'p', 'o'), 0);
    expect([last('key', 'k0'), last('project', 'p'), last('organization', 'o')]).toEqual([null, null, null]);
    countRequest(store, limitSubject('k0', 'p', 'o'), 0);
    const refusal = { metrics: ['requests_per_minute'], agoMs: 0 };
    expect([last('key', 'k0'), last('project', 'p'), last('organization', 'o')]).toEqual([null, refusal, null]);
    // The organization's 120.
    for (let n = 0; n < 30; n++) countRequest(store, limitSubject('k9', 'p9', 'o'), 0);
    expect([last('key', 'k9'), last('project', 'p9'), last('organization', 'o')]).toEqual([null, null, refusal]);
  });

  test('tells it of a key that does not work any more', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    const me = limitSubject('k', 'p', 'o');
    for (let n = 0; n < 60; n++) expect(countInactive(store, me, 0)).toBe(0);
    expect(inspect(store, 'key', 'k', 0)?.lastRefusal).toBeNull();
    expect(countInactive(store, me, 1_000)).not.toBe(0);
    expect(inspect(store, 'key', 'k', 1_000)?.lastRefusal).toEqual({ metrics: ['requests_per_minute'], agoMs: 0 });
    expect(inspect(store, 'organization', 'o', 1_000)?.windows[0]).toMatchObject({ used: 0 });
  });

  test('tells it in a family of two scopes', () => {
    const store = creditWindows();
    for (let n = 0; n < 60; n++) countRequest(store, limitSubject('k', null, 'o'), 0);
    expect(inspect(store, 'key', 'k', 0)?.lastRefusal).toBeNull();
    countRequest(store, limitSubject('k', null, 'o'), 0);
    expect(inspect(store, 'key', 'k', 0)?.lastRefusal).toEqual({ metrics: ['requests_per_minute'], agoMs: 0 });
    expect(inspect(store, 'organization', 'o', 0)?.lastRefusal).toBeNull();
  });

  test('counts no further than a bucket holds, and stays refused there', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    const me = limitSubject('k', 'p', 'o');
    for (let n = 0; n < 66_000; n++) countRequest(store, me, n);
    const [, day] = inspect(store, 'key', 'k', 66_000)!.windows;
    expect(day).toMatchObject({ metric: 'requests_per_day', used: 65_535, remaining: 0 });
    expect(inspect(store, 'key', 'k', 66_000)?.lastRefusal?.metrics).toContain('requests_per_day');
  });

  test('is null of what has not been seen, and counts nothing by being asked', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    expect(inspect(store, 'key', 'k', 0)).toBeNull();
    expect(inspect(store, 'credential', 'k', 0)).toBeNull();
    expect(store.size).toBe(0);
  });

  test('shows the limits of the tier that the organization has now', () => {
    let tier: 0 | 4 = 0;
    const store = inferenceWindows({ tierOf: () => tier });
    start(store, limitSubject('k', 'p', 'o'), 0);
    tier = 4;
    retier(store, 'o', 0);
    expect(inspect(store, 'key', 'k', 0)).toMatchObject({ tier: 4, windows: [{ limit: 700 }, {}, { limit: 32 }, {}] });
  });
});
