import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { hosted, model } from './hosted.ts';
import { ScriptedUpstream } from './scripted-upstream.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let at: Awaited<ReturnType<typeof wholeGateway>>;
let tenant: Awaited<ReturnType<typeof at.make.tenant>>;
beforeAll(async () => {
  at = await wholeGateway({ models: hosted(new ScriptedUpstream(), model({ id: 'a' }), model({ id: 'b' })) });
});
afterAll(() => at.close());
beforeEach(async () => {
  tenant = await at.make.tenant();
});

const update = (body: object, projectId = tenant.projectId) =>
  at.call('POST', `/v1/organization/projects/${projectId}`, { headers: bearer(tenant.adminKey.value), body });
const seenBy = async (key = tenant.projectKey.value) =>
  (await at.call('GET', '/v1/models', { headers: bearer(key) })).body.data.map(({ id }: { id: string }) => id);
const statuses = async (id: string) => {
  const headers = bearer(tenant.projectKey.value);
  const messages = [{ role: 'user', content: 'hi' }];
  const asked = await Promise.all([
    at.call('GET', `/v1/models/${id}`, { headers }),
    at.call('POST', '/v1/messages', { headers, body: { model: id, max_tokens: 5, messages } }),
    at.call('POST', '/v1/messages/count_tokens', { headers, body: { model: id, messages } }),
    at.call('POST', '/v1/chat/completions', { headers, body: { model: id, max_tokens: 5, messages } }),
    at.call('POST', '/v1/responses', { headers, body: { model: id, input: 'hi' } }),
  ]);
  return asked.map(({ status, body }) =>
    status === 200 ? 200 : `${status} ${JSON.stringify(body).includes('No such model')}`,
  );
};
const refused = Array.from({ length: 5 }, () => '404 true');

describe('the models of a project', () => {
  test('are all, until it is said which, and all again', async () => {
    expect((await update({ name: 'x' })).body).toMatchObject({ name: 'x', allowed_models: null });
    expect(await seenBy()).toEqual(['a', 'b']);
    const changed = await update({ allowed_models: ['b', 'not-declared-yet'] });
    expect([changed.status, changed.body.allowed_models, changed.body.name]).toEqual([
      200,
      ['b', 'not-declared-yet'],
      'x',
    ]);
    // From the answer on, in the list and on every route of models.
    expect(await seenBy()).toEqual(['b']);
    expect(await statuses('a')).toEqual(refused);
    expect(await statuses('b')).toEqual([200, 200, 200, 200, 200]);
    await update({ allowed_models: [] });
    expect(await seenBy()).toEqual([]);
    expect(await statuses('b')).toEqual(refused);
    expect((await update({ allowed_models: null })).body.allowed_models).toBeNull();
    expect(await seenBy()).toEqual(['a', 'b']);
    expect(await statuses('a')).toEqual([200, 200, 200, 200, 200]);
  });

  test('are those of this project alone', async () => {
    const projectId = await at.make.project(tenant.organizationId);
    const other = await at.make.projectKey({ organizationId: tenant.organizationId, projectId });
    await update({ allowed_models: ['a'] });
    expect([await seenBy(), await seenBy(other.value)]).toEqual([['a'], ['a', 'b']]);
  });

  test('change by an event that the audit log tells of, and not where nothing changes', async () => {
    await update({ allowed_models: ['a'], name: 'renamed' });
    const before = at.store.log.length;
    await update({ allowed_models: ['a'], name: 'renamed' });
    expect(at.store.log.length).toBe(before);
    expect(at.store.log.slice(-2).map(({ type, data }) => [type, data])).toEqual([
      ['project.updated', { name: 'renamed' }],
      ['project.models_allowed', { models: ['a'] }],
    ]);
    const { body } = await at.call('GET', '/v1/organization/audit_logs?event_types[]=project.updated', {
      headers: bearer(tenant.adminKey.value),
    });
    expect(body.data.map((each: Record<string, unknown>) => each['project.updated'])).toMatchObject([
      { id: tenant.projectId, changes_requested: { allowed_models: ['a'] } },
      { id: tenant.projectId, changes_requested: { name: 'renamed' } },
    ]);
  });

  test.each([
    [{}, 422, 'validation_failed', 'name'],
    [{ allowed_models: 'a' }, 422, 'validation_failed', 'allowed_models'],
    [{ allowed_models: [''] }, 422, 'validation_failed', 'allowed_models.0'],
    [{ allowed_models: ['x'.repeat(201)] }, 422, 'validation_failed', 'allowed_models.0'],
    [{ allowed_models: ['a', 'a'] }, 422, 'validation_failed', 'allowed_models'],
    [{ allowed_models: Array.from({ length: 1_001 }, (_, i) => `m${i}`) }, 422, 'validation_failed', 'allowed_models'],
  ])('are not changed by %#', async (body, ...expected) => {
    const { status, body: answer } = await update(body);
    expect([status, answer.error.code, answer.error.param]).toEqual(expected);
    expect(await seenBy()).toEqual(['a', 'b']);
  });

  test('may be a thousand, whose ids are as long as they may be', async () => {
    const ids = Array.from({ length: 250 }, (_, i) => `${i}`.padStart(200, 'm'));
    expect((await update({ allowed_models: ids })).status).toBe(200);
    const short = Array.from({ length: 1_000 }, (_, i) => `m${i}`);
    expect((await update({ allowed_models: short })).status).toBe(200);
  });

  test('of an archived project stay as they are', async () => {
    const headers = bearer(tenant.adminKey.value);
    await at.call('POST', `/v1/organization/projects/${tenant.projectId}/archive`, { headers });
    expect((await update({ allowed_models: ['a'] })).body.error.code).toBe('project_archived');
    expect((await update({ allowed_models: null })).body.error.code).toBe('project_archived');
  });
});
