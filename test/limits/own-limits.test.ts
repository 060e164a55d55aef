import { describe, expect, test } from 'vitest';
import { start } from '../../src/limits/count-request.ts';
import { inferenceWindows } from '../../src/limits/families.ts';
import { quotaLines } from '../../src/limits/http/headers.ts';
import { waitAfter } from '../../src/limits/http/retry-after.ts';
import { inspect, inspectModels } from '../../src/limits/inspect.ts';
import type { OwnLimits } from '../../src/limits/own-limits.ts';
import { reserve } from '../../src/limits/reserve.ts';
import { release, settle } from '../../src/limits/settle.ts';
import { restore } from '../../src/limits/snapshot/restore.ts';
import { RecordSweep } from '../../src/limits/sweep.ts';
import { retightenKey, retightenProject } from '../../src/limits/window/models.ts';
import { retier } from '../../src/limits/window/records.ts';
import { isRefused, type Ticket } from '../../src/limits/window/ticket.ts';
import { limitSubject } from '../../src/limits/window/window-store.ts';
import { asHeaders } from './as-headers.ts';
import { drain, wall } from './snapshots.ts';

const none: OwnLimits = { rpm: null, tpm: null, rpd: null, concurrent: null };
const day = 86_400_000;

/** Limits that a test changes, and a store that asks for them. */
const open = () => {
  const own: { key: OwnLimits | null; whole: OwnLimits | null; models: Record<string, OwnLimits> } = {
    key: null,
    whole: null,
    models: {},
  };
  const make = () =>
    inferenceWindows({
      tierOf: () => 0,
      own: {
        ofKey: (line) => (line === 'k' ? own.key : null),
        ofProject: (project) =>
          project === 'p' ? { whole: own.whole, models: new Map(Object.entries(own.models)) } : null,
      },
    });
  const store = make();
  const me = limitSubject('k', 'p', 'o');
  const ask = (model: string, tokens = 10, now = 0, who = me): Ticket | number => {
    const ticket = start(store, who, now);
    return isRefused(ticket) ? ticket : reserve(store, ticket, tokens, now, model);
  };
  /** Settles what was asked. @returns how many were admitted */
  const count = (times: number, model: string, now = 0, tokens = 10) => {
    let admitted = 0;
    for (let n = 0; n < times; n++) {
      const outcome = ask(model, tokens, now);
      if (isRefused(outcome)) continue;
      admitted++;
      settle(store, outcome, tokens);
    }
    return admitted;
  };
  const models = (now = 0) => inspectModels(store, 'p', 'o', 0, now);
  return { own, make, store, me, ask, count, models };
};

