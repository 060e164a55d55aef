import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAdminKey, createKey, createProject, freshKey, use } from './calls.ts';
import { type Server, startServer } from './server.ts';

let server: Server;
/** A project with 25 keys, in the order they were made. */
let crowded: { id: string; keys: string[] };
let projects: string[];
let adminKeys: string[];
beforeAll(async () => {
  server = await startServer();
  projects = [server.first.project_id];
  for (let i = 0; i < 24; i++) projects.push(await createProject(server, `project ${i}`));
  crowded = { id: projects[1]!, keys: [] };
  for (let i = 0; i < 25; i++) crowded.keys.push((await createKey(server, crowded.id, { name: `key ${i}` })).id);
  adminKeys = [server.first.admin_api_key_id];
  for (let i = 0; i < 6; i++) adminKeys.push((await createAdminKey(server, { name: `admin ${i}` })).id);
}, 120_000);
afterAll(() => server.stop());

/** Every id that an iterator of pages gives. */
const ids = async (items: AsyncIterable<{ id: string }>): Promise<string[]> => {
  const found: string[] = [];
  for await (const { id } of items) found.push(id);
  return found;
};

interface Key {
  readonly id: string;
  readonly object: string;
  readonly value: string;
}

// The majors differ in types that these tests do not touch.
const majors = { '7': OpenAI, '6': OpenAI6 as unknown as typeof OpenAI };

