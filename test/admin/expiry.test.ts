import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { expireKeys } from '../../src/admin/keys/expiry.ts';
import { maxLiveKeys } from '../../src/domain/project/project.ts';
import type { Context } from '../../src/kernel/commands/actor.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { stage } from './stage.ts';

const context: Context = { actor: { type: 'system', id: 'test' } };
let at: Awaited<ReturnType<typeof stage>>;

beforeEach(async () => {
  at = await stage();
});
afterEach(() => at.close());

const inRows = (result: { readonly head: bigint | null }) => at.admin.models.reached(result.head as bigint, 2000);

const make = async (id: string, expiresAt: number | null): Promise<void> => {
  const key = { organizationId: 'org_1', projectId: 'proj_1', name: 'k', permissions: ['models:read'], expiresAt };
  const secret = { digest: id, pepperId: 'p1', redactedValue: 'gwp_abc...wxyz' };
  await inRows(await at.admin.aggregates.projectKey.dispatch(id, 'create', { ...key, ...secret, at: 1 }, context));
};
const expired = (): string[] =>
  at.store.log.filter(({ type }) => type === 'project_key.expired').map(({ stream }) => stream);

describe('the expiry of a key', () => {
  test('is recorded at its millisecond, not before, once, as something that nobody asked for', async () => {
    const due = at.clock.at + 1000;
    await make('key_1', due);
    await make('key_later', due + 1);
    await make('key_never', null);
    at.clock.at = due - 1;
    await expireKeys(at.admin);
    expect(expired()).toEqual([]);
    at.clock.at = due;
    await expireKeys(at.admin);
    await expireKeys(at.admin);
    expect(expired()).toEqual(['projectKey-key_1']);
    expect(at.store.log.at(-1)?.metadata.actor).toEqual({ type: 'system', id: 'sweeper' });
  });

  test('stands although the clock goes back', async () => {
    const begun = at.clock.at;
    await make('key_1', begun + 1000);
    at.clock.at += 1000;
    await expireKeys(at.admin);
    at.clock.at = begun;
    const reactivate = at.admin.aggregates.projectKey.dispatch('key_1', 'reactivate', { at: begun }, context);
    await expect(reactivate).rejects.toMatchObject({ refusal: { code: 'api_key_expired' } });
  });

  test('follows every change of it, is recorded of suspended keys too and of revoked ones never', async () => {
    const { projectKey } = at.admin.aggregates;
    const due = at.clock.at + 1000;
    for (const id of ['key_moved', 'key_lifted', 'key_revoked', 'key_suspended']) await make(id, due);
    await inRows(await projectKey.dispatch('key_moved', 'update', { expiresAt: due + 1000, at: 2 }, context));
    await inRows(await projectKey.dispatch('key_lifted', 'update', { expiresAt: null, at: 2 }, context));
    await inRows(await projectKey.dispatch('key_revoked', 'revoke', { reason: 'requested' }, context));
    await inRows(await projectKey.dispatch('key_suspended', 'suspend', { at: 2 }, context));
    at.clock.at = due;
    await expireKeys(at.admin);
    expect(expired()).toEqual(['projectKey-key_suspended']);
    at.clock.at = due + 1000;
    await expireKeys(at.admin);
    expect(expired()).toEqual(['projectKey-key_suspended', 'projectKey-key_moved']);
  });

  test.each([99, 100, 101, 250])('is recorded of %i at once, each once', async (count) => {
    const ids = Array.from({ length: count }, (_, i) => `key_${String(i).padStart(3, '0')}`);
    for (const id of ids) await make(id, at.clock.at + 1000);
    at.clock.at += 1000;
    await expireKeys(at.admin);
    expect(expired().sort()).toEqual(ids.map((id) => `projectKey-${id}`));
  });
});

describe('a key works until the second that its expires_at shows, and not a millisecond longer', () => {
  const body = { name: 'k', expires_in_seconds: 60 };
  const asked = { headers: { 'idempotency-key': 'once-and-for-all' }, body };
  const kinds = [
    {
      kind: 'a project key',
      path: (project: string) => `/v1/organization/projects/${project}/api_keys`,
      use: '/v1/models',
    },
    { kind: 'an Admin key', path: () => '/v1/organization/admin_api_keys', use: '/v1/organization' },
  ];

  test.each(kinds)('$kind made in the middle of a second', async ({ path, use }) => {
    const weir = await wholeGateway();
    try {
      weir.clock.at += 937;
      const tenant = await weir.make.tenant();
      const headers = { ...asked.headers, ...bearer(tenant.adminKey.value) };
      const made = await weir.call('POST', path(tenant.projectId), { body, headers });
      expect(made.status).toBe(201);
      const answered = async (at: number) => {
        weir.clock.at = at;
        const { status, body } = await weir.call('GET', use, { headers: bearer(made.body.value) });
        return `${status} ${body.error?.code ?? ''}`;
      };
      expect(made.body.expires_at).toBe(Math.ceil(weir.clock.at / 1000) + 61);
      expect(await answered(made.body.expires_at * 1000 - 1)).toBe('200 ');
      expect(await answered(made.body.expires_at * 1000)).toBe('401 api_key_expired');
    } finally {
      await weir.close();
    }
  });
});

