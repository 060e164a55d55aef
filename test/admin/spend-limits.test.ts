import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { spendLines } from '../../projections/project-keys.ts';
import { spentBy } from '../../projections/spend.ts';
import type { Limited } from '../../src/data/account/spend-limits.ts';
import { usageSettled, usageStream } from '../../src/domain/usage/usage-events.ts';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { event } from '../support/events.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { settlement } from '../usage/some-request.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let tenant: Awaited<ReturnType<typeof at.make.tenant>>;
beforeAll(async () => {
  at = await wholeGateway();
  server = await at.listen();
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
});
beforeEach(async () => {
  tenant = await at.make.tenant();
});

const client = () => {
  const baseURL = `http://127.0.0.1:${server.port}/v1`;
  return new OpenAI({ baseURL, maxRetries: 0, apiKey: null as never, adminAPIKey: tenant.adminKey.value }).admin
    .organization;
};
let asked = 0;
const ask = (method: string, path = '', body?: object) =>
  at.call(method, `/v1/organization${path}`, {
    headers: { ...bearer(tenant.adminKey.value), 'idempotency-key': `spend-limits-${asked++}` },
    ...(body && { body }),
  });
const onProject = (path = '') => `/projects/${tenant.projectId}${path}`;
const entries = async () => {
  const { body } = await ask('GET', '/audit_logs?event_types[]=spend_limit.updated');
  return body.data.map((each: Record<string, unknown>) => each['spend_limit.updated']);
};
const ofKey = (value: string) => at.call('GET', '/v1/key', { headers: bearer(value) });

/** Records a charge, as the journal of a gateway does. */
const spend = async (keyId: string, micro_dollars: number, settledAt = at.clock.at): Promise<void> => {
  const of = { organization_id: tenant.organizationId, project_id: tenant.projectId, key_id: keyId };
  const settled = settlement(`r${asked++}`, { ...of, micro_dollars, settled_at: settledAt });
  const data = { ...usageSettled([settled]) };
  const [recorded] = at.store.plant(usageStream(settledAt), [{ ...event(asked), type: 'usage.settled', data }]);
  await at.settled(recorded!);
};

const body: { currency: 'USD'; interval: 'month'; threshold_amount: number } = {
  currency: 'USD',
  interval: 'month',
  threshold_amount: 500,
};

const spenderAt = (path: string) => {
  const { projectKey, projectId, organizationId } = tenant;
  const isOfAll = path === '';
  const scope: Limited['scope'] = isOfAll ? 'organization' : 'project';
  return { keyId: projectKey.id, id: isOfAll ? organizationId : projectId, scope };
};

