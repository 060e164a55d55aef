import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { expireKeys } from '../../src/admin/expiry.ts';
import type { Context } from '../../src/kernel/actor.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { stage } from './stage.ts';

const context: Context = { actor: { type: 'system', id: 'test' } };
let at: Awaited<ReturnType<typeof stage>>;

beforeEach(async () => {
  at = await stage();
});
afterEach(() => at.close());

const shown = (told: { readonly head: bigint | null }) => at.admin.models.reached(told.head as bigint, 2000);

const make = async (id: string, expiresAt: number | null): Promise<void> => {
  const key = { organizationId: 'org_1', projectId: 'proj_1', name: 'k', permissions: ['models:read'], expiresAt };
  const secret = { digest: id, pepperId: 'p1', redactedValue: 'gwp_abc...wxyz' };
  await shown(await at.admin.aggregates.projectKey.tell(id, 'create', { ...key, ...secret, at: 1 }, context));
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
    const reactivate = at.admin.aggregates.projectKey.tell('key_1', 'reactivate', { at: begun }, context);
    await expect(reactivate).rejects.toMatchObject({ refusal: { code: 'api_key_expired' } });
  });

  test('follows every change of it, is recorded of suspended keys too and of revoked ones never', async () => {
    const { projectKey } = at.admin.aggregates;
    const due = at.clock.at + 1000;
    for (const id of ['key_moved', 'key_lifted', 'key_revoked', 'key_suspended']) await make(id, due);
    await shown(await projectKey.tell('key_moved', 'update', { expiresAt: due + 1000, at: 2 }, context));
    await shown(await projectKey.tell('key_lifted', 'update', { expiresAt: null, at: 2 }, context));
    await shown(await projectKey.tell('key_revoked', 'revoke', { reason: 'requested' }, context));
    await shown(await projectKey.tell('key_suspended', 'suspend', { at: 2 }, context));
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
      expect(made.body.expires_at).toBe(Math.floor(weir.clock.at / 1000) + 60);
      expect(await answered(made.body.expires_at * 1000 - 1)).toBe('200 ');
      expect(await answered(made.body.expires_at * 1000)).toBe('401 api_key_expired');
    } finally {
      await weir.close();
    }
  });
});
