import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { adminKeyRoutes } from '../../src/admin/keys/admin-keys.ts';
import { projectKeyRoutes } from '../../src/admin/keys/project-keys.ts';
import { organizationRoutes } from '../../src/admin/organization/organization.ts';
import { projectRoutes } from '../../src/admin/organization/projects.ts';
import { promisedEnd } from '../../src/domain/expiry.ts';
import { tiers } from '../../src/domain/organization/tiers.ts';
import { adminPermissions } from '../../src/domain/permissions.ts';
import type { Context } from '../../src/kernel/commands/actor.ts';
import { type Ask, asker, gist } from './ask.ts';
import { stage } from './stage.ts';

const context: Context = { actor: { type: 'system', id: 'test' } };
const keys = '/v1/organization/projects/proj_1/api_keys';
const adminKeys = '/v1/organization/admin_api_keys';
let at: Awaited<ReturnType<typeof stage>>;
let ask: Ask;
let asked = 0;

beforeEach(async () => {
  at = await stage();
  const { admin } = at;
  ask = asker([
    ...organizationRoutes(admin, { table: tiers }),
    ...projectRoutes(admin, () => []),
    ...projectKeyRoutes(admin),
    ...adminKeyRoutes(admin),
  ]);
  const { organization, project } = admin.aggregates;
  await organization.dispatch('org_1', 'create', { name: 'Acme', at: 1_000 }, context);
  const { position } = await project.dispatch(
    'proj_1',
    'create',
    { organizationId: 'org_1', name: 'p', at: 1 },
    context,
  );
  await admin.models.reached(position as bigint, 2000);
});
afterEach(() => at.close());

const headers = (key = `idempotency-${asked++}`) => ({ 'idempotency-key': key, authorization: 'Bearer the-caller' });
const make = async (body: object = {}): Promise<string> => {
  const answer = await ask('POST', keys, { body: { name: 'k', ...body }, headers: headers() });
  expect(answer.status).toBe(201);
  return `${keys}/${answer.body.id}`;
};
const statusOf = async (path: string): Promise<unknown> => (await ask('GET', path)).body.status;