describe.each([
  ['the organization', () => client().spendLimit, () => '', 'organization.spend_limit'],
  [
    'a project',
    () => {
      const { spendLimit } = client().projects;
      const id = tenant.projectId;
      return {
        retrieve: () => spendLimit.retrieve(id),
        update: (limit: typeof body) => spendLimit.update(id, limit),
        delete: () => spendLimit.delete(id),
      };
    },
    onProject,
    'project.spend_limit',
  ],
] as const)('the spend limit of %s, by the methods of openai', (_, calls, path, object) => {
  test('is set, replaced, shown and deleted', async () => {
    await expect(calls().retrieve()).rejects.toMatchObject({ status: 404, code: 'spend_limit_not_found' });
    await expect(calls().delete()).rejects.toMatchObject({ status: 404, code: 'spend_limit_not_found' });
    const shown = { object, ...body, enforcement: { status: 'inactive' } };
    expect(await calls().update(body)).toEqual(shown);
    expect(await calls().retrieve()).toEqual(shown);
    const before = at.store.log.length;
    await calls().update(body);
    expect(at.store.log.length).toBe(before);
    expect(await calls().update({ ...body, threshold_amount: 1 })).toEqual({ ...shown, threshold_amount: 1 });
    expect(await calls().delete()).toEqual({ object: `${object}.deleted`, deleted: true });
    await expect(calls().retrieve()).rejects.toMatchObject({ status: 404 });
    const id = path() === '' ? tenant.organizationId : tenant.projectId;
    const entry = (amount: number) => ({ id, changes_requested: { spend_limit: { amount, interval: 'month' } } });
    expect(await entries()).toEqual([{ id, changes_requested: { spend_limit: null } }, entry(0.01), entry(5)]);
  });

  test('enforces once the month has spent it, also what was spent before it was set', async () => {
    await spend(tenant.projectKey.id, 4_999_999);
    expect((await calls().update(body)).enforcement.status).toBe('inactive');
    await spend(tenant.projectKey.id, 1);
    expect((await calls().retrieve()).enforcement.status).toBe('enforcing');
    expect((await calls().update({ ...body, threshold_amount: 501 })).enforcement.status).toBe('inactive');
  });

  test('enforces while requests in flight hold what is left, or a charge is on its way to the log', async () => {
    const { keyId, id, scope } = spenderAt(path());
    const limit = { amount: 5_000_000, interval: 'month' } as const;
    await calls().update(body);
    const { credit } = at.accounts;
    const status = async () => (await calls().retrieve()).enforcement.status;
    const hold = credit.hold([{ id, scope, limit, spenders: [id], spent: () => 0 }], 4_999_999, at.clock.at);
    expect(await status()).toBe('inactive');
    const of = { organization_id: tenant.organizationId, project_id: tenant.projectId, key_id: keyId };
    const charged = settlement(`r${asked++}`, { ...of, micro_dollars: 1, settled_at: at.clock.at });
    credit.settled(charged, keyId);
    expect(await status()).toBe('enforcing');
    hold!.release();
    expect(await status()).toBe('inactive');
  });

  test.each([
    [{ ...body, threshold_amount: 0 }, 'threshold_amount'],
    [{ ...body, threshold_amount: 1.5 }, 'threshold_amount'],
    [{ ...body, threshold_amount: 100_000_000_001 }, 'threshold_amount'],
    [{ ...body, currency: 'EUR' }, 'currency'],
    [{ ...body, interval: 'week' }, 'interval'],
    [{ ...body, enforcement: { status: 'enforcing' } }, 'enforcement'],
    [{ currency: 'USD', interval: 'month' }, 'threshold_amount'],
  ])('is refused: %#', async (limit, param) => {
    const { status, body: answer } = await ask('POST', `${path()}/spend_limit`, limit);
    expect([status, answer.error.param]).toEqual([422, param]);
  });

  test('is in the history, in dollars', async () => {
    await calls().update({ ...body, threshold_amount: 100_000_000_000 });
    const { body: answer } = await ask('GET', `${path()}/history`);
    expect(answer.state.fields.spend_limit).toEqual({ amount: 1_000_000_000, interval: 'month' });
    expect(answer.data.at(-1).changes).toEqual([
      { field: 'spend_limit.amount', from: null, to: 1_000_000_000 },
      { field: 'spend_limit.interval', from: null, to: 'month' },
    ]);
  });
});

test('an archived project keeps its limit', async () => {
  await ask('POST', onProject('/spend_limit'), body);
  await ask('POST', onProject('/archive'));
  for (const [method, limit] of [['POST', body], ['DELETE']] as const)
    expect((await ask(method, onProject('/spend_limit'), limit)).body.error.code).toBe('project_archived');
  expect((await ask('GET', onProject('/spend_limit'))).body.threshold_amount).toBe(500);
});

const none = { limit: null, limit_remaining: null, limit_reset: null, limit_resets_at: null };
/** A Wednesday, and when its periods end. */
const wednesday = Date.UTC(2031, 0, 29, 12);
const ends = { day: Date.UTC(2031, 0, 30), week: Date.UTC(2031, 1, 3), month: Date.UTC(2031, 1, 1) };

