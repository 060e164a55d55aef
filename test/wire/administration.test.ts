import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type Answer,
  archive,
  askForKey,
  call,
  createAdminKey,
  createKey,
  createProject,
  dataOf,
  errorOf,
  expectHeaders,
  expectRefusal,
  freshKey,
  itemsOf,
  type Json,
  pagesOf,
  paths,
  use,
} from '../e2e/calls.ts';
import { wire } from './stage.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let server: Awaited<ReturnType<typeof wire>>;
/** Another organization of the same server. */
let other: typeof server.other;
/** The project that most keys go to. */
let project: string;
/** A project with more keys than the largest page holds. */
let crowded: { id: string; keys: string[] };
beforeAll(async () => {
  server = await wire();
  other = server.other;
  project = server.first.project_id;
  crowded = { id: await createProject(server, 'crowded'), keys: [] };
  const lane = async () => {
    for (let i = 0; i < 13; i++) crowded.keys.push((await createKey(server, crowded.id)).id);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  crowded.keys.sort();
});
afterAll(() => server.close());

const projectFields = ['allowed_models', 'created_at', 'id', 'model_aliases', 'name', 'object', 'status'];
const keyFields = [
  'created_at',
  'expires_at',
  'id',
  'last_used_at',
  'limits',
  'name',
  'object',
  'owner',
  'permissions',
  'redacted_value',
  'spend_limit',
  'status',
];
const adminKeyFields = ['created_at', 'id', 'name', 'object', 'owner', 'permissions', 'redacted_value'];
const listFields = ['data', 'first_id', 'has_more', 'last_id', 'object'];
const fieldsOf = (body: Json): string[] => Object.keys(body).sort();

const adminPermissions = [
  'organization:read',
  'projects:read',
  'projects:write',
  'project_api_keys:read',
  'project_api_keys:write',
  'admin_api_keys:read',
  'admin_api_keys:write',
  'policies:read',
  'policies:write',
  'policies:publish',
  'audit_logs:read',
  'usage:read',
];
const projectPermissions = ['inference:create', 'models:read', 'credits:read'];

const seconds = () => Math.floor(server.clock.at / 1000);
const askForAdminKey = (body: object, idempotencyKey = freshKey(), key?: string): Promise<Answer> =>
  call(server, 'POST', paths.adminKeys, {
    body,
    headers: { 'idempotency-key': idempotencyKey },
    ...(key !== undefined && { key }),
  });

describe('successes have exactly their fields', () => {
  test('GET /v1/organization', async () => {
    const answer = await call(server, 'GET', '/v1/organization');
    expect(answer.status).toBe(200);
    expectHeaders(answer);
    expect(fieldsOf(answer.body)).toEqual(
      'created_at id lifetime_paid limits name object spend_tier status subscription tier'.split(' '),
    );
    expect(answer.body).toMatchObject({
      object: 'organization',
      id: server.first.organization_id,
      status: 'active',
      tier: 0,
      spend_tier: 0,
      lifetime_paid: 0,
      limits: { api_key: { requests_per_minute: 60 }, project: { requests_per_minute: 90 } },
    });
  });

  test('POST and GET of a project, and its archive', async () => {
    const before = seconds();
    const created = await call(server, 'POST', paths.projects, { body: { name: 'a new one' } });
    expect(created.status).toBe(201);
    expectHeaders(created);
    expect(fieldsOf(created.body)).toEqual(projectFields);
    expect(created.body).toMatchObject({ object: 'organization.project', name: 'a new one', status: 'active' });
    expect(created.body.id).toMatch(/^proj_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(created.body.created_at).toBeGreaterThanOrEqual(before);
    expect(created.body.created_at).toBeLessThanOrEqual(seconds());
    const id = String(created.body.id);
    const retrieved = await call(server, 'GET', paths.project(id));
    expect(retrieved.text).toBe(created.text);
    expectHeaders(retrieved);
    for (const options of [{}, { body: {} }, { raw: '  {} \n' }]) {
      const archived = await call(server, 'POST', paths.archive(id), options);
      expect(archived.status).toBe(200);
      expectHeaders(archived);
      expect(archived.text).toBe(`{"id":"${id}","object":"organization.project.deleted","deleted":true}`);
    }
    const gone = await call(server, 'GET', paths.project(id));
    expect(fieldsOf(gone.body)).toEqual(['allowed_models', 'archived_at', ...projectFields.slice(1)]);
    expect(gone.body.status).toBe('archived');
    expect(gone.body.archived_at).toBeGreaterThanOrEqual(before);
  });

  test('POST and GET of a project key', async () => {
    const before = seconds();
    const created = await askForKey(server, project, { name: 'all there is' });
    expect(created.status).toBe(201);
    expectHeaders(created);
    expect(fieldsOf(created.body)).toEqual([...keyFields, 'value']);
    const { value, ...shown } = created.body as { value: string };
    expect(value).toMatch(/^gwp_[0-9A-Za-z]{49}$/);
    expect(shown).toEqual({
      object: 'organization.project.api_key',
      id: expect.stringMatching(/^key_[0-9a-hjkmnp-tv-z]{26}$/),
      name: 'all there is',
      redacted_value: `${value.slice(0, 7)}...${value.slice(-4)}`,
      created_at: expect.any(Number),
      last_used_at: null,
      expires_at: null,
      owner: { type: 'project', id: project, name: 'First project' },
      status: 'active',
      permissions: projectPermissions,
      limits: { requests_per_minute: null, tokens_per_minute: null, requests_per_day: null, concurrent_requests: null },
      spend_limit: null,
    });
    expect(created.body.created_at).toBeGreaterThanOrEqual(before);
    const listed = await itemsOf(server, paths.projectKeys(project));
    expect(listed.find(({ id }) => id === created.body.id)).toEqual(shown);
    const retrieved = await call(server, 'GET', `${paths.projectKeys(project)}/${created.body.id}`);
    expect(retrieved.body).toEqual(shown);
    expectHeaders(retrieved);
  });

  test('POST and GET of an Admin key', async () => {
    const created = await askForAdminKey({ name: 'all there is' });
    expect(created.status).toBe(201);
    expectHeaders(created);
    expect(fieldsOf(created.body)).toEqual([...adminKeyFields, 'value']);
    const { value, ...shown } = created.body as { value: string };
    expect(value).toMatch(/^gwa_[0-9A-Za-z]{49}$/);
    expect(shown).toEqual({
      object: 'organization.admin_api_key',
      id: expect.stringMatching(/^akey_[0-9a-hjkmnp-tv-z]{26}$/),
      name: 'all there is',
      redacted_value: `${value.slice(0, 7)}...${value.slice(-4)}`,
      created_at: expect.any(Number),
      owner: { type: 'organization', id: server.first.organization_id },
      permissions: adminPermissions,
    });
    const retrieved = await call(server, 'GET', paths.adminKey(String(created.body.id)));
    expect(retrieved.body).toEqual(shown);
    expectHeaders(retrieved);
    const expiring = await askForAdminKey({ name: 'for an hour', expires_in_seconds: 3600 });
    expect(fieldsOf(expiring.body)).toEqual(['created_at', 'expires_at', ...adminKeyFields.slice(1), 'value']);
  });

  test.each([
    ['projects', () => paths.projects, projectFields],
    ['keys of a project', () => paths.projectKeys(project), keyFields],
    ['Admin keys', () => paths.adminKeys, adminKeyFields],
  ])('GET of the list of %s', async (_, path, fields) => {
    const answer = await call(server, 'GET', `${path()}?limit=1`);
    expect(answer.status).toBe(200);
    expectHeaders(answer);
    expect(fieldsOf(answer.body)).toEqual(listFields);
    expect(answer.body.object).toBe('list');
    expect(dataOf(answer)).toHaveLength(1);
    // The oldest Admin key is the caller's, and shows its last use from the turn of the minute on.
    const shown = fieldsOf(dataOf(answer)[0]!).filter((name) => name !== 'last_used_at' || fields.includes(name));
    expect(shown).toEqual(fields);
  });
});

describe('one project key', () => {
  const path = (id: string, action = '') => `${paths.projectKeys(project)}/${id}${action}`;

  test('is suspended, reactivated, updated and revoked, each with effect on the next request', async () => {
    const { id, value } = await createKey(server, project);
    const suspended = await call(server, 'POST', path(id, '/suspend'));
    expect(suspended.status).toBe(200);
    expectHeaders(suspended);
    expect(fieldsOf(suspended.body)).toEqual(keyFields);
    expect(suspended.body.status).toBe('suspended');
    expect(await use(server, value)).toBe('401 api_key_suspended');
    expect((await call(server, 'POST', path(id, '/suspend'))).text).toBe(suspended.text);
    expect((await call(server, 'POST', path(id, '/reactivate'))).body.status).toBe('active');
    expect(await use(server, value)).toBe('200');

    const updated = await call(server, 'POST', path(id), { body: { name: 'renamed', permissions: ['credits:read'] } });
    expect(updated.body).toMatchObject({ id, name: 'renamed', permissions: ['credits:read'], status: 'active' });
    expect(fieldsOf(updated.body)).toEqual(keyFields);
    expect(await use(server, value)).toBe('403 insufficient_permissions');
    expect((await call(server, 'POST', path(id), { body: { scopes: ['models:read'] } })).status).toBe(200);
    expect(await use(server, value)).toBe('200');

    const revoked = await call(server, 'DELETE', path(id));
    expect(revoked.text).toBe(`{"id":"${id}","object":"organization.project.api_key.deleted","deleted":true}`);
    expectHeaders(revoked);
    expect(await use(server, value)).toBe('401 api_key_revoked');
    expect((await call(server, 'DELETE', path(id))).text).toBe(revoked.text);
    expect((await call(server, 'GET', path(id))).body.status).toBe('revoked');
    for (const action of ['/suspend', '/reactivate'])
      expectRefusal(await call(server, 'POST', path(id, action)), 409, 'api_key_revoked');
    expectRefusal(await call(server, 'POST', path(id), { body: { name: 'late' } }), 409, 'api_key_revoked');
  });
});

describe('one Admin key', () => {
  test('stops working and is found no more once it is deleted', async () => {
    const { id, value } = await createAdminKey(server, { name: 'short-lived' });
    expect((await call(server, 'GET', paths.projects, { key: value })).status).toBe(200);
    const deleted = await call(server, 'DELETE', paths.adminKey(id));
    expect(deleted.text).toBe(`{"id":"${id}","object":"organization.admin_api_key.deleted","deleted":true}`);
    expectHeaders(deleted);
    expectRefusal(await call(server, 'GET', paths.projects, { key: value }), 401, 'invalid_api_key');
    expectRefusal(await call(server, 'GET', paths.adminKey(id)), 404, 'admin_api_key_not_found');
    expectRefusal(await call(server, 'DELETE', paths.adminKey(id)), 404, 'admin_api_key_not_found');
    expect((await itemsOf(server, paths.adminKeys)).map((key) => key.id)).not.toContain(id);
    // Paging goes on behind what was deleted meanwhile.
    expect((await call(server, 'GET', `${paths.adminKeys}?after=${id}`)).status).toBe(200);
  });
});

describe('lists', () => {
  const lists = {
    projects: () => paths.projects,
    'keys of a project': () => paths.projectKeys(crowded.id),
    'Admin keys': () => paths.adminKeys,
  };

  describe.each(Object.entries(lists))('of %s', (_, path) => {
    const get = (query: string) => call(server, 'GET', `${path()}?${query}`);

    test('refuse page sizes outside 1 to 100 and what is no size', async () => {
      for (const size of ['0', '101', '-1', '1.5', 'ten', '', '1e1', '0x10', '99999999999999999999'])
        expectRefusal(await get(`limit=${size}`), 422, 'validation_failed', 'query.limit');
      expectRefusal(await get('limit=1&limit=2'), 422, 'validation_failed', 'query.limit');
      for (const size of [1, 100]) expect((await get(`limit=${size}`)).status).toBe(200);
    });

    test('tell a malformed cursor from one that is not of this list', async () => {
      expectRefusal(await get('after='), 422, 'validation_failed', 'query.after');
      expectRefusal(await get(`after=${'a'.repeat(201)}`), 422, 'validation_failed', 'query.after');
      const foreign = [other.project_id, other.project_api_key_id, other.admin_api_key_id, other.organization_id];
      const odd = ['a', 'a'.repeat(200), '%F0%9F%8C%8A', '..%2F', '%EF%BF%BF', `${server.first.organization_id}:`];
      for (const cursor of [...foreign, ...odd])
        expectRefusal(await get(`after=${cursor}`), 400, 'invalid_cursor', 'query.after');
      for (const unsound of ['%00', '%', '%ff', '%zz'])
        expectRefusal(await get(`after=${unsound}`), 400, 'invalid_request');
    });

    test('go through everything in either order, without a gap or a repetition', async () => {
      const all = (await itemsOf(server, path(), 'limit=100')).map(({ id }) => String(id));
      expect(all).toEqual([...all].sort());
      expect(new Set(all).size).toBe(all.length);
      const size = Math.max(2, Math.ceil(all.length / 4));
      expect((await itemsOf(server, path(), `limit=${size}&order=asc`)).map(({ id }) => id)).toEqual(all);
      const backwards = await itemsOf(server, path(), `limit=${size}&order=desc`);
      expect(backwards.map(({ id }) => id)).toEqual([...all].reverse());
      for (const order of ['ASC', 'up', ''])
        expectRefusal(await get(`order=${order}`), 422, 'validation_failed', 'query.order');
    });

    test('say whether there is more, and where the page begins and ends', async () => {
      for (const text of await pagesOf(server, path(), 'limit=7')) {
        const body = JSON.parse(text) as { data: Json[]; first_id: string; last_id: string };
        expect(body.first_id).toBe(body.data[0]?.id);
        expect(body.last_id).toBe(body.data.at(-1)?.id);
      }
      const last = (await itemsOf(server, path())).at(-1)!;
      const behind = await get(`after=${last.id}`);
      expect(behind.body).toEqual({ object: 'list', data: [], has_more: false, first_id: '', last_id: '' });
      const first = await get('limit=1');
      expect(first.body.has_more).toBe(true);
    });
  });

  test('have 20 items to a page unless asked otherwise, and 100 at most', async () => {
    const path = paths.projectKeys(crowded.id);
    const byDefault = await call(server, 'GET', path);
    expect(dataOf(byDefault).map(({ id }) => id)).toEqual(crowded.keys.slice(0, 20));
    const most = await call(server, 'GET', `${path}?limit=100`);
    expect(dataOf(most).map(({ id }) => id)).toEqual(crowded.keys.slice(0, 100));
    expect(most.body.has_more).toBe(true);
    const rest = await call(server, 'GET', `${path}?limit=100&after=${most.body.last_id}`);
    expect(dataOf(rest).map(({ id }) => id)).toEqual(crowded.keys.slice(100));
    expect(rest.body.has_more).toBe(false);
    // A page that is exactly full knows that nothing follows.
    const tail = await call(server, 'GET', `${path}?limit=4&after=${crowded.keys[99]}`);
    expect(dataOf(tail)).toHaveLength(4);
    expect(tail.body.has_more).toBe(false);
  });

  test('of projects include the archived ones when asked, in every form of yes and no', async () => {
    const gone = await createProject(server, 'archived');
    await archive(server, gone);
    const ids = async (query: string) => (await itemsOf(server, paths.projects, query)).map(({ id }) => id);
    for (const yes of ['true', 'TRUE', 'True', '1'])
      expect(await ids(`limit=100&include_archived=${yes}`)).toContain(gone);
    for (const no of ['', '&include_archived=false', '&include_archived=FALSE', '&include_archived=0'])
      expect(await ids(`limit=100${no}`)).not.toContain(gone);
    for (const neither of ['yes', '', '2', 'null', 'true&include_archived=true'])
      expectRefusal(
        await call(server, 'GET', `${paths.projects}?include_archived=${neither}`),
        422,
        'validation_failed',
        'query.include_archived',
      );
    // The cursor of what was archived since is still one.
    expect((await call(server, 'GET', `${paths.projects}?after=${gone}`)).status).toBe(200);
  });
});

describe('names', () => {
  const wave = '\u{1f30a}';
  const creations = {
    'a project key': (name: unknown) => askForKey(server, project, { name } as object),
    'an Admin key': (name: unknown) => askForAdminKey({ name, permissions: ['projects:read'] } as object),
    'a project': (name: unknown) => call(server, 'POST', paths.projects, { body: { name } }),
  };

  test.each(Object.entries(creations))('of %s have 1 to 120 code points', async (_, create) => {
    for (const name of ['x', 'x'.repeat(120), wave, wave.repeat(120), 'é'.repeat(120)]) {
      const created = await create(name);
      expect(created.status, created.text).toBe(201);
      expect(created.body.name).toBe(name);
    }
    for (const name of ['', 'x'.repeat(121), wave.repeat(121), 'é'.repeat(121), null, 7, {}, ['x'], true])
      expectRefusal(await create(name), 422, 'validation_failed', 'name');
    expectRefusal(await create(undefined), 422, 'validation_failed', 'name');
  });

  test('of keys are kept as they were sent but for the blanks around them', async () => {
    for (const name of ['\u202egnp.exe', '\u200d', '</script>', "'; --", '$(x)', 'a  b']) {
      const created = await askForKey(server, project, { name: ` ${name}\n` });
      expect(created.body.name).toBe(name);
      const retrieved = await call(server, 'GET', `${paths.projectKeys(project)}/${created.body.id}`);
      expect(retrieved.body.name).toBe(name);
    }
  });

  test.each(Object.entries(creations))('of %s are trimmed and hold no control characters', async (_, create) => {
    expect((await create(`  ${'x'.repeat(120)}\t`)).body.name).toBe('x'.repeat(120));
    for (const name of [' ', '\t\n', '\ufeff', 'a\u0000b', 'a\nb', 'a\u007fb', 'a\u0085b', '\u001b[2J'])
      expectRefusal(await create(name), 422, 'validation_failed', 'name');
  });

  test('of projects may be given twice', async () => {
    const create = creations['a project'];
    const twin = await create('twin');
    expect((await create('twin')).body.id).not.toBe(twin.body.id);
  });
});

describe('permissions', () => {
  const families = {
    'a project key': {
      create: (permissions: unknown) => askForKey(server, project, { name: 'x', permissions } as object),
      own: projectPermissions,
      foreign: 'projects:read',
    },
    'an Admin key': {
      create: (permissions: unknown) => askForAdminKey({ name: 'x', permissions } as object),
      own: adminPermissions,
      foreign: 'models:read',
    },
  };

  test.each(Object.entries(families))('of %s come from its own catalogue, each once', async (_, family) => {
    const { create, own, foreign } = family;
    const [one, two] = own as [string, string];
    const refused = async (permissions: unknown, code: string, param: string) =>
      expectRefusal(await create(permissions), 422, code, param);
    expect((await create([one])).body.permissions).toEqual([one]);
    expect((await create([...own].reverse())).body.permissions).toEqual(own);
    for (const none of [undefined, null]) expect((await create(none)).body.permissions).toEqual(own);
    await refused([], 'validation_failed', 'permissions');
    await refused(Array(21).fill(one), 'validation_failed', 'permissions');
    await refused(Array(20).fill(one), 'validation_failed', 'permissions.1');
    await refused([one, two, one], 'validation_failed', 'permissions.2');
    await refused(['nothing:read'], 'unknown_permission', 'permissions.0');
    await refused([one, foreign], 'unknown_permission', 'permissions.1');
    await refused([one.toUpperCase()], 'unknown_permission', 'permissions.0');
    await refused([7], 'validation_failed', 'permissions.0');
    await refused(one, 'validation_failed', 'permissions');
  });

  test('are never more than those of the key that grants them', async () => {
    const own = ['projects:read', 'admin_api_keys:write'];
    const { value } = await createAdminKey(server, { name: 'modest', permissions: own });
    const ask = (permissions?: string[]) =>
      askForAdminKey({ name: 'heir', ...(permissions && { permissions }) }, freshKey(), value);
    expect((await ask()).body.permissions).toEqual(own);
    expect((await ask(['projects:read'])).body.permissions).toEqual(['projects:read']);
    expectRefusal(await ask(['projects:read', 'projects:write']), 403, 'permission_escalation', 'permissions.1');
    expectRefusal(await ask(adminPermissions), 403, 'permission_escalation', 'permissions.0');
    // Not to read is not to see what cannot be read; what one writes oneself is shown.
    expectRefusal(await call(server, 'GET', paths.adminKeys, { key: value }), 403, 'insufficient_permissions');
  });
});

describe('expiry', () => {
  const creations = {
    'a project key': (body: object) => askForKey(server, project, { name: 'x', ...body }),
    'an Admin key': (body: object) => askForAdminKey({ name: 'x', ...body }),
  };
  const tenYears = 315_360_000;

  test.each(Object.entries(creations))('of %s is a future time or a number of seconds', async (kind, create) => {
    const never = kind === 'a project key' ? null : undefined;
    expect((await create({})).body.expires_at).toBe(never);
    expect((await create({ expires_at: null })).body.expires_at).toBe(never);
    const soon = seconds() + 3600;
    const zulu = new Date(soon * 1000).toISOString();
    for (const text of [zulu, zulu.toLowerCase()])
      expect((await create({ expires_at: text })).body.expires_at).toBe(soon);
    const offset = new Date((soon + 7200) * 1000).toISOString().replace('.000Z', '+02:00');
    expect((await create({ expires_at: offset })).body.expires_at).toBe(soon);
    for (const n of [1, tenYears]) {
      const { expires_at, created_at } = (await create({ expires_in_seconds: n })).body as Record<string, number>;
      expect(expires_at! - created_at! - n).toBeOneOf([1, 2]);
    }
    for (const past of ['2020-01-01T00:00:00Z', new Date(server.clock.at - 1000).toISOString()])
      expectRefusal(await create({ expires_at: past }), 422, 'expires_at_not_future', 'expires_at');
    for (const odd of ['tomorrow', '2099-01-01', '2099-01-01T00:00:00', '2099-13-01T00:00:00Z', soon, '', true])
      expectRefusal(await create({ expires_at: odd }), 422, 'validation_failed', 'expires_at');
    expect((await create({ expires_in_seconds: null })).body.expires_at).toBe(never);
    for (const odd of [0, -1, tenYears + 1, 1.5, '5'])
      expectRefusal(await create({ expires_in_seconds: odd }), 422, 'validation_failed', 'expires_in_seconds');
    for (const expires_at of [zulu, null])
      expectRefusal(
        await create({ expires_at, expires_in_seconds: 5 }),
        422,
        'validation_failed',
        'expires_in_seconds',
      );
  });
});

describe('Idempotency-Key', () => {
  const body = { name: 'once' };
  const param = 'header.Idempotency-Key';
  const unprintable = ['', 'two words', 'tab\tbetween', 'caf\u00e9 au lait', '\u00ff\u00fe'.repeat(8)];

  test('has 8 to 200 visible ASCII characters, and both creations of keys need it', async () => {
    for (const path of [paths.projectKeys(project), paths.adminKeys]) {
      const ask = (value: string | null) =>
        call(server, 'POST', path, { body, headers: value === null ? {} : { 'idempotency-key': value } });
      const unique = freshKey();
      for (const value of [unique.slice(-8), unique.padEnd(200, '~')]) expect((await ask(value)).status).toBe(201);
      for (const value of [null, unique.slice(0, 7), unique.padEnd(201, '~'), ...unprintable])
        expectRefusal(await ask(value), 422, 'validation_failed', param);
    }
  });

  test('that is none is 422 where it is honoured, and nothing where it is not read', async () => {
    for (const value of unprintable) {
      const headers = { 'idempotency-key': value };
      const made = await call(server, 'POST', paths.projects, { body, headers });
      expectRefusal(made, 422, 'validation_failed', param);
      expect((await call(server, 'POST', paths.project(project), { body: { name: 'p' }, headers })).status).toBe(200);
      expect((await call(server, 'GET', paths.project(project), { headers })).status).toBe(200);
    }
  });

  test('makes one key, however often it is sent', async () => {
    const key = freshKey();
    const mine = await createProject(server);
    const first = await askForKey(server, mine, body, key);
    expect(first.status).toBe(201);
    expectSameOrNone(first, await askForKey(server, mine, body, key));
    const reordered = await call(server, 'POST', paths.projectKeys(mine), {
      raw: '{ "name" : "\\u006fnce" }',
      headers: { 'idempotency-key': key },
    });
    expectSameOrNone(first, reordered);
    expectRefusal(await askForKey(server, mine, { name: 'other' }, key), 409, 'idempotency_key_reused', param);
    const more = { ...body, permissions: projectPermissions };
    expectRefusal(await askForKey(server, mine, more, key), 409, 'idempotency_key_reused', param);
    expect(await itemsOf(server, paths.projectKeys(mine))).toHaveLength(1);
  });

  test('makes one key, however many send it at the same time', async () => {
    const key = freshKey();
    const mine = await createProject(server);
    const answers = await Promise.all(Array.from({ length: 20 }, () => askForKey(server, mine, body, key)));
    const made = answers.filter(({ status }) => status === 201);
    expect(made.length).toBeGreaterThan(0);
    expect(new Set(made.map(({ text }) => text)).size).toBe(1);
    for (const answer of answers) {
      if (answer.status === 201) continue;
      const { code } = errorOf(answer.body);
      expect(['idempotency_in_progress', 'idempotency_result_unavailable']).toContain(code);
      expectRefusal(answer, 409, String(code), param);
      if (code === 'idempotency_in_progress') expect(answer.headers.get('retry-after')).toBe('1');
    }
    expect(await itemsOf(server, paths.projectKeys(mine))).toHaveLength(1);
  });

  test('is honoured on the creation of a project too, where it may be left out', async () => {
    const key = freshKey();
    const ask = (name: string, headers: Record<string, string> = { 'idempotency-key': key }) =>
      call(server, 'POST', paths.projects, { body: { name }, headers });
    const name = `only ${key}`;
    const first = await ask(name);
    expect(first.status).toBe(201);
    expectSameOrNone(first, await ask(name));
    expectRefusal(await ask('another'), 409, 'idempotency_key_reused', param);
    const named = (await itemsOf(server, paths.projects)).filter((each) => each.name === name);
    expect(named).toHaveLength(1);
    expectRefusal(await ask('x', { 'idempotency-key': 'short' }), 422, 'validation_failed', param);
    expect((await ask('x', {})).status).toBe(201);
  });
});

/** What a repeated request may get: the first answer to the byte, marked as such, or 409; never another key. */
const expectSameOrNone = (first: Answer, again: Answer): void => {
  if (again.status === 201) {
    expect(again.text).toBe(first.text);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  } else expectRefusal(again, 409, 'idempotency_result_unavailable', 'header.Idempotency-Key');
};

describe('bodies', () => {
  const ask = (options: { raw?: string | Uint8Array<ArrayBuffer>; headers?: Record<string, string> }) =>
    call(server, 'POST', paths.projectKeys(project), {
      ...options,
      headers: { 'idempotency-key': freshKey(), ...options.headers },
    });

  test('have 64 KiB at most', async () => {
    const limit = 64 * 1024;
    const sized = (bytes: number) => ask({ raw: '{"name":"sized"}'.padEnd(bytes) });
    expect((await sized(limit - 1)).status).toBe(201);
    expect((await sized(limit)).status).toBe(201);
    expectRefusal(await sized(limit + 1), 413, 'request_too_large');
    expectRefusal(await sized(limit * 8), 413, 'request_too_large');
    const archived = await call(server, 'POST', paths.archive(project), { raw: '{}'.padEnd(limit + 1) });
    expectRefusal(archived, 413, 'request_too_large');
  });

  test('say that they are JSON, and are not compressed', async () => {
    const raw = '{"name":"x"}';
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'text/json'])
      expectRefusal(await ask({ raw, headers: { 'content-type': type } }), 415, 'unsupported_media_type');
    for (const encoding of ['gzip', 'br', 'deflate'])
      expectRefusal(await ask({ raw, headers: { 'content-encoding': encoding } }), 415, 'unsupported_media_type');
    for (const type of ['application/json; charset=utf-8', 'application/vnd.api+json', 'Application/JSON'])
      expect((await ask({ raw, headers: { 'content-type': type } })).status).toBe(201);
  });

  test('have no field that does not exist', async () => {
    const odd = {
      status: '{"name":"x","status":"revoked"}',
      owner: '{"name":"x","owner":{"id":"proj_x"}}',
      value: '{"name":"x","value":"gwp_mine"}',
      id: '{"id":"key_mine","name":"x"}',
      constructor: '{"name":"x","constructor":{}}',
    };
    for (const [field, raw] of Object.entries(odd)) {
      const answer = await ask({ raw });
      expectRefusal(answer, 422, 'unknown_field', field);
    }
    expectRefusal(await ask({ raw: '{"name":"x","__proto__":{"permissions":[]}}' }), 422, 'unknown_field', '__proto__');
    const archived = await call(server, 'POST', paths.archive(project), { body: { force: true } });
    expectRefusal(archived, 422, 'unknown_field', 'force');
    expect((await call(server, 'GET', paths.project(project))).body.status).toBe('active');
  });
});