describe.each(Object.entries(majors))('openai %s', (_, Client) => {
  const options = () => ({ baseURL: `${server.baseUrl}/v1`, maxRetries: 0 });
  /** With the Admin key where this package keeps it. */
  const administrator = (adminAPIKey = server.first.admin_api_key) =>
    new Client({ ...options(), apiKey: null as unknown as string, adminAPIKey }).admin.organization;
  /** With the Admin key in front, for the generic verbs. */
  const generic = (apiKey = server.first.admin_api_key) => new Client({ ...options(), apiKey });

  test('lists the projects, page by page, to the last one', async () => {
    expect(await ids(administrator().projects.list())).toEqual(projects);
    expect(await ids(administrator().projects.list({ limit: 7 }))).toEqual(projects);
    const page = await administrator().projects.list({ limit: 7 });
    expect(page.data).toHaveLength(7);
    expect(page.hasNextPage()).toBe(true);
    expect(page.data[0]).toMatchObject({ object: 'organization.project', status: 'active', name: 'First project' });
    const next = await page.getNextPage();
    expect(next.data.map(({ id }) => id)).toEqual(projects.slice(7, 14));
  });

  test.skipIf(Client !== OpenAI)('limits a model of a project, and sees the limit refuse', async () => {
    const id = projects[3]!;
    const { rateLimits } = administrator().projects;
    const { value } = await createKey(server, id, { name: 'limited' });
    const ask = () =>
      generic(value).chat.completions.create({
        model: 'weir-sim-1',
        max_tokens: 5,
        messages: [{ role: 'user', content: 'hi' }],
      });
    const row = await rateLimits.updateRateLimit('rl-weir-sim-1', { project_id: id, max_requests_per_1_minute: 1 });
    expect(row).toMatchObject({ model: 'weir-sim-1', max_requests_per_1_minute: 1 });
    await ask();
    const refused = await ask().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OpenAI.RateLimitError);
    const { headers, message } = refused as InstanceType<typeof OpenAI.RateLimitError>;
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(30);
    expect(message).toContain('the project is limited to 1 request per minute for weir-sim-1.');
    await rateLimits.updateRateLimit('rl-weir-sim-1', { project_id: id, max_requests_per_1_minute: null as never });
    expect((await ask()).choices).toHaveLength(1);
  });

  test.skipIf(Client !== OpenAI)('denies a project a model, and allows it all again', async () => {
    const id = projects[2]!;
    const { modelPermissions } = administrator().projects;
    const denied = { mode: 'deny_list', model_ids: ['weir-sim-1'] } as const;
    const shown = { object: 'project.model_permissions', ...denied };
    expect(await modelPermissions.update(id, { ...denied, model_ids: ['weir-sim-1'] })).toEqual(shown);
    expect(await modelPermissions.retrieve(id)).toEqual(shown);
    expect(await modelPermissions.delete(id)).toEqual({ object: 'project.model_permissions.deleted', deleted: true });
    expect(await modelPermissions.retrieve(id)).toMatchObject({ mode: 'deny_list', model_ids: [] });
  });

  test('lists the keys of a project over more than one page', async () => {
    const list = administrator().projects.apiKeys.list(crowded.id, { limit: 10 });
    expect(await ids(list)).toEqual(crowded.keys);
    expect(await ids(administrator().projects.apiKeys.list(crowded.id))).toEqual(crowded.keys);
    const page = await administrator().projects.apiKeys.list(crowded.id, { limit: 1 });
    expect(page.data[0]).toMatchObject({ object: 'organization.project.api_key', owner: { type: 'project' } });
  });

  test('lists the Admin keys in both orders and retrieves one', async () => {
    const { adminAPIKeys } = administrator();
    const listed = await ids(adminAPIKeys.list({ limit: 2 }));
    expect(listed).toEqual(adminKeys);
    expect(await ids(adminAPIKeys.list({ limit: 2, order: 'desc' }))).toEqual([...adminKeys].reverse());
    const one = await adminAPIKeys.retrieve(adminKeys[1]!);
    expect(one).toMatchObject({ id: adminKeys[1], object: 'organization.admin_api_key', name: 'admin 0' });
    expect(one).not.toHaveProperty('value');
  });

  test('creates a key by the generic post, and the key works at once', async () => {
    const id = await createProject(server, 'for one key');
    const made = await generic().post<Key>(`/organization/projects/${id}/api_keys`, {
      body: { name: 'made by an SDK', permissions: ['models:read'] },
      headers: { 'Idempotency-Key': freshKey() },
    });
    expect(made).toMatchObject({ object: 'organization.project.api_key', name: 'made by an SDK', status: 'active' });
    expect(await use(server, made.value)).toBe('200');
    projects.push(id);
  });

  test('creates an Admin key, which creates a project and archives it', async () => {
    const name = 'made by an SDK';
    const headers = { 'Idempotency-Key': freshKey() };
    const made = (await administrator().adminAPIKeys.create({ name, expires_in_seconds: 3600 }, { headers })) as Key;
    adminKeys.push(made.id);
    expect(made).toMatchObject({ object: 'organization.admin_api_key', name });
    const { value } = made;
    const mine = administrator(value).projects;
    const created = await mine.create({ name: 'to be archived' });
    expect(await mine.retrieve(created.id)).toMatchObject({ id: created.id, status: 'active' });
    const key = await createKey(server, created.id);
    const marker: unknown = await mine.archive(created.id);
    expect(marker).toEqual({ id: created.id, object: 'organization.project.deleted', deleted: true });
    expect(await use(server, key.value)).toBe('401 api_key_revoked');
    expect(await mine.retrieve(created.id)).toMatchObject({ status: 'archived', archived_at: expect.any(Number) });
    expect(await ids(mine.list({ limit: 100 }))).not.toContain(created.id);
    expect(await ids(mine.list({ limit: 100, include_archived: true }))).toContain(created.id);
  });

  test('reads the audit log, newest first, page by page and through every filter', async () => {
    const { auditLogs } = administrator();
    const all = await ids(auditLogs.list({ limit: 50 }));
    expect(all).toEqual(all.toSorted().reverse());
    expect(new Set(all).size).toBe(all.length);
    expect(all.length).toBeGreaterThan(24 + 25 + 6);
    const event_types = ['api_key.created' as const];
    const project_ids = [crowded.id];
    const made: string[] = [];
    for await (const entry of auditLogs.list({ limit: 10, event_types, project_ids })) {
      expect(entry).toMatchObject({ type: 'api_key.created', project: { id: crowded.id, name: 'project 0' } });
      expect(entry.actor).toEqual({ type: 'api_key', api_key: { id: server.first.admin_api_key_id } });
      made.push(entry['api_key.created']?.id ?? '');
    }
    expect(made).toEqual(crowded.keys.toReversed());
    const [resource_ids, actor_ids] = [[crowded.keys[0]!], [server.first.admin_api_key_id]];
    const { data, has_more } = await auditLogs.list({ resource_ids, actor_ids });
    expect(has_more).toBe(false);
    expect(data.map(({ type }) => type)).toEqual(['api_key.created']);
    const [entry] = data;
    const at = entry!.effective_at;
    expect(await ids(auditLogs.list({ resource_ids, effective_at: { gte: at, lt: at + 1 } }))).toEqual([entry!.id]);
    for (const effective_at of [{ gt: at }, { lt: at }, { lte: at - 1 }]) {
      expect(await ids(auditLogs.list({ resource_ids, effective_at }))).toEqual([]);
    }
    const before = await auditLogs.list({ before: all[5]!, limit: 3 });
    expect(before.data.map(({ id }) => id)).toEqual(all.slice(2, 5));
  });

  test('turns refusals into the classes of their statuses, with code, type, param and request id', async () => {
    const id = expect.stringMatching(/^req_[0-9a-z]{26}$/);
    const stranger = administrator('gwa_nobody').projects.list();
    await expect(stranger).rejects.toBeInstanceOf(Client.AuthenticationError);
    await expect(stranger).rejects.toMatchObject({ status: 401, code: 'invalid_api_key', type: 'auth_error' });
    await expect(stranger).rejects.toMatchObject({ requestID: id, message: expect.stringContaining('not valid') });

    const wrongKind = administrator(server.first.project_api_key).projects.list();
    await expect(wrongKind).rejects.toBeInstanceOf(Client.PermissionDeniedError);
    await expect(wrongKind).rejects.toMatchObject({ code: 'credential_type_not_allowed', type: 'permission_error' });

    const nowhere = administrator().projects.retrieve('proj_none');
    await expect(nowhere).rejects.toBeInstanceOf(Client.NotFoundError);
    await expect(nowhere).rejects.toMatchObject({ code: 'project_not_found', param: null });

    const badCursor = administrator().adminAPIKeys.list({ after: 'akey_none' });
    await expect(badCursor).rejects.toBeInstanceOf(Client.BadRequestError);
    await expect(badCursor).rejects.toMatchObject({ code: 'invalid_cursor', param: 'query.after' });

    const badSize = administrator().adminAPIKeys.list({ limit: 0 });
    await expect(badSize).rejects.toBeInstanceOf(Client.UnprocessableEntityError);
    await expect(badSize).rejects.toMatchObject({ code: 'validation_failed', param: 'query.limit' });

    const body = { name: '' };
    const path = `/organization/projects/${server.first.project_id}/api_keys`;
    const nameless = generic().post(path, { body, headers: { 'Idempotency-Key': freshKey() } });
    await expect(nameless).rejects.toBeInstanceOf(Client.UnprocessableEntityError);
    await expect(nameless).rejects.toMatchObject({ code: 'validation_failed', param: 'name' });

    const headerless = generic().post(path, { body: { name: 'x' } });
    await expect(headerless).rejects.toMatchObject({ status: 422, param: 'header.Idempotency-Key' });
  });

  test('does not try a final conflict again by itself', async () => {
    const project = await createProject(server, 'soon archived');
    await administrator().projects.archive(project);
    let tries = 0;
    const client = new Client({
      ...options(),
      maxRetries: 2,
      apiKey: server.first.admin_api_key,
      fetch: (url, init) => {
        tries += 1;
        return fetch(url as string, init as RequestInit);
      },
    });
    const headers = { 'Idempotency-Key': freshKey() };
    const asked = client.post(`/organization/projects/${project}/api_keys`, { body: { name: 'late' }, headers });
    await expect(asked).rejects.toBeInstanceOf(Client.ConflictError);
    await expect(asked).rejects.toMatchObject({ code: 'project_archived', type: 'conflict_error' });
    expect(tries).toBe(1);
  });

  test('lists the models with a project key', async () => {
    const found = await ids(new Client({ ...options(), apiKey: server.first.project_api_key }).models.list());
    expect(found).toEqual(['weir-sim-1', 'weir-sim-thinking-1']);
  });
});
