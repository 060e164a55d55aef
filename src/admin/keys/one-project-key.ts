import type { z } from 'zod';
import { type ProjectKeyRow, projectKeyRows } from '../../../projections/project-keys.ts';
import type { ProjectRow } from '../../../projections/projects.ts';
import type { AdminPrincipal } from '../../access/principal.ts';
import { fault } from '../../errors.ts';
import type { Administration } from '../command.ts';
import { pathId } from '../fields.ts';
import { findProject, projectParams } from '../organization/projects.ts';

const keyParams = projectParams.extend({ api_key_id: pathId });

export interface FoundKey {
  readonly project: ProjectRow;
  readonly key: ProjectKeyRow;
}

/** The path parameters and the look-up of routes for one key. */
export const oneProjectKey = (admin: Administration) => {
  const findProjectOf = findProject(admin);
  return {
    params: keyParams,
    find(call: { principal: AdminPrincipal; params: z.infer<typeof keyParams> }): FoundKey {
      const project = findProjectOf(call);
      const key = admin.models.get(projectKeyRows, `${project.id}:${call.params.api_key_id}`);
      if (!key) throw fault('api_key_not_found');
      return { project, key };
    },
  };
};

/** Whether a key may be shown again. */
export const stands = ({ models }: Administration, project: ProjectRow, id: string): boolean =>
  project.status === 'active' && models.get(projectKeyRows, `${project.id}:${id}`)?.status !== 'revoked';