describe('what nobody serves', () => {
  test('is 404 for a path and 405 for a method, in the same envelope', async () => {
    for (const path of [
      '/v1/organization/nothing',
      '/v1/organization/projects/',
      '/v1//organization',
      '/',
      '/v1/organization/PROJECTS',
    ])
      expectRefusal(await call(server, 'GET', path), 404, 'route_not_found');
    const wrong = await call(server, 'DELETE', paths.projects);
    expectRefusal(wrong, 405, 'method_not_allowed');
    expect(wrong.headers.get('allow')?.split(', ').sort()).toEqual(['GET', 'HEAD', 'OPTIONS', 'POST']);
    expectRefusal(await call(server, 'PUT', paths.project(project), { body: {} }), 405, 'method_not_allowed');
  });

  test('is 404 for an id that does not exist, and 422 for one that is too long', async () => {
    const long = 'p'.repeat(200);
    const wave = '%F0%9F%8C%8A';
    for (const id of ['proj_none', other.project_id, long, wave, wave.repeat(200), server.first.project_api_key_id]) {
      for (const [method, path] of [
        ['GET', paths.project(id)],
        ['POST', paths.archive(id)],
        ['GET', paths.projectKeys(id)],
      ] as const)
        expectRefusal(await call(server, method, path), 404, 'project_not_found');
      expectRefusal(await askForKey(server, id), 404, 'project_not_found');
      expectRefusal(await call(server, 'GET', paths.adminKey(id)), 404, 'admin_api_key_not_found');
    }
    for (const id of [`${long}p`, wave.repeat(201)]) {
      expectRefusal(await call(server, 'GET', paths.project(id)), 422, 'validation_failed', 'project_id');
      expectRefusal(await call(server, 'GET', paths.adminKey(id)), 422, 'validation_failed', 'api_key_id');
    }
    for (const id of ['%', '%00', 'a%2fb', '%2e%2fx', '%ff', '%c0%af'])
      expectRefusal(await call(server, 'GET', paths.project(id)), 400, 'invalid_request', 'project_id');
  });
});