describe('spend that is read', () => {
  beforeEach(async () => {
    at.clock.at = Math.max(at.clock.at, wednesday);
  });

  test('of a project: by periods, and what its limit leaves', async () => {
    const day = 86_400_000;
    const { id } = tenant.projectKey;
    await spend(id, 1, wednesday - 365 * day);
    await spend(id, 10, wednesday - 20 * day);
    await spend(id, 100, wednesday - 2 * day);
    await spend(id, 1_000, wednesday);
    at.clock.at = wednesday;
    const spent = { usage: 0.001111, usage_daily: 0.001, usage_weekly: 0.0011, usage_monthly: 0.00111 };
    const usage_since = (await ask('GET', onProject())).body.created_at;
    const shown = { object: 'organization.project.spend', project_id: tenant.projectId, ...spent, usage_since };
    expect((await ask('GET', onProject('/spend'))).body).toEqual({ ...shown, ...none });
    await ask('POST', onProject('/spend_limit'), { ...body, threshold_amount: 1 });
    const limit = { limit: 0.01, limit_remaining: 0.00889, limit_reset: 'monthly', limit_resets_at: ends.month / 1000 };
    expect((await ask('GET', onProject('/spend'))).body).toEqual({ ...shown, ...limit });
  });

  test('of a project: also after a charge of a clock that was wrong', async () => {
    const { id } = tenant.projectKey;
    at.clock.at = wednesday;
    await spend(id, 1);
    await spend(id, 1_000, Date.UTC(2035, 0));
    await spend(id, 10);
    expect((await ask('GET', onProject('/spend'))).body).toMatchObject({
      usage: 0.001011,
      usage_daily: 0.000011,
      usage_weekly: 0.000011,
      usage_monthly: 0.000011,
    });
  });

  test.each([
    ['day', 'daily', ends.day],
    ['week', 'weekly', ends.week],
    ['month', 'monthly', ends.month],
    ['total', null, null],
  ])('of the calling key: limited by %s', async (interval, resets, end) => {
    const key = (await ask('POST', onProject('/api_keys'), { name: 'k', spend_limit: { amount: 0.5, interval } })).body;
    expect(key.spend_limit).toEqual({ amount: 0.5, interval });
    at.clock.at = wednesday;
    await spend(key.id, 200_000, wednesday);
    const { body: answer } = await ofKey(key.value);
    expect(answer.data).toMatchObject({
      label: key.redacted_value,
      name: 'k',
      limit: 0.5,
      limit_remaining: 0.3,
      limit_reset: resets,
      limit_resets_at: end === null ? null : end / 1000,
      usage: 0.2,
      usage_daily: 0.2,
      usage_weekly: 0.2,
      usage_monthly: 0.2,
    });
    await spend(key.id, 400_000, wednesday);
    expect((await ofKey(key.value)).body.data.limit_remaining).toBe(0);
  });

  test('of the calling key: less what is held and what the log does not have, with the chain of its rotations', async () => {
    const spend_limit = { amount: 0.5, interval: 'total' };
    const first = (await ask('POST', onProject('/api_keys'), { name: 'k', spend_limit })).body;
    const second = (await ask('POST', onProject(`/api_keys/${first.id}/rotate`), { grace_seconds: 60 })).body;
    await spend(second.id, 100_000);
    const limit = { amount: 500_000, interval: 'total' } as const;
    const id = first.id as string;
    const bound = { id, scope: 'key', limit, spenders: [id], spent: () => 100_000 } as const;
    const hold = at.accounts.credit.hold([bound], 150_000, at.clock.at);
    for (const { value } of [first, second])
      expect((await ofKey(value)).body.data).toMatchObject({ usage: 0.1, limit_remaining: 0.25 });
    hold!.release();
    expect((await ofKey(second.value)).body.data.limit_remaining).toBe(0.4);
  });

  test('of a key that was rotated: its history has the limits that were in force, which are the successor’s', async () => {
    const spend_limit = { amount: 5, interval: 'day' };
    const first = (await ask('POST', onProject('/api_keys'), { name: 'k', spend_limit })).body;
    const fields = async (at = '') => {
      const { state } = (await ask('GET', onProject(`/api_keys/${first.id}/history${at}`))).body;
      return [state.fields.spend_limit, state.fields.limits.requests_per_minute];
    };
    const second = (await ask('POST', onProject(`/api_keys/${first.id}/rotate`), { grace_seconds: 60 })).body;
    const third = (await ask('POST', onProject(`/api_keys/${second.id}/rotate`), { grace_seconds: 60 })).body;
    const before = Math.floor(at.clock.at / 1000);
    expect(await fields()).toEqual([spend_limit, null]);
    at.clock.at += 5_000;
    const later = { spend_limit: { amount: 1, interval: 'total' }, limits: { requests_per_minute: 9 } };
    await ask('POST', onProject(`/api_keys/${third.id}`), later);
    expect(await fields()).toEqual([later.spend_limit, 9]);
    expect(await fields(`?at=${before}`)).toEqual([spend_limit, null]);
  });

  test('begins at the creation of the chain, however long ago that was', async () => {
    const day = 86_400_000;
    const created = Math.floor(at.clock.at / 1000);
    const first = (await ask('POST', onProject('/api_keys'), { name: 'k' })).body;
    at.clock.at += day;
    const second = (await ask('POST', onProject(`/api_keys/${first.id}/rotate`), { grace_seconds: 0 })).body;
    const since = async () => [
      (await ofKey(second.value)).body.data.usage_since,
      (await ask('GET', onProject('/spend'))).body.usage_since,
    ];
    const project = (await ask('GET', onProject())).body.created_at;
    expect(await since()).toEqual([created, project]);
    at.clock.at += 900 * day;
    expect(await since()).toEqual([created, project]);
  });

  test('of the calling key: its own rate limits, where they are below the tier', async () => {
    const limits = { requests_per_minute: 7, tokens_per_minute: null, requests_per_day: 9, concurrent_requests: null };
    const [low, high] = [(await ask('POST', onProject('/api_keys'), { name: 'k', limits })).body, tenant.projectKey];
    const { data } = (await ofKey(low.value)).body;
    expect([data.rate_limit, data.limits]).toEqual([{ requests: 7, interval: '1m' }, limits]);
    expect((await ofKey(high.value)).body.data).toMatchObject({
      ...none,
      rate_limit: { requests: 60, interval: '1m' },
    });
    const path = onProject(`/api_keys/${low.id}`);
    await ask('POST', path, { limits: { requests_per_minute: 61 } });
    expect((await ofKey(low.value)).body.data.rate_limit.requests).toBe(60);
  });
});

