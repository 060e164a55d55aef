import { z } from 'zod';
import { allModels, type ModelPermissions, type Project } from '../../domain/project/project.ts';
import type { Route } from '../../http/route.ts';
import { adminRoute } from '../admin-route.ts';
import { type Administration, contextOf, execute, waitForProjection } from '../command.ts';
import { modelIds } from '../fields.ts';
import { findProject, projectParams } from './projects.ts';

const mode = z.enum(['allow_list', 'deny_list']);

const permissionsObject = z
  .object({
    object: z.literal('project.model_permissions'),
    mode,
    model_ids: z.array(z.string()).readonly(),
  })
  .meta({ id: 'ProjectModelPermissions' });

const marker = z
  .object({ object: z.literal('project.model_permissions.deleted'), deleted: z.literal(true) })
  .meta({ id: 'DeletedProjectModelPermissions' });

/** Unspecified: what a project without permissions shows. A list that denies nothing says the same. */
const render = ({
  allowedModels,
  deniedModels,
}: Pick<Project, 'allowedModels' | 'deniedModels'>): z.infer<typeof permissionsObject> => ({
  object: 'project.model_permissions',
  mode: allowedModels === null ? 'deny_list' : 'allow_list',
  model_ids: allowedModels ?? deniedModels ?? [],
});

const path = '/v1/organization/projects/{project_id}/model_permissions';

/** Contract B.2, in the form of `openai`'s `admin.organization.projects.modelPermissions`. */
export const modelPermissionRoutes = (admin: Administration): Route[] => {
  const shared = { path, params: projectParams, find: findProject(admin) };

  const permit = async (
    call: Parameters<typeof contextOf>[0] & { readonly found: { readonly id: string } },
    permissions: ModelPermissions,
  ): Promise<Project> => {
    const { project } = admin.aggregates;
    const result = await execute(() => project.dispatch(call.found.id, 'permitModels', permissions, contextOf(call)), {
      archived: 'project_archived',
    });
    await waitForProjection(admin, call, result.head);
    return result.state.data;
  };

  return [
    adminRoute('projects:read', {
      ...shared,
      method: 'GET',
      operation: 'retrieveProjectModelPermissions',
      summary: 'Show which models a project may use, or may not',
      replies: { 200: { description: 'The list', schema: permissionsObject } },
      errors: ['project_not_found'],
      handle: ({ found }) => ({ status: 200, body: render(found) }),
    }),
    adminRoute('projects:write', {
      ...shared,
      method: 'POST',
      operation: 'updateProjectModelPermissions',
      summary: 'Say which models a project may use, or which it may not',
      body: z.strictObject({ mode, model_ids: modelIds }),
      replies: { 200: { description: 'The list', schema: permissionsObject } },
      errors: ['project_not_found', 'project_archived'],
      async handle(call) {
        const { mode, model_ids: models } = call.body;
        return { status: 200, body: render(await permit(call, { mode, models })) };
      },
    }),
    adminRoute('projects:write', {
      ...shared,
      method: 'DELETE',
      operation: 'deleteProjectModelPermissions',
      summary: 'Let a project use all models again',
      replies: { 200: { description: 'The deletion marker', schema: marker } },
      errors: ['project_not_found', 'project_archived'],
      async handle(call) {
        await permit(call, allModels);
        const body: z.infer<typeof marker> = { object: 'project.model_permissions.deleted', deleted: true };
        return { status: 200, body };
      },
    }),
  ];
};
