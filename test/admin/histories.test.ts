import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Context } from '../../src/kernel/commands/actor.ts';
import { openEvaluator } from '../../src/rules/evaluate.ts';
import { administrationRoutes } from '../support/all-routes.ts';
import { noOwnLimits } from '../support/no-own-limits.ts';
import { type Ask, type AskOptions, asker, gist, type Json } from './ask.ts';
import { stage } from './stage.ts';

const operator: Context = { actor: { type: 'operator', id: 'jo', host: 'here', reason: 'unpaid' } };
let at: Awaited<ReturnType<typeof stage>>;
let evaluator: ReturnType<typeof openEvaluator>;
let ask: Ask;
let asked = 0;
const [mine, theirs] = ['org_01hf7yatz8e438e7tz5b39yf4q', 'org_01hf7yatz8e438e7tz5b39yf4r'];

beforeEach(async () => {
  at = await stage();
  evaluator = openEvaluator();
  const asMe = asker(administrationRoutes(at.admin, evaluator));
  ask = (method, url, options) => asMe(method, url, { principal: { organizationId: mine }, ...options });
  const { organization } = at.admin.aggregates;
  for (const id of [mine, theirs]) await organization.dispatch(id, 'create', { name: id, at: 1 }, operator);
  for (const keyId of ['akey_1', 'akey_2']) {
    const admission = { keyId, permissions: ['admin_api_keys:write'], expiresAt: null };
    await organization.dispatch(mine, 'issueAdminKey', admission, operator);
  }
});
afterEach(async () => {
  await evaluator.close();
  await at.close();
});

