import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { hosted, model } from './hosted.ts';
import { ScriptedUpstream } from './scripted-upstream.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let tenant: Awaited<ReturnType<typeof at.make.tenant>>;
beforeAll(async () => {
  const ids = ['a', 'b', 'house/c'];
  const foreign = model({ id: 'theirs', dedicated_to: 'org_other' });
  at = await wholeGateway({ models: hosted(new ScriptedUpstream(), ...ids.map((id) => model({ id })), foreign) });
  server = await at.listen();
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
});
beforeEach(async () => {
  tenant = await at.make.tenant();
});

const permissions = () => {
  const baseURL = `http://127.0.0.1:${server.port}/v1`;
  const client = new OpenAI({ baseURL, maxRetries: 0, apiKey: null as never, adminAPIKey: tenant.adminKey.value });
  return client.admin.organization.projects.modelPermissions;
};
const ask = (method: string, path = '', body?: object) =>
  at.call(method, `/v1/organization/projects/${tenant.projectId}${path}`, {
    headers: bearer(tenant.adminKey.value),
    ...(body && { body }),
  });
const seenBy = async (key = tenant.projectKey.value) =>
  (await at.call('GET', '/v1/models', { headers: bearer(key) })).body.data.map(({ id }: { id: string }) => id);
const use = async (id: string) => {
  const body = { model: id, max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };
  return (await at.call('POST', '/v1/messages', { headers: bearer(tenant.projectKey.value), body })).status;
};
const all = ['a', 'b', 'house/c'];

describe('the model permissions of a project', () => {
  test('deny some models, from the answer on, and are all again, by the methods of openai', async () => {
    expect(await permissions().retrieve(tenant.projectId)).toEqual({
      object: 'project.model_permissions',
      mode: 'deny_list',
      model_ids: [],
    });
    const denied = { mode: 'deny_list', model_ids: ['a', 'not-declared-yet'] } as const;
    const updated = await permissions().update(tenant.projectId, { ...denied, model_ids: [...denied.model_ids] });
    expect(updated).toEqual({ object: 'project.model_permissions', ...denied });
    expect(await seenBy()).toEqual(['b', 'house/c']);
    expect([await use('a'), await use('b'), await use('house/c')]).toEqual([404, 200, 200]);
    expect(await permissions().retrieve(tenant.projectId)).toEqual(updated);
    // A model of another organization is none that there is.
    expect((await ask('GET')).body.allowed_models).toEqual(['b', 'house/c']);
    expect((await ask('POST', '', { name: 'renamed' })).body.allowed_models).toEqual(['b', 'house/c']);
    const listed = await at.call('GET', '/v1/organization/projects', { headers: bearer(tenant.adminKey.value) });
    expect(listed.body.data[0].allowed_models).toEqual(['b', 'house/c']);
    expect(await permissions().delete(tenant.projectId)).toEqual({
      object: 'project.model_permissions.deleted',
      deleted: true,
    });
    expect(await seenBy()).toEqual(all);
    expect([await use('a'), (await ask('GET')).body.allowed_models]).toEqual([200, null]);
  });

  test('are one truth with allowed_models', async () => {
    await permissions().update(tenant.projectId, { mode: 'allow_list', model_ids: ['b'] });
    expect([(await ask('GET')).body.allowed_models, await seenBy()]).toEqual([['b'], ['b']]);
    await ask('POST', '', { allowed_models: ['a'] });
    expect(await permissions().retrieve(tenant.projectId)).toMatchObject({ mode: 'allow_list', model_ids: ['a'] });
    await permissions().update(tenant.projectId, { mode: 'deny_list', model_ids: ['a'] });
    expect((await ask('POST', '', { allowed_models: null })).body.allowed_models).toBeNull();
    expect(await permissions().retrieve(tenant.projectId)).toMatchObject({ mode: 'deny_list', model_ids: [] });
    expect(await seenBy()).toEqual(all);
    await permissions().update(tenant.projectId, { mode: 'allow_list', model_ids: [] });
    expect(await seenBy()).toEqual([]);
  });

  test('are those of this project alone, and ids with blanks are not two ids', async () => {
    const projectId = await at.make.project(tenant.organizationId);
    const other = await at.make.projectKey({ organizationId: tenant.organizationId, projectId });
    await permissions().update(tenant.projectId, { mode: 'deny_list', model_ids: ['a b'] });
    await permissions().update(projectId, { mode: 'deny_list', model_ids: ['a', 'b'] });
    expect([await seenBy(), await seenBy(other.value)]).toEqual([all, ['house/c']]);
    await permissions().update(tenant.projectId, { mode: 'allow_list', model_ids: ['a b'] });
    await permissions().update(projectId, { mode: 'allow_list', model_ids: ['a', 'b'] });
    expect([await seenBy(), await seenBy(other.value)]).toEqual([[], ['a', 'b']]);
  });

  test('are in the audit log and the history, and not where nothing changes', async () => {
    await permissions().update(tenant.projectId, { mode: 'deny_list', model_ids: ['a'] });
    const before = at.store.log.length;
    await permissions().update(tenant.projectId, { mode: 'deny_list', model_ids: ['a'] });
    expect(at.store.log.length).toBe(before);
    await permissions().delete(tenant.projectId);
    await permissions().delete(tenant.projectId);
    expect(at.store.log.length).toBe(before + 1);
    const { body } = await at.call('GET', '/v1/organization/audit_logs?event_types[]=model_permissions.updated', {
      headers: bearer(tenant.adminKey.value),
    });
    expect(body.data.map((each: Record<string, unknown>) => each['model_permissions.updated'])).toEqual([
      { id: tenant.projectId, changes_requested: { mode: 'deny_list', model_ids: [] } },
      { id: tenant.projectId, changes_requested: { mode: 'deny_list', model_ids: ['a'] } },
    ]);
    const history = (await ask('GET', '/history')).body;
    expect(
      history.data.find(({ type }: { type: string }) => type === 'project.model_permissions_updated').changes,
    ).toEqual([{ field: 'denied_models', from: null, to: ['a'] }]);
  });

  test.each([
    [{}, 'mode'],
    [{ mode: 'deny_list' }, 'model_ids'],
    [{ mode: 'allow', model_ids: ['a'] }, 'mode'],
    [{ mode: 'deny_list', model_ids: [''] }, 'model_ids.0'],
    [{ mode: 'deny_list', model_ids: ['a', 'a'] }, 'model_ids'],
    [{ mode: 'deny_list', model_ids: null }, 'model_ids'],
    [{ mode: 'deny_list', model_ids: ['a'], models: [] }, 'models'],
  ])('are not changed by %#', async (body, param) => {
    const { status, body: answer } = await ask('POST', '/model_permissions', body);
    expect([status, answer.error.param]).toEqual([422, param]);
    expect(await seenBy()).toEqual(all);
  });

  test('of an archived project stay as they are, and can be read', async () => {
    await permissions().update(tenant.projectId, { mode: 'deny_list', model_ids: ['a'] });
    await ask('POST', '/archive');
    const body = { mode: 'deny_list', model_ids: [] };
    expect((await ask('POST', '/model_permissions', body)).body.error.code).toBe('project_archived');
    expect((await ask('DELETE', '/model_permissions')).body.error.code).toBe('project_archived');
    expect((await ask('GET', '/model_permissions')).body.model_ids).toEqual(['a']);
  });
});
