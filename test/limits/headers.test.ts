import { describe, expect, test } from 'vitest';
import { countRequest, start } from '../../src/limits/count-request.ts';
import { administrationWindows, creditWindows, inferenceWindows } from '../../src/limits/families.ts';
import { administrationLines } from '../../src/limits/http/administration-headers.ts';
import { inDigits, inSeconds } from '../../src/limits/http/digits.ts';
import { creditLines, quotaLines } from '../../src/limits/http/headers.ts';
import { waitAfter } from '../../src/limits/http/retry-after.ts';
import { reserve } from '../../src/limits/reserve.ts';
import { release } from '../../src/limits/settle.ts';
import { isRefused, type Ticket } from '../../src/limits/window/ticket.ts';
import { limitSubject } from '../../src/limits/window/window-store.ts';
import { asHeaders } from './as-headers.ts';

describe('the quota headers', () => {
  test('are lines that join to others, of the key where all scopes are as tight', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    const me = limitSubject('k', 'p', 'o');
    start(store, me, 1_000.7);
    expect(quotaLines(store, me, 1_129.2)).toBe(
      '\r\nx-ratelimit-limit-requests: 60\r\nx-ratelimit-remaining-requests: 59\r\nx-ratelimit-reset-requests: 59.871s' +
        '\r\nx-ratelimit-limit-tokens: 1000000\r\nx-ratelimit-remaining-tokens: 1000000\r\nx-ratelimit-reset-tokens: 0s',
    );
  });

  test('include a reservation, and name the project when its tokens are the tightest', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    const take = (key: string, project: string, tokens: number) =>
      reserve(store, start(store, limitSubject(key, project, 'o'), 0) as Ticket, tokens, 0);
    take('a', 'p', 600_000);
    take('b', 'p', 500_000);
    expect(asHeaders(quotaLines(store, limitSubject('c', 'p', 'o'), 10_500))).toMatchObject({
      'x-ratelimit-limit-tokens': '1500000',
      'x-ratelimit-remaining-tokens': '400000',
      'x-ratelimit-reset-tokens': '50.5s',
      'x-ratelimit-limit-project-tokens': '1500000',
      'x-ratelimit-remaining-project-tokens': '400000',
      'x-ratelimit-reset-project-tokens': '50.5s',
    });
    take('d', 'q', 900_000);
    const after = asHeaders(quotaLines(store, limitSubject('c', 'p', 'o'), 10_500));
    expect(after['x-ratelimit-limit-tokens']).toBe('2000000');
    expect(after).not.toHaveProperty('x-ratelimit-limit-project-tokens');
  });

  test('say zero of what is over its limit, and when it first grows', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    const me = limitSubject('k', 'p', 'o');
    for (let n = 0; n < 100; n++) countRequest(store, me, n * 100);
    // Of a hundred attempts the 60 newest count: the oldest of those is the 41st, at 4 s.
    expect(asHeaders(quotaLines(store, me, 9_900))).toMatchObject({
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '54.1s',
    });
  });

  test.each([
    [0, '0s'],
    [1, '0.001s'],
    [10, '0.01s'],
    [500, '0.5s'],
    [59_871, '59.871s'],
    [60_000, '60s'],
    [86_999_999, '86999.999s'],
  ])('write %i ms as %s', (ms, text) => expect(inSeconds(ms)).toBe(text));

  test('write whole numbers as String does', () => {
    for (const n of [0, 1, 9, 10, 999, 1_000, 1_001, 10_099, 999_999, 1_000_000, 2_000_000_007, 50_000_000_000, 1e15])
      expect(inDigits(n)).toBe(String(n));
  });

  test('of /v1/credits are its own limits on requests and those of inference on tokens', () => {
    const [credits, inference] = [creditWindows(), inferenceWindows({ tierOf: () => 0 })];
    const [payer, me] = [limitSubject('k', null, 'o'), limitSubject('k', 'p', 'o')];
    reserve(inference, start(inference, me, 0) as Ticket, 250_000, 0);
    for (let n = 0; n < 30; n++) expect(countRequest(credits, payer, 0)).toBe(0);
    expect(asHeaders(creditLines(credits, payer, inference, me, 1_000))).toMatchObject({
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-remaining-requests': '30',
      'x-ratelimit-reset-requests': '59s',
      'x-ratelimit-remaining-tokens': '750000',
    });
  });
});