describe('a key whose time is over, before anybody has recorded that', () => {
  let weir: Awaited<ReturnType<typeof wholeGateway>>;
  let tenant: Awaited<ReturnType<typeof weir.make.tenant>>;
  let keys = '';
  let due = 0;
  beforeEach(async () => {
    weir = await wholeGateway();
    tenant = await weir.make.tenant();
    keys = `/v1/organization/projects/${tenant.projectId}/api_keys`;
    due = weir.clock.at + 60_000;
  });
  afterEach(() => weir.close());

  const recorded = (type: string): number => weir.store.log.filter((event) => event.type === type).length;
  const ask = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    weir.call(method, path, { headers: { ...headers, ...bearer(tenant.adminKey.value) }, ...(body && { body }) });
  let asked = 0;
  const create = async (): Promise<string> => {
    const { status, body } = await ask('POST', keys, { name: 'k' }, { 'idempotency-key': `expiry-test-${asked++}` });
    return `${status} ${body.error?.code ?? ''}`;
  };

  test('is listed as expired from its millisecond on, whatever its own stream says, and found as such', async () => {
    const mortal = await weir.make.projectKey(tenant, { expiresAt: due });
    const sleeping = await weir.make.projectKey(tenant, { expiresAt: due });
    const context: Context = { actor: { type: 'system', id: 'test' } };
    await weir.settled(await weir.admin.aggregates.projectKey.dispatch(sleeping.id, 'suspend', { at: 1 }, context));
    const listed = async (query = '') => {
      const { body } = await ask('GET', `${keys}${query}`);
      return Object.fromEntries(body.data.map((key: { id: string; status: string }) => [key.id, key.status]));
    };
    const endless = { [tenant.projectKey.id]: 'active' };
    weir.clock.at = due - 1;
    expect(await listed()).toEqual({ ...endless, [mortal.id]: 'active', [sleeping.id]: 'suspended' });
    expect(await listed('?status=expired')).toEqual({});
    expect(await listed('?status=suspended')).toEqual({ [sleeping.id]: 'suspended' });
    weir.clock.at = due;
    const over = { [mortal.id]: 'expired', [sleeping.id]: 'expired' };
    expect(await listed()).toEqual({ ...endless, ...over });
    expect(await listed('?status=expired')).toEqual(over);
    expect(await listed('?status=active')).toEqual(endless);
    expect(await listed('?status=suspended')).toEqual({});
    expect(recorded('project_key.expired')).toBe(0);
  });

  test('does not count against the keys that its project may have, and neither does one just revoked', async () => {
    const { project } = weir.admin.aggregates;
    const admit = async (projectId: string, taken: number): Promise<void> => {
      for (let i = taken; i < maxLiveKeys; i++)
        await project.dispatch(projectId, 'issueKey', { keyId: `key_${projectId}_${i}` }, context);
    };
    const revocable = await weir.make.projectKey(tenant);
    for (let i = 0; i < 2; i++) await weir.make.projectKey(tenant, { expiresAt: due });
    const other = await weir.make.project(tenant.organizationId);
    await weir.make.projectKey({ ...tenant, projectId: other }, { expiresAt: due + 1 });
    await admit(tenant.projectId, 4);

    weir.clock.at = due - 1;
    expect(await create()).toBe('409 api_key_limit_reached');
    expect(recorded('project_key.expired')).toBe(0);
    weir.clock.at = due;
    expect([await create(), await create(), await create()]).toEqual(['201 ', '201 ', '409 api_key_limit_reached']);
    // It is written down as the sweep would have.
    expect(recorded('project_key.expired')).toBe(2);
    await expireKeys(weir.admin);
    expect(recorded('project_key.expired')).toBe(2);
    expect((await ask('DELETE', `${keys}/${revocable.id}`)).status).toBe(200);
    expect([await create(), await create()]).toEqual(['201 ', '409 api_key_limit_reached']);
    expect(recorded('project.key_ended')).toBe(3);
  });
});