describe('the spend limit of a key', () => {
  const created = async (spend_limit?: unknown) =>
    (await ask('POST', onProject('/api_keys'), { name: 'k', spend_limit })).body;

  test('is given at creation and replaced or taken away by an update', async () => {
    expect((await created()).spend_limit).toBeNull();
    expect((await created(null)).spend_limit).toBeNull();
    const key = await created({ amount: 12.5, interval: 'week' });
    const path = onProject(`/api_keys/${key.id}`);
    expect((await ask('GET', path)).body.spend_limit).toEqual({ amount: 12.5, interval: 'week' });
    expect((await ask('POST', path, { name: 'renamed' })).body.spend_limit).toEqual(key.spend_limit);
    const total = { amount: 0.000001, interval: 'total' };
    expect((await ask('POST', path, { spend_limit: total })).body.spend_limit).toEqual(total);
    const before = at.store.log.length;
    await ask('POST', path, { spend_limit: total });
    expect(at.store.log.length).toBe(before);
    expect((await ask('POST', path, { spend_limit: null })).body).toMatchObject({ name: 'renamed', spend_limit: null });
    expect(await entries()).toEqual([
      { id: key.id, changes_requested: { spend_limit: null } },
      { id: key.id, changes_requested: { spend_limit: total } },
    ]);
  });

  test('is that of its chain of rotations, whose keys spend together', async () => {
    const first = await created();
    const second = (await ask('POST', onProject(`/api_keys/${first.id}/rotate`), { grace_seconds: 60 })).body;
    const spend_limit = { amount: 1, interval: 'total' };
    const refused = await ask('POST', onProject(`/api_keys/${first.id}`), { spend_limit });
    expect([refused.status, refused.body.error.code]).toEqual([409, 'api_key_rotated']);
    await ask('POST', onProject(`/api_keys/${second.id}`), { spend_limit });
    const third = (await ask('POST', onProject(`/api_keys/${second.id}/rotate`), { grace_seconds: 60 })).body;
    expect(third.spend_limit).toEqual(spend_limit);
    const line = at.admin.models.get(spendLines, first.id);
    const ids = [first.id, second.id, third.id];
    expect(line).toEqual({ spendLimit: { amount: 1_000_000, interval: 'total' }, keys: ids });
    for (const id of ids) await spend(id, 100_000);
    expect(spentBy(at.admin.models, ids, 'total', at.clock.at)).toBe(300_000);
    for (const each of [first, second, third])
      expect((await ofKey(each.value)).body.data).toMatchObject({ usage: 0.3, limit: 1, limit_remaining: 0.7 });
    await ask('POST', onProject(`/api_keys/${third.id}`), { spend_limit: null });
    for (const { id } of [first, second, third])
      expect((await ask('GET', onProject(`/api_keys/${id}`))).body.spend_limit).toBeNull();
  });

  test('counts the successor of a key that gets its first limit while it is rotated', async () => {
    const first = await created();
    const spend_limit = { amount: 1, interval: 'total' };
    const { projectKey } = at.admin.aggregates;
    const { dispatch } = projectKey;
    const meanwhile = vi.spyOn(projectKey, 'dispatch').mockImplementation(async (...call) => {
      if (call[1] === 'rotate') {
        meanwhile.mockRestore();
        await ask('POST', onProject(`/api_keys/${first.id}`), { spend_limit });
      }
      return dispatch.apply(projectKey, call);
    });
    const second = (await ask('POST', onProject(`/api_keys/${first.id}/rotate`), { grace_seconds: 60 })).body;
    expect(second.spend_limit).toEqual(spend_limit);
    expect(at.admin.models.get(spendLines, first.id)?.keys).toEqual([first.id, second.id]);
    await spend(second.id, 400_000);
    for (const { value } of [first, second])
      expect((await ofKey(value)).body.data).toMatchObject({ usage: 0.4, limit_remaining: 0.6 });
  });

  test('of a chain may be sent back as it is read, and no other to a key with a successor', async () => {
    const old = { amount: 1, interval: 'total' };
    const spend_limit = { amount: 2, interval: 'day' };
    const first = await created(old);
    const path = onProject(`/api_keys/${first.id}`);
    const second = (await ask('POST', `${path}/rotate`, { grace_seconds: 60 })).body;
    const limits = { requests_per_minute: 5 };
    await ask('POST', onProject(`/api_keys/${second.id}`), { spend_limit, limits });
    const read = (await ask('GET', path)).body;
    expect(read).toMatchObject({ spend_limit, limits });
    const before = at.store.log.length;
    for (const some of [{ spend_limit: read.spend_limit }, { limits: read.limits }])
      expect((await ask('POST', path, some)).status).toBe(200);
    for (const some of [{ spend_limit: old }, { spend_limit: null }, { limits: null }])
      expect((await ask('POST', path, some)).body.error?.code).toBe('api_key_rotated');
    expect(at.store.log.length).toBe(before);
  });

  test('of none: a chain spends together all the same', async () => {
    const first = await created();
    const second = (await ask('POST', onProject(`/api_keys/${first.id}/rotate`), { grace_seconds: 60 })).body;
    await spend(first.id, 1);
    await spend(second.id, 2);
    for (const { value } of [first, second]) expect((await ofKey(value)).body.data.usage).toBe(0.000003);
    expect(at.admin.models.get(spendLines, first.id)).toBeUndefined();
  });

  test.each([
    [{ amount: 0, interval: 'day' }, 'spend_limit.amount'],
    [{ amount: -1, interval: 'day' }, 'spend_limit.amount'],
    [{ amount: 0.0000001, interval: 'day' }, 'spend_limit.amount'],
    [{ amount: 1.0000001, interval: 'day' }, 'spend_limit.amount'],
    [{ amount: 1_000_000_001, interval: 'day' }, 'spend_limit.amount'],
    [{ amount: '5', interval: 'day' }, 'spend_limit.amount'],
    [{ amount: 5, interval: 'year' }, 'spend_limit.interval'],
    [{ amount: 5 }, 'spend_limit.interval'],
    [{ amount: 5, interval: 'day', currency: 'EUR' }, 'spend_limit.currency'],
    [5, 'spend_limit'],
  ])('is refused: %#', async (spend_limit, param) => {
    const { status, body: answer } = await ask('POST', onProject('/api_keys'), { name: 'k', spend_limit });
    expect([status, answer.error.param]).toEqual([422, param]);
  });
});