test('the balance can be read 60 times a minute by a key and 300 times by an organization', () => {
  const credits = creditWindows();
  const refused = (key: string, now: number) => countRequest(credits, limitSubject(key, null, 'o'), now) !== 0;
  for (let n = 0; n < 60; n++) expect(refused('k0', 0)).toBe(false);
  const payer = limitSubject('k0', null, 'o');
  const why = countRequest(credits, payer, 20_000);
  expect(waitAfter(credits, payer, why, 0, 20_000)).toEqual({
    scope: 'key',
    metric: 'requests_per_minute',
    limit: 60,
    model: null,
    seconds: 40,
  });
  for (let key = 1; key < 5; key++)
    for (let n = 0; n < (key === 4 ? 59 : 60); n++) expect(refused(`k${key}`, 20_000)).toBe(false);
  expect(refused('k5', 20_000)).toBe(true);
});

describe('administration', () => {
  const limits = { credentialRpm: 5, credentialConcurrent: 3, organizationRpm: 8, organizationConcurrent: 4 };
  const wall = 1_700_000_000_250;

  test('counts requests and requests in flight of the credential and of the organization', () => {
    const store = administrationWindows(limits);
    const open = [0, 1, 2].map(() => start(store, limitSubject('a', null, 'o'), 0) as Ticket);
    const fourth = start(store, limitSubject('a', null, 'o'), 0);
    if (!isRefused(fourth)) throw new Error('admitted');
    expect(asHeaders(administrationLines(store, limitSubject('a', null, 'o'), fourth, 0, wall))).toEqual({
      'X-RateLimit-Limit': '3',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '1700000002',
      'X-RateLimit-Scope': 'credential',
      'X-RateLimit-Metric': 'concurrent_requests',
    });
    expect(waitAfter(store, limitSubject('a', null, 'o'), fourth, 0, 0).seconds).toBe(1);
    for (const ticket of open) release(store, ticket);
    start(store, limitSubject('a', null, 'o'), 10);
    const sixth = start(store, limitSubject('a', null, 'o'), 20_000);
    if (!isRefused(sixth)) throw new Error('admitted');
    expect(asHeaders(administrationLines(store, limitSubject('a', null, 'o'), sixth, 20_000, wall))).toEqual({
      'X-RateLimit-Limit': '5',
      'X-RateLimit-Remaining': '0',
      // The five newest are left; the oldest of them, at 0 ms, leaves in 40 s.
      'X-RateLimit-Reset': '1700000041',
      'X-RateLimit-Scope': 'credential',
      'X-RateLimit-Metric': 'requests',
    });
    expect(waitAfter(store, limitSubject('a', null, 'o'), sixth, 0, 20_000).seconds).toBe(40);
  });

  test('shows the limit with the smallest part left', () => {
    const store = administrationWindows(limits);
    for (const id of ['a', 'b', 'c', 'd']) release(store, start(store, limitSubject(id, null, 'o'), 0) as Ticket);
    start(store, limitSubject('e', null, 'o'), 0);
    // Organization: 3 of 8 requests and 3 of 4 in flight left; credential: 4 of 5 and 2 of 3.
    expect(asHeaders(administrationLines(store, limitSubject('e', null, 'o'), 0, 0, wall))).toEqual({
      'X-RateLimit-Limit': '8',
      'X-RateLimit-Remaining': '3',
      'X-RateLimit-Reset': '1700000061',
      'X-RateLimit-Scope': 'organization',
      'X-RateLimit-Metric': 'requests',
    });
  });
});
