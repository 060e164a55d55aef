import { z } from 'zod';
import {
  type AdminKeyRow,
  adminKeyRows,
  admittedAdminKeys,
  liveAdminKeyRows,
} from '../../../projections/admin-keys.ts';
import { lastUseOf } from '../../../projections/credential-uses.ts';
import { seconds } from '../../clock.ts';
import type { AdminPrincipal } from '../../data/access/principal.ts';
import { requireFuture } from '../../domain/key/project-key.ts';
import { maxAdminKeys } from '../../domain/organization/organization.ts';
import { adminPermissions, inCatalogueOrder } from '../../domain/permissions.ts';
import { fault } from '../../errors.ts';
import type { Route } from '../../http/route.ts';
import { newId, newToken } from '../../ids.ts';
import { type AdminCall, adminRoute } from '../admin-route.ts';
import { type Administration, contextOf, execute, organizationConflicts, waitForProjection } from '../command.ts';
import { credentialOf } from '../credential.ts';
import {
  adminKeyPermissions,
  deletionMarker,
  expiresAt,
  expiry,
  idempotencyKey,
  name,
  oneExpiry,
  oneExpiryError,
  oneExpirySchema,
  optional,
  pathId,
} from '../fields.ts';
import { type Created, createIdempotently, idempotencyErrors } from '../idempotent.ts';
import { listOf, page, pageQuery } from '../page.ts';

const keyObject = z
  .object({
    object: z.literal('organization.admin_api_key'),
    id: z.string(),
    name: z.string(),
    redacted_value: z.string(),
    created_at: z.int(),
    last_used_at: z.int().optional(),
    expires_at: z.int().optional(),
    owner: z.object({ type: z.literal('organization'), id: z.string() }),
    permissions: z.array(z.enum(adminPermissions)),
  })
  .meta({ id: 'AdminApiKey' });

const createdKeyObject = keyObject.extend({ value: z.string() }).meta({ id: 'CreatedAdminApiKey' });

const marker = deletionMarker('organization.admin_api_key.deleted', 'DeletedAdminApiKey');

const createBody = z
  .strictObject({ name, permissions: optional(adminKeyPermissions), ...expiry })
  .refine(oneExpiry, oneExpiryError)
  .meta(oneExpirySchema);

const render = (row: AdminKeyRow, usedAt: number | null = null) => ({
  object: 'organization.admin_api_key',
  id: row.id,
  name: row.data.name,
  redacted_value: row.data.redactedValue,
  created_at: seconds(row.data.createdAt),
  ...(usedAt !== null && { last_used_at: usedAt }),
  ...(row.data.expiresAt !== null && { expires_at: seconds(row.data.expiresAt) }),
  owner: { type: 'organization', id: row.data.organizationId },
  permissions: row.data.permissions,
});

type CreateCall = AdminCall<unknown, unknown, z.infer<typeof createBody>, undefined>;

/** Also in the record of a refused attempt. */
const creation = { method: 'POST', path: '/v1/organization/admin_api_keys' } as const;

/** The caller's own permissions by default, and never more (contract D). */
const grantedBy = (admin: Administration, { principal, body, head }: CreateCall): string[] => {
  const wanted = body.permissions ?? [...principal.permissions];
  const excess = wanted.findIndex((permission) => !principal.permissions.has(permission));
  if (excess >= 0) {
    admin.accessLog.refused(principal, creation, 'permission_escalation', head);
    throw fault('permission_escalation', { param: `permissions.${excess}` });
  }
  return inCatalogueOrder(adminPermissions, wanted);
};

/** Admits the key on the organization's stream before creating its own. */
const issue = async (admin: Administration, call: CreateCall, id: string, value: string): Promise<Created> => {
  const { aggregates, clock, secrets } = admin;
  const { organizationId } = call.principal;
  const permissions = grantedBy(admin, call);
  const context = contextOf(call);
  const at = clock.wall();
  const expires = expiresAt(call.body, at);
  requireFuture(expires, at);
  const admission = { keyId: id, permissions, expiresAt: expires };
  await execute(
    () => aggregates.organization.dispatch(organizationId, 'issueAdminKey', admission, context),
    organizationConflicts,
  );
  const { name } = call.body;
  const input = { organizationId, name, permissions, expiresAt: expires, ...credentialOf(secrets, value), at };
  const result = await execute(() => aggregates.adminKey.dispatch(id, 'create', input, context));
  // When resumed after a crash, the key may have been deleted in the meantime.
  if (result.state.status === 'deleted') throw fault('idempotency_result_unavailable');
  return { body: render({ id, ...result.state }), head: result.head };
};

