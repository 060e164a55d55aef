import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { projections } from '../../projections/all.ts';
import { auditRows } from '../../projections/audit-log.ts';
import { AccessRecords } from '../../src/admin/audit/access-records.ts';
import { accessRecordSeconds } from '../../src/domain/key/access-events.ts';
import type { Context } from '../../src/kernel/commands/actor.ts';
import { sharedStreamWriter } from '../../src/kernel/commands/shared-stream-writer.ts';
import { openReadModels } from '../../src/kernel/projections/projection.ts';
import { openEvaluator } from '../../src/rules/evaluate.ts';
import { administrationRoutes } from '../support/all-routes.ts';
import { type Ask, asker, type Json } from './ask.ts';
import { stage } from './stage.ts';

const said = { host: 'here', command: 'weir org create', name: 'Mo', reason: 'a new customer' };
const operator: Context = { actor: { type: 'operator', id: 'jo', ...said } };
const rule = 'request.text.contains("a secret of ours")';
let at: Awaited<ReturnType<typeof stage>>;
let evaluator: ReturnType<typeof openEvaluator>;
let ask: Ask;
let asked = 0;

beforeEach(async () => {
  at = await stage();
  evaluator = openEvaluator();
  ask = asker(administrationRoutes(at.admin, evaluator));
  for (const id of ['org_1', 'org_2']) {
    await at.admin.aggregates.organization.dispatch(id, 'create', { name: `Acme ${id}`, at: 1 }, operator);
  }
  // Two keys that can make others, so that one of them may go.
  for (const keyId of ['akey_1', 'akey_2']) {
    const admission = { keyId, permissions: ['admin_api_keys:write'], expiresAt: null };
    await at.admin.aggregates.organization.dispatch('org_1', 'issueAdminKey', admission, operator);
  }
});
afterEach(async () => {
  await evaluator.close();
  await at.close();
});

const seen = () => at.admin.models.reached(at.store.log.at(-1)!.position, 2000);
const send = async (method: string, url: string, body?: object, key = `some-key-${asked++}`): Promise<Json> => {
  at.clock.at += 1000;
  const headers = { 'idempotency-key': key, authorization: 'Bearer the-caller', 'user-agent': 'tests' };
  const answer = await ask(method, `/v1/organization${url}`, { headers, ...(body && { body }) });
  if (answer.status >= 300) throw new Error(`${method} ${url}: ${answer.status} ${answer.code} ${answer.message}`);
  return answer.body;
};
/** Every entry, oldest first. */
const log = async (query = ''): Promise<Json[]> => {
  await seen();
  return (await send('GET', `/audit_logs?limit=100&order=asc&${query}`)).data as Json[];
};
const typesOf = (entries: readonly Json[]): unknown[] => entries.map(({ type }) => type);