const base = '/v1/organization';
/** A change, one second after the one before. */
const change = async (method: string, path: string, body?: object): Promise<Json> => {
  at.clock.at += 1000;
  const headers = { 'idempotency-key': `some-key-${asked++}` };
  const answer = await ask(method, base + path, { headers, ...(body && { body }) });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.code} ${answer.message}`);
  return answer.body;
};
const seen = () => at.admin.models.reached(at.store.log.at(-1)!.position, 2000);
const get = async (path: string, options?: AskOptions) => {
  await seen();
  return ask('GET', `${base}${path}`, options);
};
// biome-ignore lint/suspicious/noExplicitAny: answers of every shape.
const history = async (path: string, query = ''): Promise<any> => {
  const { status, body, message } = await get(`${path}/history${query === '' ? '' : `?${query}`}`);
  expect(status, message).toBe(200);
  return body;
};
const now = (): number => Math.floor(at.clock.at / 1000);

describe('a history', () => {
  test('has the state of a moment, as recorded and as it could act, and the changes up to then', async () => {
    const { id: projectId } = await change('POST', '/projects', { name: 'Alpha' });
    const keys = `/projects/${projectId}/api_keys`;
    const { id } = await change('POST', keys, { name: 'k', permissions: ['models:read'], expires_in_seconds: 3600 });
    const created = now();
    await change('POST', `${keys}/${id}`, { name: 'k2', permissions: ['models:read', 'credits:read'] });
    const updated = now();
    at.clock.at += 1000;
    await at.admin.aggregates.organization.dispatch(mine, 'suspend', { at: at.clock.at }, operator);
    const suspended = now();
    await change('DELETE', `${keys}/${id}`);

    const first = await history(`${keys}/${id}`, `at=${created}`);
    expect(first.data).toHaveLength(1);
    expect(first.state).toEqual({
      object: 'organization.history.state',
      id,
      as_of: created,
      last_event: `${id}@0`,
      status: 'active',
      effective: { status: 'active', because: 'own' },
      belongs_to: [
        { id: mine, name: mine, status: 'active' },
        { id: projectId, name: 'Alpha', status: 'active' },
      ],
      fields: {
        organization_id: mine,
        project_id: projectId,
        name: 'k',
        permissions: ['models:read'],
        created_at: created,
        expires_at: created + 3601,
        redacted_value: expect.stringMatching(/^gwp_/),
        rotated_from: null,
        rotated_to: null,
        windows_of: null,
        ...noOwnLimits,
      },
    });
    expect((await history(`${keys}/${id}`, `at=${suspended}`)).state).toMatchObject({
      as_of: suspended,
      last_event: `${id}@1`,
      status: 'active',
      effective: { status: 'suspended', because: 'organization' },
      fields: { name: 'k2' },
    });
    const last = await history(`${keys}/${id}`);
    expect(last.state).toMatchObject({
      as_of: now(),
      status: 'revoked',
      effective: { status: 'revoked', because: 'own' },
    });
    expect(last.data).toMatchObject([
      { type: 'project_key.created', status: 'active' },
      { type: 'project_key.updated' },
      { type: 'project_key.revoked', status: 'revoked', reason: 'requested', changes: [] },
    ]);
    expect(last.data[1]).toEqual({
      object: 'organization.history.event',
      id: `${id}@1`,
      type: 'project_key.updated',
      effective_at: updated,
      actor: { type: 'api_key', api_key: { id: 'akey_1' } },
      ip_address: '127.0.0.1',
      request_id: expect.stringMatching(/^req_/),
      reason: null,
      status: 'active',
      changes: [
        { field: 'name', from: 'k', to: 'k2' },
        { field: 'permissions', from: ['models:read'], to: ['models:read', 'credits:read'] },
      ],
    });
    expect(JSON.stringify(last)).not.toMatch(/digest|pepper/);

    // The reaction that does so is not at work here.
    await at.admin.aggregates.project.dispatch(String(projectId), 'endKey', { keyId: String(id) }, operator);
    const project = await history(`/projects/${projectId}`);
    expect(project.data.map(({ changes }: Json) => changes).slice(1)).toEqual([
      [{ field: 'live_keys', added: [id], removed: [] }],
      [{ field: 'live_keys', added: [], removed: [id] }],
    ]);
    const organization = await history('', `at=${suspended}`);
    expect(organization.state).toMatchObject({ id: mine, status: 'suspended', belongs_to: [] });
    expect(organization.data.at(-1)).toMatchObject({
      type: 'organization.suspended',
      actor: { type: 'operator', operator: { id: 'jo', host: 'here', reason: 'unpaid' } },
      reason: 'unpaid',
      request_id: null,
    });
  });

  test('has a state of null and no changes before there was anything', async () => {
    const { id } = await change('POST', '/projects', { name: 'Alpha' });
    const none = { object: 'list', data: [], has_more: false, first_id: '', last_id: '', state: null };
    expect(await history(`/projects/${id}`, `at=${now() - 1}`)).toEqual(none);
    expect(await history(`/projects/${id}`, 'at=0')).toEqual(none);
  });

  test('tells of now where a time is still to come, however far', async () => {
    const { id } = await change('POST', '/projects', { name: 'Alpha' });
    const present = await history(`/projects/${id}`);
    for (const later of [now() + 1, 999_999_999_999]) {
      expect(await history(`/projects/${id}`, `at=${later}`)).toEqual(present);
    }
    expect(present.state.as_of).toBe(now());
  });

  test('is there of what was deleted, and only in its own place', async () => {
    const { id: policy } = await change('POST', '/policies', { name: 'p', rule: 'true' });
    await change('DELETE', `/policies/${policy}?revision=1`);
    await change('DELETE', '/admin_api_keys/akey_2').catch(() => {});
    const deleted = await history(`/policies/${policy}`);
    expect(deleted.data.map(({ type }: Json) => type)).toEqual(['policy.created', 'policy.deleted']);
    expect(deleted.state.fields.draft.rule).toBe('true');
    const [one, other] = [
      await change('POST', '/projects', { name: 'a' }),
      await change('POST', '/projects', { name: 'b' }),
    ];
    const { id: key } = await change('POST', `/projects/${one.id}/api_keys`, { name: 'k' });
    const at = (path: string, options?: AskOptions) => gist(get(path, options));
    expect(await at(`/projects/${other.id}/api_keys/${key}/history`)).toBe('404 api_key_not_found');
    expect(await at(`/projects/${key}/history`)).toBe('404 project_not_found');
    expect(await at(`/policies/${one.id}/history`)).toBe('404 policy_not_found');
    expect(await at(`/admin_api_keys/${key}/history`)).toBe('404 admin_api_key_not_found');
    // What belongs to somebody else is not there.
    const stranger = { principal: { organizationId: theirs } };
    expect(await at(`/projects/${one.id}/history`, stranger)).toBe('404 project_not_found');
    expect(await at(`/policies/${policy}/history`, stranger)).toBe('404 policy_not_found');
    expect((await get('/history', stranger)).body).toMatchObject({ state: { id: theirs } });
  });

  test('of a policy has the states, names and revision of the policy', async () => {
    const rule = { name: 'p', rule: 'true', match_threshold_basis_points: 100 };
    const { id } = await change('POST', '/policies', { ...rule, mode: 'enforcing' });
    const path = `/policies/${id}`;
    const same = async () => {
      const { body: policy } = await get(path);
      const told = await history(path);
      const { status, effective, fields } = told.state;
      const { draft, published, ...flat } = fields;
      const { base_version: _, ...terms } = policy.draft as Json;
      expect({ ...flat, state: status }).toEqual({
        organization_id: mine,
        name: policy.name,
        description: policy.description,
        created_at: policy.created_at,
        updated_at: policy.updated_at,
        revision: policy.revision,
        state: policy.state,
      });
      expect(draft).toEqual(terms);
      const { object: _object, current: _current, ...version } = (policy.published ?? {}) as Json;
      expect(published ?? {}).toEqual(version);
      expect([effective.status, told.data.at(-1).status]).toEqual([status, status]);
      expect(JSON.stringify(told)).not.toMatch(/"live"|"threshold|paused_revision|"current/);
      return status;
    };
    const seenStates = [await same()];
    for (const [action, revision] of [
      ['/publish', 1],
      ['/pause', 2],
      ['/resume', 3],
    ] as const) {
      await change('POST', `${path}${action}`, { revision });
      seenStates.push(await same());
    }
    await change('POST', path, { revision: 4, mode: 'monitoring' });
    await change('POST', `${path}/publish`, { revision: 5 });
    seenStates.push(await same());
    expect(seenStates).toEqual(['draft', 'enforcing', 'paused', 'enforcing', 'monitoring']);
    const { data } = await history(path);
    expect(data.at(-2).changes).toEqual([
      { field: 'updated_at', from: expect.any(Number), to: expect.any(Number) },
      { field: 'revision', from: 4, to: 5 },
      { field: 'draft.mode', from: 'enforcing', to: 'monitoring' },
    ]);
  });

  test('of hostile ids is not there, and hostile times are refused', async () => {
    for (const id of ['proj_', '__proto__', 'constructor', `proj_${'x'.repeat(194)}`, 'proj_%F0%9F%8C%8A']) {
      expect(await gist(get(`/projects/${id}/history`)), id).toBe('404 project_not_found');
    }
    const times = ['-1', '1e9', '', '1.5', '0x10', 'now', '9'.repeat(13), '9'.repeat(400), '2026-11-20T12:00:00Z'];
    for (const time of times) {
      expect(await gist(get(`/history?at=${time}`)), time).toBe('422 validation_failed query.at');
    }
    expect(await gist(get('/history?at=1&at=2'))).toBe('422 validation_failed query.at');
    expect(await gist(get('/history?at[gt]=1'))).toBe('422 validation_failed query.at');
  });
});

describe('a page of it', () => {
  test('goes on behind its cursor, in both directions, up to the moment that is asked about', async () => {
    const { id } = await change('POST', '/projects', { name: 'v0' });
    for (let i = 1; i < 25; i++) await change('POST', `/projects/${id}`, { name: `v${i}` });
    const middle = now();
    await change('POST', `/projects/${id}`, { name: 'later' });
    for (const order of ['asc', 'desc']) {
      const pages: Json[][] = [];
      for (let after = ''; ; ) {
        const page = await history(`/projects/${id}`, `at=${middle}&limit=10&order=${order}${after}`);
        expect([page.first_id, page.last_id]).toEqual([page.data[0].id, page.data.at(-1).id]);
        expect(page.state.fields.name).toBe('v24');
        pages.push(page.data);
        if (!page.has_more) break;
        after = `&after=${page.last_id}`;
      }
      const numbers = Array.from({ length: 25 }, (_, i) => i);
      expect(pages.map(({ length }) => length)).toEqual([10, 10, 5]);
      const told = pages.flat().map(({ id: event, changes }) => ({ n: Number(String(event).split('@')[1]), changes }));
      expect(told.map(({ n }) => n)).toEqual(order === 'asc' ? numbers : numbers.toReversed());
      for (const { n, changes } of told) {
        if (n > 0) expect(changes).toEqual([{ field: 'name', from: `v${n - 1}`, to: `v${n}` }]);
      }
    }
    // What came later is no part of that list.
    for (const cursor of [`${id}@25`, `${id}@-1`, `${id}@`, '@0', `${id}@00`, `${mine}@0`]) {
      expect(await gist(get(`/projects/${id}/history?at=${middle}&after=${cursor}`))).toBe(
        '400 invalid_cursor query.after',
      );
    }
  });
});
