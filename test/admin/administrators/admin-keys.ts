import fc from 'fast-check';
import { expect } from 'vitest';
import { adminPermissions } from '../../../src/domain/permissions.ts';
import type { Json } from '../ask.ts';
import type { AdminKey, Tenant } from './model.ts';
import {
  callerOf,
  command,
  create,
  expectOf,
  idempotencyKey,
  idOf,
  list,
  otherOf,
  paging,
  seconds,
  target,
  tenantOf,
  who,
} from './step.ts';

const path = '/admin_api_keys';
const one = `${path}/{api_key_id}`;

const shownAdminKey = (tenant: Tenant, key: AdminKey) => ({
  object: 'organization.admin_api_key',
  id: key.id,
  name: key.name,
  redacted_value: `${key.value.slice(0, 7)}...${key.value.slice(-4)}`,
  created_at: seconds(key.createdAt),
  ...(key.usedAt !== null && { last_used_at: key.usedAt }),
  ...(key.expiresAt !== null && { expires_at: seconds(key.expiresAt) }),
  owner: { type: 'organization', id: tenant.id },
  permissions: key.permissions,
});

const createAdminKey = command({
  name: 'create Admin key',
  args: fc.record({
    who,
    permissions: fc.option(fc.shuffledSubarray([...adminPermissions], { minLength: 1 }), { nil: undefined }),
    inSeconds: fc.option(fc.constantFrom(1, 600, 100_000), { nil: undefined }),
    key: idempotencyKey,
  }),
  async run(world, { who: chosen, permissions, inSeconds, key }) {
    const tenant = tenantOf(world, chosen);
    const caller = callerOf(world, chosen);
    const body = {
      name: 'a',
      ...(permissions && { permissions }),
      ...(inSeconds && { expires_in_seconds: inSeconds }),
    };
    const request = { method: 'POST', path, permission: 'admin_api_keys:write', body, idempotencyKey: key } as const;
    await create(world, chosen, request, {
      before: key === undefined ? '422 validation_failed header.Idempotency-Key' : null,
      refusal() {
        const excess = (permissions ?? []).findIndex((one) => !caller.permissions.includes(one));
        if (excess < 0) return null;
        tenant.deny(caller.id, `POST /v1/organization${path}`, '403 permission_escalation', world.now);
        return `403 permission_escalation permissions.${excess}`;
      },
      hasValue: true,
      made(answer) {
        const wanted = permissions ?? caller.permissions;
        const made: AdminKey = {
          id: String(answer.id),
          value: String(answer.value),
          name: 'a',
          permissions: adminPermissions.filter((one) => wanted.includes(one)),
          createdAt: world.now,
          expiresAt: inSeconds === undefined ? null : (Math.ceil(world.now / 1000) + 1 + inSeconds) * 1000,
          isDeleted: false,
          usedAt: null,
        };
        tenant.adminKeys.set(made.id, made);
        const { value: _, ...shown } = answer as { value: string } & Json;
        expect(shown).toEqual(shownAdminKey(tenant, made));
        return { type: 'admin_api_key.created', stands: () => !made.isDeleted };
      },
    });
  },
});

const listAdminKeys = command({
  name: 'list Admin keys',
  args: fc.record({ who, paging }),
  async run(world, { who: chosen, paging: page }) {
    const tenant = tenantOf(world, chosen);
    await list(
      world,
      chosen,
      { method: 'GET', path, permission: 'admin_api_keys:read' },
      {
        paging: page,
        all: [...tenant.adminKeys.values()],
        foreign: [...otherOf(world, chosen).adminKeys.values()],
        isShown: (id) => tenant.adminKeys.get(id)?.isDeleted === false,
        item: (id) => shownAdminKey(tenant, tenant.adminKeys.get(id) as AdminKey),
        refusal: null,
      },
    );
  },
});

const retrieveAdminKey = command({
  name: 'retrieve Admin key',
  args: fc.record({ who, target }),
  async run(world, { who: chosen, target: wanted }) {
    const tenant = tenantOf(world, chosen);
    const api_key_id = idOf(wanted, tenant.adminKeys.values(), otherOf(world, chosen).adminKeys.values());
    const key = tenant.adminKeys.get(api_key_id);
    const refusal = key?.isDeleted === false ? null : '404 admin_api_key_not_found';
    const request = { method: 'GET', path: one, permission: 'admin_api_keys:read', ids: { api_key_id } } as const;
    const answer = await expectOf(world, chosen, request, refusal);
    if (answer) expect(answer.body).toEqual(shownAdminKey(tenant, key as AdminKey));
  },
});

const deleteAdminKey = command({
  name: 'delete Admin key',
  args: fc.record({ who, target }),
  async run(world, { who: chosen, target: wanted }) {
    const tenant = tenantOf(world, chosen);
    const api_key_id = idOf(wanted, tenant.adminKeys.values(), otherOf(world, chosen).adminKeys.values());
    const key = tenant.adminKeys.get(api_key_id);
    const isThere = key?.isDeleted === false;
    const isLast = isThere && !tenant.hasOtherWriter(key.id, world.now);
    const refusal = isThere ? (isLast ? '409 last_admin_key' : null) : '404 admin_api_key_not_found';
    const request = { method: 'DELETE', path: one, permission: 'admin_api_keys:write', ids: { api_key_id } } as const;
    const actor = callerOf(world, chosen).id;
    const answer = await expectOf(world, chosen, request, refusal);
    if (!answer || !key) return world.happened(tenant, []);
    key.isDeleted = true;
    expect(answer.body).toEqual({ id: key.id, object: 'organization.admin_api_key.deleted', deleted: true });
    await world.happened(tenant, [{ type: 'admin_api_key.deleted', resource: key.id, actor }]);
  },
});

export const adminKeySteps = [
  { weight: 4, arbitrary: createAdminKey },
  { weight: 2, arbitrary: listAdminKeys },
  { weight: 1, arbitrary: retrieveAdminKey },
  { weight: 2, arbitrary: deleteAdminKey },
];
