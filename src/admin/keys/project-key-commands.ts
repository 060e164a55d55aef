import { z } from 'zod';
import * as chains from '../../../projections/project-keys.ts';
import type { ProjectRow } from '../../../projections/projects.ts';
import { areSameLimits, keyLimits } from '../../domain/key/key-limits.ts';
import type { ProjectKey, ProjectKeyEvent } from '../../domain/key/project-key.ts';
import { inCatalogueOrder, projectPermissions } from '../../domain/permissions.ts';
import { areSameSpendLimits } from '../../domain/usage/spend-limit.ts';
import { fault } from '../../errors.ts';
import type { Route } from '../../http/route.ts';
import type { Context } from '../../kernel/commands/actor.ts';
import type { CommandResult } from '../../kernel/commands/command.ts';
import { type AdminCall, adminRoute } from '../admin-route.ts';
import { type Administration, contextOf, execute, waitForProjection } from '../command.ts';
import {
  expiresAt,
  expiry,
  hasFields,
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
import { type FoundKey, oneProjectKey } from './one-project-key.ts';
import { keyMarker, keyObject, render } from './project-key-object.ts';

/** Errors by the state of the key (contract B.2, B.3). */
const conflicts = { revoked: 'api_key_revoked', expired: 'api_key_expired' } as const;

const conflicting = [
  'project_not_found',
  'api_key_not_found',
  'project_archived',
  'api_key_revoked',
  'api_key_expired',
] as const;

/** For the OpenAPI document: at least one field. */
const changed = ['name', 'permissions', 'scopes', 'expires_at', 'expires_in_seconds', 'limits', 'spend_limit'].map(
  (field) => hasFields(field),
);

const updateBody = z
  .strictObject({
    name: optional(name),
    permissions: optional(projectKeyPermissions),
    scopes: optional(projectKeyPermissions),
    ...expiry,
    limits: ownLimits,
    spend_limit: spendLimitField,
  })
  .refine(oneExpiry, oneExpiryError)
  .refine((body) => body.permissions === undefined || body.scopes === undefined, {
    error: 'scopes is another name for permissions: use one of them.',
    path: ['scopes'],
  })
  .refine((body) => Object.values(body).some((value) => value !== undefined), {
    error: 'Name at least one field to change.',
    when: ({ issues }) => issues.length === 0,
  })
  .meta({
    not: { anyOf: [oneExpirySchema.not, hasFields('permissions', 'scopes'), { not: { anyOf: changed } }] },
  });

const show = ({ clock, models }: Administration, row: chains.ProjectKeyRow, project: ProjectRow) =>
  render(row, project, clock.wall(), models);

const change = async (
  admin: Administration,
  call: AdminCall<unknown, unknown, unknown, FoundKey>,
  dispatch: (id: string, context: Context) => Promise<CommandResult<ProjectKey, ProjectKeyEvent>>,
) => {
  const { project, key } = call.found;
  if (project.status === 'archived') throw fault('project_archived');
  const result = await execute(() => dispatch(key.id, contextOf(call)), conflicts);
  if (result.events.some((event) => event.type === 'project_key.suspended')) {
    admin.directory.refuse(key.id, result.position, 'api_key_suspended');
  }
  await waitForProjection(admin, call, result.head);
  return { status: 200, body: show(admin, { id: key.id, ...result.state }, project) };
};

/** Of a key with a successor, which shows the limits of its chain: none that are sent back as they were read. */
const limitsIn = (
  body: Pick<z.infer<typeof updateBody>, 'limits' | 'spend_limit'>,
  key: chains.ProjectKeyRow,
  { models }: Pick<Administration, 'models'>,
) => {
  const limits = body.limits === undefined ? undefined : keyLimits(body.limits);
  const spendLimit = body.spend_limit === undefined ? undefined : spendLimitOf(body.spend_limit);
  const isChained = key.data.rotatedTo !== null;
  const hasLimits = isChained && limits && areSameLimits(limits, chains.limitsOf(models, key));
  const hasSpend =
    isChained && spendLimit !== undefined && areSameSpendLimits(spendLimit, chains.spendLimitOf(models, key));
  return {
    ...(limits && !hasLimits && { limits }),
    ...(spendLimit !== undefined && !hasSpend && { spendLimit }),
  };
};

const onKey = (admin: Administration) => ({
  ...oneProjectKey(admin),
  replies: { 200: { description: 'The key, without its value', schema: keyObject } },
});

const retrieveRoute = (admin: Administration): Route =>
  adminRoute('project_api_keys:read', {
    ...onKey(admin),
    method: 'GET',
    path: '/v1/organization/projects/{project_id}/api_keys/{api_key_id}',
    operation: 'retrieveProjectApiKey',
    summary: 'Retrieve an API key of a project',
    errors: ['project_not_found', 'api_key_not_found'],
    handle: ({ found }) => ({ status: 200, body: show(admin, found.key, found.project) }),
  });

const updateRoute = (admin: Administration): Route =>
  adminRoute('project_api_keys:write', {
    ...onKey(admin),
    method: 'POST',
    path: '/v1/organization/projects/{project_id}/api_keys/{api_key_id}',
    operation: 'updateProjectApiKey',
    summary: 'Change the name, the permissions, the expiry or the limits of an API key',
    body: updateBody,
    errors: [...conflicting, 'api_key_rotated', 'expires_at_not_future', 'unknown_permission'],
    handle(call) {
      const { body } = call;
      const at = admin.clock.wall();
      const permissions = body.permissions ?? body.scopes;
      const hasExpiry = body.expires_at !== undefined || body.expires_in_seconds !== undefined;
      const input = {
        ...(body.name !== undefined && { name: body.name }),
        ...(permissions && { permissions: inCatalogueOrder(projectPermissions, permissions) }),
        ...(hasExpiry && { expiresAt: expiresAt(body, at) }),
        ...limitsIn(body, call.found.key, admin),
        at,
      };
      return change(admin, call, (id, context) => admin.aggregates.projectKey.dispatch(id, 'update', input, context));
    },
  });

const standingRoute = (
  admin: Administration,
  command: 'suspend' | 'reactivate',
  operation: string,
  summary: string,
): Route =>
  adminRoute('project_api_keys:write', {
    ...onKey(admin),
    method: 'POST',
    path: `/v1/organization/projects/{project_id}/api_keys/{api_key_id}/${command}`,
    operation,
    summary,
    errors: conflicting,
    handle: (call) =>
      change(admin, call, (id, context) =>
        admin.aggregates.projectKey.dispatch(id, command, { at: admin.clock.wall() }, context),
      ),
  });

const revokeRoute = (admin: Administration): Route =>
  adminRoute('project_api_keys:write', {
    ...onKey(admin),
    method: 'DELETE',
    path: '/v1/organization/projects/{project_id}/api_keys/{api_key_id}',
    operation: 'revokeProjectApiKey',
    summary: 'Revoke an API key for good; it stays listed',
    replies: { 200: { description: 'The deletion marker', schema: keyMarker } },
    errors: ['project_not_found', 'api_key_not_found'],
    async handle(call) {
      const { id } = call.found.key;
      const result = await execute(() =>
        admin.aggregates.projectKey.dispatch(id, 'revoke', { reason: 'requested' }, contextOf(call)),
      );
      admin.directory.refuse(id, result.position);
      await waitForProjection(admin, call, result.head);
      return { status: 200, body: { id, object: 'organization.project.api_key.deleted', deleted: true } };
    },
  });

export const projectKeyCommands = (admin: Administration): Route[] => [
  retrieveRoute(admin),
  updateRoute(admin),
  standingRoute(admin, 'suspend', 'suspendProjectApiKey', 'Suspend an API key until it is reactivated'),
  standingRoute(admin, 'reactivate', 'reactivateProjectApiKey', 'Let a suspended API key work again'),
  revokeRoute(admin),
];