describe('a project key', () => {
  test('is suspended, reactivated and revoked, each as often as one likes', async () => {
    const path = await make();
    for (const [step, status] of [
      ['suspend', 'suspended'],
      ['reactivate', 'active'],
    ] as const) {
      for (let times = 0; times < 2; times++) {
        expect((await ask('POST', `${path}/${step}`)).body.status).toBe(status);
        expect(await statusOf(path)).toBe(status);
      }
    }
    for (let times = 0; times < 2; times++) {
      expect((await ask('DELETE', path)).body).toEqual({
        id: path.split('/').at(-1),
        object: 'organization.project.api_key.deleted',
        deleted: true,
      });
    }
    expect(await statusOf(path)).toBe('revoked');
    for (const step of ['suspend', 'reactivate']) {
      expect(await gist(ask('POST', `${path}/${step}`))).toBe('409 api_key_revoked');
    }
    expect(await gist(ask('POST', path, { body: { name: 'x' } }))).toBe('409 api_key_revoked');
  });

  test('is changed field by field; scopes is another name for permissions', async () => {
    const path = await make();
    expect((await ask('POST', path, { body: { name: 'new' } })).body).toMatchObject({ name: 'new', expires_at: null });
    const narrowed = await ask('POST', path, { body: { scopes: ['credits:read', 'models:read'] } });
    expect(narrowed.body).toMatchObject({ name: 'new', permissions: ['models:read', 'credits:read'] });
    const expiring = await ask('POST', path, { body: { expires_in_seconds: 60 } });
    expect(expiring.body.expires_at).toBe(promisedEnd(at.clock.at, 60) / 1000);
    expect((await ask('POST', path, { body: { expires_at: null } })).body.expires_at).toBeNull();
    expect((await ask('GET', path)).body).toMatchObject({ name: 'new', status: 'active' });
  });

  test.each([
    [{}, '422 validation_failed'],
    [{ scopes: ['models:read'], permissions: ['models:read'] }, '422 validation_failed scopes'],
    [{ expires_at: null, expires_in_seconds: 5 }, '422 validation_failed expires_in_seconds'],
    [{ expires_at: '2001-01-01T00:00:00Z' }, '422 expires_at_not_future expires_at'],
    [{ permissions: ['projects:read'] }, '422 unknown_permission permissions.0'],
    [{ permissions: [] }, '422 validation_failed permissions'],
    [{ name: '' }, '422 validation_failed name'],
    [{ status: 'active' }, '422 unknown_field status'],
  ])('is not changed by %j', async (body, expected) => {
    const path = await make();
    expect(await gist(ask('POST', path, { body }))).toBe(expected);
  });

  test('whose time is over is expired everywhere at once, and takes a revoke alone', async () => {
    const path = await make({ expires_in_seconds: 60 });
    at.clock.at = promisedEnd(at.clock.at, 60) - 1;
    expect(await statusOf(path)).toBe('active');
    at.clock.at += 1;
    expect(await statusOf(path)).toBe('expired');
    for (const step of ['suspend', 'reactivate']) {
      expect(await gist(ask('POST', `${path}/${step}`))).toBe('409 api_key_expired');
    }
    expect(await gist(ask('POST', path, { body: { expires_at: null } }))).toBe('409 api_key_expired');
    expect((await ask('DELETE', path)).status).toBe(200);
    expect(await statusOf(path)).toBe('revoked');
  });

  test('of an archived project is revoked, and takes nothing but a revoke', async () => {
    const path = await make();
    await ask('POST', '/v1/organization/projects/proj_1/archive');
    expect(await statusOf(path)).toBe('revoked');
    expect(await gist(ask('POST', `${path}/suspend`))).toBe('409 project_archived');
    expect(await gist(ask('POST', path, { body: { name: 'x' } }))).toBe('409 project_archived');
    expect((await ask('DELETE', path)).status).toBe(200);
  });

  test('that is another project’s or nobody’s is not found', async () => {
    const path = await make();
    const elsewhere = { principal: { organizationId: 'org_2' } };
    expect(await gist(ask('GET', path, elsewhere))).toBe('404 project_not_found');
    expect(await gist(ask('GET', `${keys}/key_nobody`))).toBe('404 api_key_not_found');
    expect(await gist(ask('DELETE', `${keys}/key_nobody`))).toBe('404 api_key_not_found');
  });

  test('is listed by its status', async () => {
    const paths = [await make(), await make(), await make({ expires_in_seconds: 5 }), await make()];
    await ask('POST', `${paths[1]}/suspend`);
    await ask('DELETE', paths[3] as string);
    at.clock.at = promisedEnd(at.clock.at, 5);
    const listed = async (status: string) =>
      ((await ask('GET', `${keys}?status=${status}`)).body.data as { id: string }[]).map(({ id }) => `${keys}/${id}`);
    expect(await Promise.all(['active', 'suspended', 'expired', 'revoked'].map(listed))).toEqual(
      paths.map((path) => [path]),
    );
    expect(await gist(ask('GET', `${keys}?status=gone`))).toBe('422 validation_failed query.status');
  });

  test('is listed by the access of its project, as the package of OpenAI asks', async () => {
    const paths = [await make(), await make()];
    const listed = async (access: string) =>
      ((await ask('GET', `${keys}?owner_project_access=${access}`)).body.data as { id: string }[]).map(
        ({ id }) => `${keys}/${id}`,
      );
    const all = () => Promise.all(['active', 'inactive', 'any'].map(listed));
    expect(await all()).toEqual([paths, [], paths]);
    await ask('POST', '/v1/organization/projects/proj_1/archive');
    expect(await all()).toEqual([[], paths, paths]);
    expect(await gist(ask('GET', `${keys}?owner_project_access=none`))).toBe(
      '422 validation_failed query.owner_project_access',
    );
  });
});

describe('the same creation again', () => {
  test('is answered byte for byte and recorded on the key', async () => {
    const options = { body: { name: 'k' }, headers: headers('the-same-key') };
    const first = await ask('POST', keys, options);
    const again = await ask('POST', keys, options);
    expect(JSON.stringify(again.body)).toBe(JSON.stringify(first.body));
    expect(again.headers).toEqual({ 'Idempotent-Replayed': 'true' });
    const types = at.store.log.filter(({ stream }) => stream === `projectKey-${first.body.id}`).map(({ type }) => type);
    expect(types).toEqual(['project_key.created', 'project_key.value_replayed']);
  });
  test('is refused once the key is revoked or its project archived', async () => {
    const first = { body: { name: 'k' }, headers: headers('first-of-two') };
    const second = { body: { name: 'k' }, headers: headers('second-of-two') };
    const { body } = await ask('POST', keys, first);
    await ask('POST', keys, second);
    await ask('DELETE', `${keys}/${body.id}`);
    expect(await gist(ask('POST', keys, first))).toBe('409 idempotency_result_unavailable header.Idempotency-Key');
    await ask('POST', '/v1/organization/projects/proj_1/archive');
    expect(await gist(ask('POST', keys, second))).toBe('409 idempotency_result_unavailable header.Idempotency-Key');
  });
  test('does not look at the expiry again', async () => {
    const expires_at = new Date(at.clock.at + 60_000).toISOString();
    const options = { body: { name: 'k', expires_at }, headers: headers('expires-soon') };
    const first = await ask('POST', keys, options);
    at.clock.at += 120_000;
    expect((await ask('POST', keys, options)).body).toEqual(first.body);
  });
});