const createRoute = (admin: Administration): Route =>
  adminRoute('admin_api_keys:write', {
    ...creation,
    operation: 'createAdminApiKey',
    summary: 'Create an Admin API key; the full key is in this answer and nowhere else',
    headers: { 'Idempotency-Key': idempotencyKey },
    body: createBody,
    replies: { 201: { description: 'The new key with its value', schema: createdKeyObject } },
    errors: [
      'permission_escalation',
      'admin_key_limit_reached',
      'expires_at_not_future',
      'unknown_permission',
      ...idempotencyErrors,
    ],
    handle(call) {
      const prefix = `${call.principal.organizationId}:`;
      return createIdempotently(admin, call, {
        newResourceId: () => newId('akey', admin.clock),
        newSecret: () => newToken('a'),
        create: (id, value) => issue(admin, call, id, value),
        isRepeatable: (id) => admin.models.get(adminKeyRows, `${prefix}${id}`)?.status !== 'deleted',
        recordRepeat: (id) => admin.aggregates.adminKey.dispatch(id, 'showAgain', undefined, contextOf(call)),
      });
    },
  });

const listRoute = ({ models }: Administration): Route =>
  adminRoute('admin_api_keys:read', {
    method: 'GET',
    path: '/v1/organization/admin_api_keys',
    operation: 'listAdminApiKeys',
    summary: 'List the Admin API keys of the organization',
    query: z.object(pageQuery),
    replies: { 200: { description: 'A page of keys, without values', schema: listOf(keyObject) } },
    errors: ['invalid_cursor', 'validation_failed'],
    handle: ({ principal, query }) =>
      page(models, {
        rows: liveAdminKeyRows,
        all: adminKeyRows,
        prefix: `${principal.organizationId}:`,
        query,
        render: (row) => render(row, lastUseOf(models, row.id)),
      }),
  });

const onKey = ({ models }: Administration) => ({
  params: z.object({ api_key_id: pathId }),
  find({ principal, params }: { principal: AdminPrincipal; params: { api_key_id: string } }): AdminKeyRow {
    const row = models.get(liveAdminKeyRows, `${principal.organizationId}:${params.api_key_id}`);
    if (!row) throw fault('admin_api_key_not_found');
    return row;
  },
});

const retrieveRoute = (admin: Administration): Route =>
  adminRoute('admin_api_keys:read', {
    ...onKey(admin),
    method: 'GET',
    path: '/v1/organization/admin_api_keys/{api_key_id}',
    operation: 'retrieveAdminApiKey',
    summary: 'Retrieve an Admin API key',
    replies: { 200: { description: 'The key, without its value', schema: keyObject } },
    errors: ['admin_api_key_not_found'],
    handle: ({ found }) => ({ status: 200, body: render(found, lastUseOf(admin.models, found.id)) }),
  });

const removeRoute = (admin: Administration): Route =>
  adminRoute('admin_api_keys:write', {
    ...onKey(admin),
    method: 'DELETE',
    path: '/v1/organization/admin_api_keys/{api_key_id}',
    operation: 'deleteAdminApiKey',
    summary: 'Delete an Admin API key for good, unless no other could make keys',
    replies: { 200: { description: 'The deletion marker', schema: marker } },
    errors: ['admin_api_key_not_found', 'last_admin_key'],
    async handle(call) {
      const { aggregates, clock, models } = admin;
      const { id, data } = call.found;
      const context = contextOf(call);
      const prefix = `${data.organizationId}:`;
      const unmade = models.range(admittedAdminKeys, { prefix, limit: maxAdminKeys }).map(({ row }) => row.keyId);
      const withdrawal = { keyId: id, at: clock.wall(), unmade };
      await execute(() => aggregates.organization.dispatch(data.organizationId, 'endAdminKey', withdrawal, context));
      const result = await execute(() => aggregates.adminKey.dispatch(id, 'delete', undefined, context), {
        deleted: 'admin_api_key_not_found',
      });
      admin.directory.refuse(id, result.position, 'invalid_api_key');
      await waitForProjection(admin, call, result.head);
      return { status: 200, body: { id, object: 'organization.admin_api_key.deleted', deleted: true } };
    },
  });

export const adminKeyRoutes = (admin: Administration): Route[] => [
  createRoute(admin),
  listRoute(admin),
  retrieveRoute(admin),
  removeRoute(admin),
];
