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

/** The contents of `first-run.json`, the only place with keys in clear text. */
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

/** Written to disk before it is carried out, so that after a crash the next start completes it and no key is lost. */
export const planFirstRun = (admin: Administration): FirstRun => ({
  base_url: '',
  organization_id: newId('org', admin.clock),
  admin_api_key: newToken('a'),
  project_id: newId('proj', admin.clock),
  project_api_key: newToken('p'),
  admin_api_key_id: newId('akey', admin.clock),
  project_api_key_id: newId('key', admin.clock),
});

/** Whether the store has no organization, or only the one of this plan. */
export const isFirstRun = (admin: Administration, plan: FirstRun | null): boolean => {
  const [some] = admin.models.range(organizationRows, { prefix: 'org_', limit: 1 });
  return (
    some === undefined || (plan !== null && admin.models.get(organizationRows, plan.organization_id) !== undefined)
  );
};

/** Creates what is missing, until the last step was done: what was archived or deleted later stays so. */
export const carryOut = async (admin: Administration, plan: FirstRun, context: Context): Promise<void> => {
  const { models } = admin;
  if (models.get(projectKeyOwners, plan.project_api_key_id)) return;
  const begun = models.get(organizationRows, plan.organization_id);
  if (begun && begun.status !== 'active') return;
  try {
    await makeAll(admin, plan, context);
  } catch (error) {
    // Something that an earlier start created has been ended since.
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
