import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { keyLimitRows } from '../../projections/project-keys.ts';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { mostPossible } from '../../src/limits/record/window-limits.ts';
import { hosted, model } from '../inference/hosted.ts';
import { ScriptedUpstream } from '../inference/scripted-upstream.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let tenant: Awaited<ReturnType<typeof at.make.tenant>>;
beforeAll(async () => {
  const ids = ['a', 'b', 'house/c'];
  at = await wholeGateway({ models: hosted(new ScriptedUpstream(), ...ids.map((id) => model({ id }))) });
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
    .organization.projects;
};
let asked = 0;
const ask = (method: string, path = '', body?: object) =>
  at.call(method, `/v1/organization/projects/${tenant.projectId}${path}`, {
    headers: { ...bearer(tenant.adminKey.value), 'idempotency-key': `rate-limits-${asked++}` },
    ...(body && { body }),
  });
const entries = async () => {
  const path = '/v1/organization/audit_logs?event_types[]=rate_limit.updated';
  const { body } = await at.call('GET', path, { headers: bearer(tenant.adminKey.value) });
  return body.data.map((each: Record<string, unknown>) => each['rate_limit.updated']);
};
const list = async (query = {}) => {
  const found = [];
  for await (const each of client().rateLimits.listRateLimits(tenant.projectId, query)) found.push(each);
  return found;
};
/** Those of a project in tier 0. */
const tier = { max_requests_per_1_minute: 90, max_tokens_per_1_minute: 1_500_000, max_requests_per_1_day: 15_000 };
const row = (model: string, own = {}) => ({
  object: 'project.rate_limit',
  id: `rl-${model.replace('/', '~')}`,
  model,
  ...tier,
  ...own,
});
const update = (id: string, body: object) =>
  client().rateLimits.updateRateLimit(id, { project_id: tenant.projectId, ...body });

describe('the rate limits of a project, by the methods of openai', () => {
  test('are one row for all of it, and one for each model that it may call', async () => {
    const all = [row('*'), row('a'), row('b'), row('house/c')];
    expect(await list()).toEqual(all);
    expect(await list({ limit: 1 })).toEqual(all);
    expect(await list({ limit: 3 })).toEqual(all);
    const page = await client().rateLimits.listRateLimits(tenant.projectId, { before: 'rl-b', limit: 1 });
    expect([page.data, page.has_more]).toEqual([[row('a')], true]);
    await client().modelPermissions.update(tenant.projectId, { mode: 'deny_list', model_ids: ['b'] });
    expect(await list()).toEqual([row('*'), row('a'), row('house/c')]);
    expect(await list({ after: 'rl-b' })).toEqual([row('house/c')]);
    expect((await ask('GET', '/rate_limits?after=rl-none')).body.error.code).toBe('invalid_cursor');
  });

  test('are set by row, also of a model with a slash, and shown above the tier', async () => {
    const own = { max_requests_per_1_minute: 5, max_tokens_per_1_minute: 2_000_000 };
    expect(await update('rl-house~c', own)).toEqual(row('house/c', own));
    expect(await update('rl-house~c', { max_requests_per_1_day: 7 })).toEqual(
      row('house/c', { ...own, max_requests_per_1_day: 7 }),
    );
    expect(await update('rl-*', { max_requests_per_1_day: 9 })).toEqual(row('*', { max_requests_per_1_day: 9 }));
    const shown = [row('*', { max_requests_per_1_day: 9 }), row('a'), row('b')];
    expect(await list()).toEqual([...shown, row('house/c', { ...own, max_requests_per_1_day: 7 })]);
    expect((await ask('GET', '/history')).body.state.fields.rate_limits).toEqual({
      '*': { requests_per_minute: null, tokens_per_minute: null, requests_per_day: 9 },
      'house/c': { requests_per_minute: 5, tokens_per_minute: 2_000_000, requests_per_day: 7 },
    });
  });

  test('lose a value by null, or by what the tier has; a higher one stays', async () => {
    await update('rl-a', {
      max_requests_per_1_minute: 5,
      max_tokens_per_1_minute: 3_000_000,
      max_requests_per_1_day: 6,
    });
    const body = { max_requests_per_1_minute: null, max_requests_per_1_day: tier.max_requests_per_1_day };
    expect((await ask('POST', '/rate_limits/rl-a', body)).body).toEqual(
      row('a', { max_tokens_per_1_minute: 3_000_000 }),
    );
    await update('rl-a', { max_tokens_per_1_minute: tier.max_tokens_per_1_minute });
    expect((await ask('GET', '/history')).body.state.fields.rate_limits).toEqual({});
  });

  test('are in the audit log, and not where nothing changes', async () => {
    await update('rl-a', { max_requests_per_1_minute: 5 });
    const before = at.store.log.length;
    expect(await update('rl-a', {})).toEqual(row('a', { max_requests_per_1_minute: 5 }));
    expect(await update('rl-b', {})).toEqual(row('b'));
    await update('rl-a', { max_requests_per_1_minute: 5, max_requests_per_1_day: tier.max_requests_per_1_day });
    expect(at.store.log.length).toBe(before);
    const values = { max_requests_per_1_minute: 5, max_tokens_per_1_minute: null, max_requests_per_1_day: null };
    expect(await entries()).toEqual([{ id: tenant.projectId, changes_requested: { model: 'a', ...values } }]);
  });

  test.each([
    [{ max_requests_per_1_minute: 0 }, 'max_requests_per_1_minute'],
    [{ max_requests_per_1_minute: 1.5 }, 'max_requests_per_1_minute'],
    [{ max_requests_per_1_minute: mostPossible.rpm + 1 }, 'max_requests_per_1_minute'],
    [{ max_tokens_per_1_minute: mostPossible.tpm + 1 }, 'max_tokens_per_1_minute'],
    [{ max_requests_per_1_day: mostPossible.rpd + 1 }, 'max_requests_per_1_day'],
    [{ max_requests_per_1_day: 5, batch_1_day_max_input_tokens: 5 }, 'batch_1_day_max_input_tokens'],
    [{ max_audio_megabytes_per_1_minute: 5 }, 'max_audio_megabytes_per_1_minute'],
    [{ max_images_per_1_minute: 5 }, 'max_images_per_1_minute'],
  ])('are not changed by %#', async (body, param) => {
    const { status, body: answer } = await ask('POST', '/rate_limits/rl-a', body);
    expect([status, answer.error.param]).toEqual([422, param]);
    expect(await list()).toEqual([row('*'), row('a'), row('b'), row('house/c')]);
  });

  test('may be as high as windows count, of models that the project may call, until it is archived', async () => {
    const most = { max_requests_per_1_minute: mostPossible.rpm, max_tokens_per_1_minute: mostPossible.tpm };
    expect(await update('rl-a', most)).toEqual(row('a', most));
    await client().modelPermissions.update(tenant.projectId, { mode: 'allow_list', model_ids: ['b'] });
    expect((await ask('POST', '/rate_limits/rl-a', most)).body.error.code).toBe('rate_limit_not_found');
    await ask('POST', '/archive');
    expect((await ask('POST', '/rate_limits/rl-b', most)).body.error.code).toBe('project_archived');
    expect(await list()).toEqual([row('*'), row('b')]);
  });
});

const none = { requests_per_minute: null, tokens_per_minute: null, requests_per_day: null, concurrent_requests: null };
const created = async (limits?: object | null) => (await ask('POST', '/api_keys', { name: 'k', limits })).body;

describe('the limits of a key', () => {
  test('are given at creation and replaced as a whole', async () => {
    expect((await created()).limits).toEqual(none);
    expect((await created(null)).limits).toEqual(none);
    const key = await created({ requests_per_minute: 5, concurrent_requests: 1 });
    const path = `/api_keys/${key.id}`;
    expect(key.limits).toEqual({ ...none, requests_per_minute: 5, concurrent_requests: 1 });
    expect((await ask('GET', path)).body.limits).toEqual(key.limits);
    const changed = await ask('POST', path, { limits: { tokens_per_minute: 900, requests_per_day: null } });
    expect(changed.body.limits).toEqual({ ...none, tokens_per_minute: 900 });
    expect((await ask('POST', path, { name: 'renamed' })).body.limits).toEqual(changed.body.limits);
    expect((await ask('POST', path, { limits: null })).body).toMatchObject({ name: 'renamed', limits: none });
    const own = { ...none, tokens_per_minute: 900 };
    expect(await entries()).toEqual([
      { id: key.id, changes_requested: { limits: none } },
      { id: key.id, changes_requested: { limits: own } },
    ]);
    const { data } = (await ask('GET', `${path}/history`)).body;
    expect(data.map(({ type }: { type: string }) => type)).toEqual([
      'project_key.created',
      'project_key.limits_updated',
      'project_key.updated',
      'project_key.limits_updated',
    ]);
  });

  test('are those of its successor, which begins with them', async () => {
    const key = await created({ requests_per_minute: 5 });
    const successor = (await ask('POST', `/api_keys/${key.id}/rotate`, { grace_seconds: 60 })).body;
    expect(successor.limits).toEqual(key.limits);
    const limits = { requests_per_minute: 3 };
    const refused = await ask('POST', `/api_keys/${key.id}`, { limits });
    expect([refused.status, refused.body.error.code, refused.body.error.message]).toEqual([
      409,
      'api_key_rotated',
      expect.stringContaining(successor.id),
    ]);
    expect((await ask('POST', `/api_keys/${successor.id}`, { limits })).status).toBe(200);
    const shown = await Promise.all([key, successor].map(({ id }) => ask('GET', `/api_keys/${id}`)));
    expect(shown.map(({ body }) => body.limits.requests_per_minute)).toEqual([3, 3]);
    // What the windows are told: one set for all keys of the chain.
    expect(at.admin.models.get(keyLimitRows, key.id)?.requestsPerMinute).toBe(3);
    expect(at.admin.models.get(keyLimitRows, successor.id)).toBeUndefined();
  });

  test.each([
    [{ requests_per_minute: 0 }, 'limits.requests_per_minute'],
    [{ tokens_per_minute: mostPossible.tpm + 1 }, 'limits.tokens_per_minute'],
    [{ concurrent_requests: mostPossible.concurrent + 1 }, 'limits.concurrent_requests'],
    [{ requests_per_day: '5' }, 'limits.requests_per_day'],
    [{ tokens_per_day: 5 }, 'limits.tokens_per_day'],
    [5, 'limits'],
  ])('are refused: %#', async (limits, param) => {
    const { status, body } = await ask('POST', '/api_keys', { name: 'k', limits });
    expect([status, body.error.param]).toEqual([422, param]);
  });
});
