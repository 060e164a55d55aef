import { z } from 'zod';
import { adminKeyOwners } from '../../../projections/admin-keys.ts';
import { organizationRows } from '../../../projections/organizations.ts';
import { projectKeyOwners } from '../../../projections/project-keys.ts';
import { adminPermissions, projectPermissions } from '../../domain/permissions.ts';
import { newId, newToken } from '../../ids.ts';
import { IllegalEvent } from '../../kernel/aggregate/aggregate.ts';
import type { Context } from '../../kernel/commands/actor.ts';
import type { Administration } from '../command.ts';
import { credentialOf } from '../credential.ts';

/** What `first-run.json` holds: the one place where keys are kept in clear, for the first hour of a newcomer. */
export const firstRunFile = z.object({
  base_url: z.string(),
  organization_id: z.string(),
  admin_api_key: z.string(),
  project_id: z.string(),
  project_api_key: z.string(),
  admin_api_key_id: z.string(),
  project_api_key_id: z.string(),
});
export type FirstRun = z.infer<typeof firstRunFile>;

/**
 * What an empty store starts with. It is written down before it is made, so that a crash in between loses no key: the
 * next start makes the rest of the same plan.
 */
export const planFirstRun = (admin: Administration): FirstRun => ({
  base_url: '',
  organization_id: newId('org', admin.clock),
  admin_api_key: newToken('a'),
  project_id: newId('proj', admin.clock),
  project_api_key: newToken('p'),
  admin_api_key_id: newId('akey', admin.clock),
  project_api_key_id: newId('key', admin.clock),
});

/** Whether the store has no organization yet, or the one that this plan began. */
export const isFirstRun = (admin: Administration, plan: FirstRun | null): boolean => {
  const [some] = admin.models.range(organizationRows, { prefix: 'org_', limit: 1 });
  return (
    some === undefined || (plan !== null && admin.models.get(organizationRows, plan.organization_id) !== undefined)
  );
};

/**
 * Makes what of the plan is not there yet, through the same commands as any caller, and nothing once its last step has been
 * taken: what was archived, suspended, closed or deleted since stays so.
 * @param context whose start it is
 */
export const carryOut = async (admin: Administration, plan: FirstRun, context: Context): Promise<void> => {
  const { models } = admin;
  if (models.get(projectKeyOwners, plan.project_api_key_id)) return;
  const begun = models.get(organizationRows, plan.organization_id);
  if (begun && begun.status !== 'active') return;
  try {
    await makeAll(admin, plan, context);
  } catch (error) {
    // Somebody has ended what a start before this one began, so there is nothing left to make it for.
    if (!(error instanceof IllegalEvent)) throw error;
  }
};

const makeAll = async (admin: Administration, plan: FirstRun, context: Context): Promise<void> => {
  const { aggregates, clock, models, projectionWaitMs, secrets } = admin;
  const at = clock.wall();
  const { organization_id: organizationId, project_id: projectId } = plan;
  const credential = (token: string, permissions: readonly string[]) => ({
    organizationId,
    permissions,
    expiresAt: null,
    ...credentialOf(secrets, token),
    at,
  });
  const adminKey = { ...credential(plan.admin_api_key, adminPermissions), name: 'First Admin key' };
  const projectKey = { ...credential(plan.project_api_key, projectPermissions), name: 'First key', projectId };
  const admission = { keyId: plan.admin_api_key_id, permissions: adminPermissions, expiresAt: null };
  await aggregates.organization.dispatch(organizationId, 'createOnce', { name: 'First organization', at }, context);
  if (!models.get(adminKeyOwners, plan.admin_api_key_id)) {
    await aggregates.organization.dispatch(organizationId, 'issueAdminKey', admission, context);
    await aggregates.adminKey.dispatch(plan.admin_api_key_id, 'create', adminKey, context);
  }
  await aggregates.project.dispatch(projectId, 'createOnce', { organizationId, name: 'First project', at }, context);
  await aggregates.project.dispatch(projectId, 'issueKey', { keyId: plan.project_api_key_id }, context);
  const result = await aggregates.projectKey.dispatch(plan.project_api_key_id, 'create', projectKey, context);
  if (result.position !== null) await models.reached(result.position, projectionWaitMs);
};
