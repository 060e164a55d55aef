import { describe, expect, test, vi } from 'vitest';
import { limitsFor, type Scope, type Tier, tiers } from '../../src/domain/organization/tiers.ts';
import { countRequest, start } from '../../src/limits/count-request.ts';
import { inferenceWindows, plansOf } from '../../src/limits/families.ts';
import { metricNames, reason } from '../../src/limits/record/metrics.ts';
import { reserve } from '../../src/limits/reserve.ts';
import { release, settle } from '../../src/limits/settle.ts';
import { isRefused, type Ticket } from '../../src/limits/window/ticket.ts';
import { type LimitSubject, limitSubject, type WindowStore } from '../../src/limits/window/window-store.ts';

vi.setConfig({ testTimeout: 60_000 });

const scopes: readonly Scope[] = ['key', 'project', 'organization'];
const cases = tiers.flatMap((_, tier) => scopes.map((scope) => [tier as Tier, scope] as const));

const windows = (tier: Tier) => inferenceWindows({ tierOf: () => tier });

/** Credentials that meet at this scope and nowhere inside it, as many as it takes. */
const meetingAt = (scope: Scope, number: number): LimitSubject => {
  const n = scope === 'key' ? 0 : number;
  return limitSubject(`key_${n}`, scope === 'organization' ? `proj_${n}` : 'proj_0', 'org_0');
};

/** The limits in a set of bits, scope by scope from the innermost. */
const reasonsOf = (store: WindowStore, why: number) =>
  store.scopes.flatMap((scope, number) =>
    metricNames.filter((_, metric) => (why & reason(metric, number)) !== 0).map((metric) => ({ scope, metric })),
  );

const refusedBy = (store: WindowStore, why: number, scope: Scope) =>
  reasonsOf(store, why)
    .filter((reason) => reason.scope === scope)
    .map(({ metric }) => metric);

test('the plans are the table of the law, for every tier and scope', () => {
  const plans = plansOf(tiers);
  for (const [tier, scope] of cases) expect(plans[tier]![scopes.indexOf(scope)]).toEqual(limitsFor(tier, scope));
});

describe.each(cases)('tier %i at the scope %s', (tier, scope) => {
  const limits = limitsFor(tier, scope);

  test('admits as many requests a minute as its limit, and not one more', () => {
    const store = windows(tier);
    for (let attempt = 1; attempt <= limits.rpm + 1; attempt++) {
      const why = countRequest(store, meetingAt(scope, attempt), attempt);
      expect(refusedBy(store, why, scope)).toEqual(attempt <= limits.rpm ? [] : ['requests_per_minute']);
    }
    // The first attempt, at 1 ms, is out at 60,001; the refused one counts, so there is room for one.
    const free = (now: number) => refusedBy(store, countRequest(store, meetingAt(scope, 0), now), scope).length === 0;
    expect(free(60_001)).toBe(false);
    expect(free(60_003)).toBe(true);
  });

  test('admits as many requests a day as its limit, and not one more', () => {
    const store = windows(tier);
    const me = Array.from({ length: 8 }, (_, number) => meetingAt(scope, number));
    for (let attempt = 1; attempt <= limits.rpd + 1; attempt++) {
      const why = countRequest(store, me[attempt % 8]!, attempt);
      if (attempt >= limits.rpd - 1) {
        const day = refusedBy(store, why, scope).includes('requests_per_day');
        expect(day).toBe(attempt === limits.rpd + 1);
      }
    }
  });

  test('admits as many in flight as its limit, and one more when one has ended', () => {
    const store = windows(tier);
    const open: Ticket[] = [];
    for (let number = 0; number < limits.concurrent; number++) {
      const ticket = start(store, meetingAt(scope, number), 0);
      if (isRefused(ticket)) throw new Error('refused');
      open.push(ticket);
    }
    const refused = start(store, meetingAt(scope, limits.concurrent), 0);
    if (!isRefused(refused)) throw new Error('admitted');
    expect(refusedBy(store, refused, scope)).toContain('concurrent_requests');
    release(store, open[0]!);
    expect(isRefused(start(store, meetingAt(scope, 0), 0))).toBe(false);
  });

  test('admits as many tokens a minute as its limit, and not one more', () => {
    for (const [more, admitted] of [
      [-1, true],
      [0, true],
      [1, false],
    ] as const) {
      const store = windows(tier);
      // Parts that no inner scope refuses: half a key's limit each, from different keys and projects.
      const part = limitsFor(tier, 'key').tpm / 2;
      const parts = limits.tpm / part;
      const take = (number: number, tokens: number) => {
        const ticket = start(store, meetingAt(scope, number), 0) as Ticket;
        const outcome = reserve(store, ticket, tokens, 0);
        if (!isRefused(outcome)) settle(store, outcome, tokens);
        return outcome;
      };
      for (let number = 1; number < parts; number++) expect(isRefused(take(number, part))).toBe(false);
      const last = take(0, part + more);
      expect(isRefused(last)).toBe(!admitted);
      if (isRefused(last)) expect(refusedBy(store, last, scope)).toEqual(['tokens_per_minute']);
    }
  });
});

test.each([0, 1, 2, 3, 4, 5] as const)('tier %i admits as many tokens a day as its limit, and not one more', (tier) => {
  const limit = limitsFor(tier, 'organization').tpd!;
  for (const [more, admitted] of [
    [-1, true],
    [0, true],
    [1, false],
  ] as const) {
    const store = windows(tier);
    const me = limitSubject('k', 'p', 'o');
    let now = 0;
    const take = (tokens: number, actual: number) => {
      const outcome = reserve(store, start(store, me, now) as Ticket, tokens, now);
      if (!isRefused(outcome)) settle(store, outcome, actual);
      return outcome;
    };
    // Answers that outgrow their reservations: the minute limits would not let a day's worth through otherwise.
    for (let left = limit - 1_000; left > 0; left -= 1_000_000_000) {
      take(1, Math.min(left, 1_000_000_000));
      now += 600_000;
    }
    const last = take(1_000 + more, 0);
    expect(isRefused(last)).toBe(!admitted);
    if (isRefused(last)) expect(reasonsOf(store, last)).toEqual([{ scope: 'organization', metric: 'tokens_per_day' }]);
  }
});

test('the largest possible request fits an idle window', () => {
  const store = windows(0);
  const me = limitSubject('k', 'p', 'o');
  expect(isRefused(reserve(store, start(store, me, 0) as Ticket, 5e12, 0))).toBe(false);
  expect(isRefused(reserve(store, start(store, me, 0) as Ticket, 1, 0))).toBe(true);
});