describe('limits of their own', () => {
  test('of a key hold at the smaller of the two, and change while it is used', () => {
    const { own, store, count } = open();
    own.key = { ...none, rpm: 3, tpm: 100 };
    expect(count(5, 'm')).toBe(3);
    own.key = { ...none, rpm: 70 };
    retightenKey(store, 'k', 0);
    expect(inspect(store, 'key', 'k', 0)?.windows[0]).toMatchObject({ limit: 60, used: 3 });
    // Of the five attempts the three that the smaller log had kept are known (contract F.1).
    expect(count(60, 'm')).toBe(57);
    own.key = null;
    retightenKey(store, 'k', 60_000);
    expect(inspect(store, 'key', 'k', 60_000)?.windows).toMatchObject([
      { limit: 60 },
      { limit: 10_000, used: 65 },
      { limit: 4 },
      { limit: 1_000_000 },
    ]);
  });

  test('of a key bound its requests in flight and its tokens', () => {
    const { own, ask } = open();
    own.key = { ...none, concurrent: 2, tpm: 25 };
    expect([ask('m'), ask('m')].map(isRefused)).toEqual([false, false]);
    expect(isRefused(ask('m'))).toBe(true);
    const { own: other, count } = open();
    other.key = { ...none, tpm: 25 };
    expect(count(3, 'm')).toBe(2);
  });

  test('of a project hold for all of its keys, and not for other projects', () => {
    const { own, ask } = open();
    own.whole = { ...none, rpm: 2 };
    const others = ['k1', 'k2', 'k3'].map((key) => ask('m', 1, 0, limitSubject(key, 'p', 'o')));
    expect(others.map(isRefused)).toEqual([false, false, true]);
    expect(isRefused(ask('m', 1, 0, limitSubject('k4', 'p2', 'o')))).toBe(false);
  });

  test('of a model hold for it alone, and a refusal there has counted at the three scopes', () => {
    const { own, store, count, models, me } = open();
    own.models = { m: { ...none, rpm: 2 } };
    expect([count(3, 'm'), count(3, 'other')]).toEqual([2, 3]);
    const used = ['k', 'p', 'o'].map((id, scope) => inspect(store, store.scopes[scope]!, id, 0)!.windows[0]!.used);
    expect(used).toEqual([6, 6, 6]);
    expect(models()).toEqual([
      {
        scope: 'project',
        id: 'p',
        model: 'm',
        tier: 0,
        windows: [
          { metric: 'requests_per_minute', limit: 2, used: 2, remaining: 0, resetMs: 60_000 },
          expect.objectContaining({ metric: 'requests_per_day', limit: 15_000, used: 3 }),
          expect.objectContaining({ metric: 'tokens_per_minute', limit: 1_500_000, used: 20 }),
        ],
        lastRefusal: { metrics: ['requests_per_minute'], agoMs: 0 },
      },
    ]);
    // The project as a whole has refused nothing.
    expect(inspect(store, 'project', 'p', 0)?.lastRefusal).toBeNull();
    const inFlight = inspect(store, 'project', 'p', 0)?.windows[2];
    expect(inFlight).toMatchObject({ metric: 'concurrent_requests', used: 0 });
    const why = start(store, me, 1_000);
    release(store, why as Ticket);
  });

  test('of a model count as the project’s in headers and the 429, with a true Retry-After', () => {
    const { own, store, ask, count, me } = open();
    own.models = { m: { ...none, rpm: 2, tpm: 100 } };
    count(1, 'm', 0, 40);
    count(1, 'm', 20_000, 40);
    const refused = ask('m', 40, 30_000);
    if (!isRefused(refused)) throw new Error('admitted');
    // The attempts of 20 s and 30 s are known, and the newer of them leaves at 90 s.
    expect(waitAfter(store, me, refused, 40, 30_000, 'm')).toEqual({
      seconds: 50,
      scope: 'project',
      metric: 'requests_per_minute',
      limit: 2,
      model: 'm',
    });
    const told = asHeaders(quotaLines(store, me, 30_000, false, 'm'));
    expect(told).toMatchObject({
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '50s',
      'x-ratelimit-limit-tokens': '100',
      'x-ratelimit-remaining-project-tokens': '20',
    });
    expect(asHeaders(quotaLines(store, me, 30_000, false, 'other'))['x-ratelimit-limit-requests']).toBe('60');
    expect(isRefused(ask('m', 40, 79_999))).toBe(true);
  });

  test('of a model are waited for by a request that the headers have refused', () => {
    const { own, store, count, ask, me } = open();
    own.models = { m: { ...none, rpm: 1 } };
    own.key = { ...none, concurrent: 1 };
    count(1, 'm');
    const held = ask('other', 1, 20_000);
    expect(isRefused(held)).toBe(false);
    const refused = ask('m', 1, 20_000) as number;
    expect(waitAfter(store, me, refused, 1, 20_000, 'm').seconds).toBe(40);
    expect(waitAfter(store, me, refused, 1, 20_000, 'other').seconds).toBe(1);
  });

  test('of a model that are taken away while a request is counted there leave what it holds in order', () => {
    const { own, store, ask, models } = open();
    own.models = { m: { ...none, tpm: 100 } };
    const ticket = ask('m', 60) as Ticket;
    own.models = {};
    retightenProject(store, 'p', 0);
    expect(models()).toEqual([]);
    expect(isRefused(ask('m', 90_000))).toBe(false);
    settle(store, ticket, 70);
    own.models = { m: { ...none, tpm: 80 } };
    retightenProject(store, 'p', 0);
    expect(models()[0]!.windows[2]).toMatchObject({ limit: 80, used: 70 });
    expect(isRefused(ask('m', 11))).toBe(true);
    expect(isRefused(ask('m', 10))).toBe(false);
  });

  test('of a model that were taken away are forgotten when nothing is counted there, beside a project in use', () => {
    const { own, store, count } = open();
    own.models = { m: { ...none, rpm: 5 }, other: { ...none, rpm: 5 } };
    count(1, 'm');
    own.models = { other: own.models.other! };
    retightenProject(store, 'p', 0);
    expect([...store.models.get('p')!.keys()]).toEqual(['m', 'other']);
    count(1, 'other', day);
    new RecordSweep(store).sweep(day + 600_000, 1_000);
    expect([...store.models.get('p')!.keys()]).toEqual(['other']);
  });

  test('of a model follow the tier in what is told, before its next request', () => {
    let tier: 0 | 1 = 0;
    const models = new Map([['m', { ...none, rpm: 100 }]]);
    const store = inferenceWindows({
      tierOf: () => tier,
      own: { ofKey: () => null, ofProject: () => ({ whole: null, models }) },
    });
    const me = limitSubject('k', 'p', 'o');
    const ask = () => reserve(store, start(store, me, 0) as Ticket, 1_000_000, 0, 'm') as Ticket;
    settle(store, ask(), 1_000_000);
    const limit = () => asHeaders(quotaLines(store, me, 1_000, false, 'm'))['x-ratelimit-limit-tokens'];
    expect(limit()).toBe('1000000');
    tier = 1;
    retier(store, 'o', 1_000);
    // The key's 2 M of 2 M have less left than those of model and project.
    expect(limit()).toBe('2000000');
  });

  test('of a model that change while a request is in flight give back what was booked', () => {
    const { own, store, ask, models } = open();
    own.models = { m: { ...none, tpm: 100 } };
    const ticket = ask('m', 500) as Ticket;
    expect(models()[0]!.windows[2]).toMatchObject({ used: 100 });
    own.models = { m: { ...none, tpm: 1_000 } };
    retightenProject(store, 'p', 0);
    settle(store, ticket, 0);
    expect(models()[0]!.windows[2]).toMatchObject({ limit: 1_000, used: 0 });
  });

  test('make windows of a model when it is first used, and free them when they are empty', () => {
    const { own, store, count } = open();
    own.models = { m: { ...none, rpm: 5 }, idle: { ...none, rpm: 5 } };
    count(1, 'other');
    expect(store.size).toBe(3);
    count(1, 'm');
    expect(store.size).toBe(4);
    new RecordSweep(store).sweep(day + 600_000, 1_000);
    expect([store.size, store.models.size]).toEqual([0, 0]);
    expect(count(6, 'm', day + 600_000)).toBe(5);
  });

  test('are in snapshots, also of a model whose limits were taken away since', () => {
    const { own, make, store, count } = open();
    own.models = { m: { ...none, rpm: 5, tpm: 25 }, gone: { ...none, rpm: 5 } };
    count(2, 'm');
    const chunks = drain(store, wall, 0);
    // Refused, so that the attempt alone changes the record: it has no entry in the journal.
    expect(count(1, 'm')).toBe(0);
    chunks.push(...drain(store, wall, 0));
    count(4, 'gone');
    chunks.push(...drain(store, wall, 0));
    own.models = { m: own.models.m! };
    const next = make();
    expect(restore(next, chunks, wall, 0).refused).toEqual([]);
    const [found, ...others] = inspectModels(next, 'p', 'o', 0, 0);
    expect(found?.windows.map(({ used }) => used)).toEqual([3, 3, 20]);
    expect(others).toEqual([]);
    new RecordSweep(next).sweep(day + 1_200_000, 1_000);
    expect([next.size, next.models.size]).toEqual([0, 0]);
  });

  test('begin half full without knowledge of the last minute', () => {
    const { own, make, store, count } = open();
    own.models = { m: { ...none, rpm: 5 } };
    count(1, 'm');
    const next = make();
    restore(next, [...drain(store, wall, 0), Buffer.from('damaged')], wall, 0);
    expect(inspectModels(next, 'p', 'o', 0, 0)[0]?.windows[0]).toMatchObject({ used: 3 });
  });

  test('cost no record and no kind where there are none', () => {
    const { store, count } = open();
    count(3, 'm');
    expect([store.size, store.models.size]).toEqual([3, 0]);
    expect(store.find(0, 'k')!.kind).toBe(store.plans.of(0).kinds[0]);
  });
});
