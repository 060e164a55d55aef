import { z } from 'zod';
import { type ProjectKeyRow, projectKeyRows } from '../../../projections/project-keys.ts';
import type { ProjectRow } from '../../../projections/projects.ts';
import { keyLimits } from '../../domain/key/key-limits.ts';
import { requireFuture } from '../../domain/key/project-key.ts';
import { inCatalogueOrder, projectPermissions } from '../../domain/permissions.ts';
import { fault } from '../../errors.ts';
import type { Route } from '../../http/route.ts';
import { type AdminCall, adminRoute } from '../admin-route.ts';
import { type Administration, contextOf, execute } from '../command.ts';
import { credentialOf } from '../credential.ts';
import {
  expiresAt,
  expiry,
  idempotencyKey,
  name,
  oneExpiry,
  oneExpiryError,
  oneExpirySchema,
  optional,
  ownLimits,
  projectKeyPermissions,
  spendLimitField,
  spendLimitOf,
} from '../fields.ts';
import { type Created, idempotencyErrors } from '../idempotent.ts';
import { findProject, projectParams } from '../organization/projects.ts';
import { listOf, page, pageQuery } from '../page.ts';
import { admitKey } from './key-capacity.ts';
import { createKey } from './one-project-key.ts';
import { projectKeyCommands } from './project-key-commands.ts';
import { createdKeyObject, keyObject, render, statuses, statusOf } from './project-key-object.ts';
import { rotateKeyRoute } from './rotation.ts';

const createBody = z
  .strictObject({
    name,
    permissions: optional(projectKeyPermissions),
    ...expiry,
    limits: ownLimits,
    spend_limit: spendLimitField,
  })
  .refine(oneExpiry, oneExpiryError)
  .meta(oneExpirySchema);

type CreateCall = AdminCall<unknown, unknown, z.infer<typeof createBody>, ProjectRow>;

/** Admits the key on its project's stream before creating its own. */
const issue = async (admin: Administration, call: CreateCall, id: string, value: string): Promise<Created> => {
  const { aggregates, clock, models, secrets } = admin;
  const { id: projectId, organizationId } = call.found;
  const context = contextOf(call);
  const at = clock.wall();
  const expires = expiresAt(call.body, at);
  requireFuture(expires, at);
  await admitKey(admin, projectId, id, context);
  const input = {
    organizationId,
    projectId,
    name: call.body.name,
    permissions: inCatalogueOrder(projectPermissions, call.body.permissions ?? projectPermissions),
    expiresAt: expires,
    limits: keyLimits(call.body.limits),
    spendLimit: spendLimitOf(call.body.spend_limit ?? null),
    ...credentialOf(secrets, value),
    at,
  };
  const result = await execute(() => aggregates.projectKey.dispatch(id, 'create', input, context));
  // When resumed after a crash, the key may have been revoked in the meantime.
  if (result.state.status === 'revoked') throw fault('idempotency_result_unavailable');
  return { body: render({ id, ...result.state }, call.found, at, models), head: result.head };
};

const createRoute = (admin: Administration): Route =>
  adminRoute('project_api_keys:write', {
    method: 'POST',
    path: '/v1/organization/projects/{project_id}/api_keys',
    operation: 'createProjectApiKey',
    summary: 'Create a project API key; the full key is in this answer and nowhere else',
    params: projectParams,
    find: findProject(admin),
    headers: { 'Idempotency-Key': idempotencyKey },
    body: createBody,
    replies: { 201: { description: 'The new key with its value', schema: createdKeyObject } },
    errors: [
      'project_not_found',
      'project_archived',
      'api_key_limit_reached',
      'expires_at_not_future',
      'unknown_permission',
      ...idempotencyErrors,
    ],
    handle: (call) => createKey(admin, call, call.found, (id, value) => issue(admin, call, id, value)),
  });

const listRoute = (admin: Administration): Route =>
  adminRoute('project_api_keys:read', {
    method: 'GET',
    path: '/v1/organization/projects/{project_id}/api_keys',
    operation: 'listProjectApiKeys',
    summary: 'List the API keys of a project',
    params: projectParams,
    query: z.object({
      ...pageQuery,
      status: z.enum(statuses).optional(),
      owner_project_access: z
        .enum(['active', 'inactive', 'any'])
        .optional()
        .describe('The owner is the project itself: its access is inactive once it is archived'),
    }),
    find: findProject(admin),
    replies: { 200: { description: 'A page of keys, without values', schema: listOf(keyObject) } },
    errors: ['project_not_found', 'invalid_cursor', 'validation_failed'],
    handle({ found, query }) {
      const now = admin.clock.wall();
      const { status, owner_project_access: access = 'any' } = query;
      const isOfOthers = access !== 'any' && access !== (found.status === 'archived' ? 'inactive' : 'active');
      const isWanted = (row: ProjectKeyRow) =>
        !isOfOthers && (status === undefined || statusOf(row, found, now) === status);
      return page(admin.models, {
        rows: projectKeyRows,
        all: projectKeyRows,
        prefix: `${found.id}:`,
        query,
        wanted: isWanted,
        render: (row) => render(row, found, now, admin.models),
      });
    },
  });

export const projectKeyRoutes = (admin: Administration): Route[] => [
  createRoute(admin),
  listRoute(admin),
  rotateKeyRoute(admin),
  ...projectKeyCommands(admin),
];