describe('an entry', () => {
  test('says what happened to what, who did it, when, from where and by which request', async () => {
    const { id } = await send('POST', '/projects', { name: 'Alpha' });
    const [created] = (await log(`resource_ids[]=${id}`)) as [Json];
    expect(created).toEqual({
      id: expect.stringMatching(/^audit_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
      type: 'project.created',
      effective_at: 1_700_000_001,
      actor: { type: 'api_key', api_key: { id: 'akey_1' } },
      project: { id, name: 'Alpha' },
      ip_address: '127.0.0.1',
      request_id: 'req_1',
      'project.created': { id, data: { name: 'Alpha', title: 'Alpha' } },
    });
  });
  test('of something that no request did has no address and no request', async () => {
    const [first] = await log();
    expect(first).toMatchObject({
      type: 'organization.created',
      actor: { type: 'operator', operator: { id: 'jo', ...said } },
      ip_address: null,
      request_id: null,
      'organization.created': { id: 'org_1', data: { name: 'Acme org_1' } },
    });
    expect(first).not.toHaveProperty('project');
  });
});

describe('what happens', () => {
  test('to a project and its keys', async () => {
    const { id } = await send('POST', '/projects', { name: 'Alpha' });
    const keys = `/projects/${id}/api_keys`;
    await send('POST', `/projects/${id}`, { name: 'Beta' });
    const body = { name: 'k', permissions: ['models:read'] };
    const { id: key } = await send('POST', keys, body, 'the-same-key');
    await send('POST', keys, body, 'the-same-key');
    await send('POST', `${keys}/${key}`, { name: 'k2' });
    await send('POST', `${keys}/${key}`, { permissions: ['models:read', 'credits:read'], expires_in_seconds: 60 });
    for (const step of ['suspend', 'suspend', 'reactivate']) await send('POST', `${keys}/${key}/${step}`);
    await send('DELETE', `${keys}/${key}`);
    await send('POST', `/projects/${id}/archive`);
    const entries = await log(`project_ids[]=${id}`);
    const details = entries.map((entry) => entry[String(entry.type)]);
    expect(typesOf(entries)).toEqual([
      'project.created',
      'project.updated',
      'api_key.created',
      'api_key.value_replayed',
      'api_key.updated',
      'api_key.updated',
      'api_key.suspended',
      'api_key.reactivated',
      'api_key.deleted',
      'project.archived',
    ]);
    expect(details.slice(1)).toEqual([
      { id, changes_requested: { name: 'Beta', title: 'Beta' } },
      { id: key, data: { name: 'k', scopes: ['models:read'], expires_at: null } },
      { id: key },
      // What has changed, and nothing else.
      { id: key, changes_requested: { name: 'k2' } },
      { id: key, changes_requested: { scopes: ['models:read', 'credits:read'], expires_at: 1_700_000_067 } },
      { id: key },
      { id: key },
      { id: key, data: { reason: 'requested' } },
      { id },
    ]);
    // The project goes by its present name.
    for (const { project } of entries) expect(project).toEqual({ id, name: 'Beta' });
  });

  test('to Admin keys', async () => {
    // Of the two that were admitted one is made, or the one at hand would be the last that could make others.
    const other = { organizationId: 'org_1', name: 'o', permissions: ['admin_api_keys:write'], expiresAt: null, at: 1 };
    const secret = { digest: 'akey_1', pepperId: 'p1', redactedValue: 'gwa_abc...wxyz' };
    await at.admin.aggregates.adminKey.dispatch('akey_1', 'create', { ...other, ...secret }, operator);
    await seen();
    const body = { name: 'a', permissions: ['audit_logs:read'], expires_in_seconds: 10 };
    const { id } = await send('POST', '/admin_api_keys', body, 'the-same-key');
    await send('POST', '/admin_api_keys', body, 'the-same-key');
    await send('DELETE', `/admin_api_keys/${id}`);
    expect((await log(`resource_ids[]=${id}`)).map((entry) => [entry.type, entry[String(entry.type)]])).toEqual([
      ['admin_api_key.created', { id, data: { name: 'a', scopes: ['audit_logs:read'], expires_at: 1_700_000_012 } }],
      ['api_key.value_replayed', { id }],
      ['admin_api_key.deleted', { id }],
    ]);
  });

  test('to policies, but for the text of their rules', async () => {
    const { id } = await send('POST', '/policies', { name: 'One', rule });
    await send('POST', `/policies/${id}`, { revision: 1, rule: `!${rule}`, mode: 'enforcing' });
    await send('POST', `/policies/${id}`, { revision: 2, name: 'Two' });
    const { published } = (await send('POST', `/policies/${id}/publish`, { revision: 3 })) as { published: Json };
    await send('POST', `/policies/${id}/pause`, { revision: 4 });
    await send('POST', `/policies/${id}/resume`, { revision: 5 });
    await send('POST', `/policies/${id}/pause`, { revision: 6 });
    await send('DELETE', `/policies/${id}?revision=7`);
    expect((await log(`resource_ids[]=${id}`)).map((entry) => [entry.type, entry[String(entry.type)]])).toEqual([
      [
        'policy.created',
        {
          id,
          data: {
            name: 'One',
            description: '',
            direction: 'request',
            mode: 'monitoring',
            scope: 'organization',
            project_ids: [],
            match_threshold_basis_points: 5000,
          },
        },
      ],
      ['policy.updated', { id, changes_requested: { mode: 'enforcing', rule_changed: true } }],
      ['policy.updated', { id, changes_requested: { name: 'Two' } }],
      ['policy.published', { id, data: { version: 1, version_id: published.id, mode: 'enforcing' } }],
      ['policy.paused', { id }],
      ['policy.resumed', { id }],
      ['policy.paused', { id }],
      ['policy.deleted', { id }],
    ]);
  });

  test('to the organization and its money', async () => {
    const { organization } = at.admin.aggregates;
    await organization.dispatch('org_1', 'topUp', { amount: 20_000_000, reference: 'r1' }, operator);
    await organization.dispatch('org_1', 'grant', { amount: 500_000, reference: 'r2' }, operator);
    await organization.dispatch('org_1', 'refund', { amount: 1, reference: 'r3' }, operator);
    await organization.dispatch(
      'org_1',
      'setSubscription',
      { plan: 'Growth', amount: 49_000_000, reference: 'r4' },
      operator,
    );
    await organization.dispatch('org_1', 'suspend', undefined, operator);
    await organization.dispatch('org_1', 'reactivate', undefined, operator);
    await organization.dispatch('org_1', 'close', undefined, operator);
    const id = 'org_1';
    expect((await log('actor_ids[]=jo')).map((entry) => [entry.type, entry[String(entry.type)]])).toEqual([
      ['organization.created', { id, data: { name: 'Acme org_1' } }],
      ['billing.credited', { id, data: { kind: 'payment', amount: 20, reference: 'r1' } }],
      ['organization.tier_changed', { id, data: { from: 0, to: 1 } }],
      ['billing.credited', { id, data: { kind: 'grant', amount: 0.5, reference: 'r2' } }],
      ['billing.refunded', { id, data: { amount: 0.000001, reference: 'r3' } }],
      ['organization.tier_changed', { id, data: { from: 1, to: 0 } }],
      ['billing.subscription_updated', { id, data: { plan: 'Growth', amount: 49, reference: 'r4' } }],
      ['organization.tier_changed', { id, data: { from: 0, to: 2 } }],
      ['organization.suspended', { id }],
      ['organization.reactivated', { id }],
      ['organization.closed', { id }],
    ]);
  });

  test('when a known credential is refused, an escalation among it', async () => {
    const few = { principal: { permissions: new Set(['admin_api_keys:write']) } };
    const wanted = {
      body: { name: 'more', permissions: ['projects:read'] },
      headers: { 'idempotency-key': 'escalation' },
    };
    for (let i = 0; i < 3; i++) {
      expect(await ask('POST', '/v1/organization/admin_api_keys', { ...few, ...wanted })).toMatchObject({
        status: 403,
      });
    }
    await new AccessRecords(at.accessLog, sharedStreamWriter(at.store, accessRecordSeconds), at.clock).write(true);
    const [entry] = (await log('event_types[]=access.denied')) as [Json];
    expect(entry).toMatchObject({
      actor: { type: 'api_key', api_key: { id: 'akey_1' } },
      ip_address: '127.0.0.1',
      request_id: 'req_1',
      'access.denied': {
        id: 'akey_1',
        data: {
          credential_type: 'admin_key',
          route: 'POST /v1/organization/admin_api_keys',
          code: 'permission_escalation',
          count: 3,
          first_at: 1_700_000_000,
          last_at: 1_700_000_000,
        },
      },
    });
  });

  test('is told to nobody of another organization', async () => {
    await send('POST', '/projects', { name: 'Alpha' });
    await seen();
    const theirs = await ask('GET', '/v1/organization/audit_logs', { principal: { organizationId: 'org_2' } });
    expect(typesOf(theirs.body.data as Json[])).toEqual(['organization.created']);
    const nobodys = await ask('GET', '/v1/organization/audit_logs', { principal: { organizationId: 'org_' } });
    expect(nobodys.body).toEqual({ object: 'list', data: [], has_more: false, first_id: '', last_id: '' });
  });
});

test('no entry holds a secret, a digest of one, or the text of a rule', async () => {
  const { id } = await send('POST', '/projects', { name: 'Alpha' });
  const { value, id: key } = await send('POST', `/projects/${id}/api_keys`, { name: 'k' }, 'a-key-of-mine');
  await send('POST', `/projects/${id}/api_keys`, { name: 'k' }, 'a-key-of-mine');
  const { value: admin } = await send('POST', '/admin_api_keys', { name: 'a' });
  await send('POST', '/policies', { name: 'One', rule });
  const text = JSON.stringify([await log(), at.admin.models.range(auditRows, { prefix: 'org_1:', limit: 100 })]);
  expect(text).toContain(String(key));
  const digests = at.store.log.flatMap(({ data }) => (data.digest === undefined ? [] : [String(data.digest)]));
  expect(digests).toHaveLength(2);
  for (const secret of [value, admin, 'a-key-of-mine', 'the-caller', 'a secret of ours', ...digests]) {
    expect(text).not.toContain(String(secret));
  }
});

test('read models that are built anew have the same entries under the same ids', async () => {
  const { id } = await send('POST', '/projects', { name: 'Alpha' });
  await send('POST', `/projects/${id}/api_keys`, { name: 'k' });
  at.clock.at -= 3_600_000; // entries keep their order although the clock goes back
  await send('POST', `/projects/${id}`, { name: 'Beta' });
  await seen();
  const all = () => at.admin.models.range(auditRows, { prefix: 'org_', limit: 100 });
  const anew = await openReadModels({
    ours: (batch) => batch,
    dir: join(at.dir, 'anew'),
    store: at.store,
    logId: 'log',
    projections,
  });
  expect(anew.range(auditRows, { prefix: 'org_', limit: 100 })).toEqual(all());
  await anew.close();
  const ids = all().flatMap(({ key, row }) => (key.startsWith('org_1:') ? [row.id] : []));
  expect(ids).toEqual(ids.toSorted());
});