describe('an Admin key', () => {
  const create = async (permissions: readonly string[] = adminPermissions): Promise<string> => {
    const answer = await ask('POST', adminKeys, { body: { name: 'a', permissions }, headers: headers() });
    expect(answer.status).toBe(201);
    return `${adminKeys}/${answer.body.id}`;
  };
  test('is deleted for good, and never the last that can make others', async () => {
    const [one, two, reader] = [await create(), await create(), await create(['projects:read'])];
    expect((await ask('DELETE', one)).body).toMatchObject({
      object: 'organization.admin_api_key.deleted',
      deleted: true,
    });
    expect(await gist(ask('GET', one))).toBe('404 admin_api_key_not_found');
    expect(await gist(ask('DELETE', one))).toBe('404 admin_api_key_not_found');
    expect(await gist(ask('DELETE', two))).toBe('409 last_admin_key');
    expect((await ask('DELETE', reader)).status).toBe(200);
    expect((await ask('GET', adminKeys)).body.data).toHaveLength(1);
  });
  test('of many deletions at once, one key that can make others is left', async () => {
    const paths = await Promise.all(Array.from({ length: 8 }, () => create()));
    const gists = await Promise.all(paths.map((path) => gist(ask('DELETE', path))));
    expect(gists.filter((each) => each === '200')).toHaveLength(7);
    expect(gists.filter((each) => each === '409 last_admin_key')).toHaveLength(1);
  });
});

describe('a project', () => {
  const path = '/v1/organization/projects/proj_1';
  test('is renamed, and its keys say so', async () => {
    const key = await make();
    expect((await ask('POST', path, { body: { name: '  New name ' } })).body.name).toBe('New name');
    expect((await ask('GET', key)).body.owner).toEqual({ type: 'project', id: 'proj_1', name: 'New name' });
  });
  test('that was slow to be renamed is not waited for beyond the five seconds of a command', async () => {
    const { append } = at.store;
    vi.spyOn(at.store, 'append').mockImplementation((stream, events, expected, more) => {
      more?.budget?.from(at.clock);
      at.clock.at += 4_600;
      return append(stream, events, expected, more);
    });
    const waited = vi.spyOn(at.admin.models, 'reached');
    expect((await ask('POST', path, { body: { name: 'New name' } })).status).toBe(200);
    expect(waited.mock.calls.map(([, withinMs]) => withinMs)).toEqual([400]);
  });
  test('that is archived is not renamed', async () => {
    await ask('POST', `${path}/archive`);
    expect(await gist(ask('POST', path, { body: { name: 'x' } }))).toBe('409 project_archived');
    expect(await gist(ask('POST', path, { body: { name: 'p' } }))).toBe('409 project_archived');
  });
});

test('the organization shows its tier, what it has paid and the limits that follow', async () => {
  const { organization } = at.admin.aggregates;
  const told = await organization.dispatch('org_1', 'topUp', { amount: 20_500_000, reference: 'r' }, context);
  await at.admin.models.reached(told.position as bigint, 2000);
  expect((await ask('GET', '/v1/organization')).body).toMatchObject({
    object: 'organization',
    id: 'org_1',
    name: 'Acme',
    status: 'active',
    tier: 1,
    spend_tier: 1,
    subscription: 'Free',
    lifetime_paid: 20.5,
    created_at: 1,
    limits: {
      api_key: { requests_per_minute: 120 },
      project: { requests_per_minute: 180, concurrent_requests: 10 },
      organization: { requests_per_minute: 240, tokens_per_day: 2_000_000_000 },
    },
  });
});
