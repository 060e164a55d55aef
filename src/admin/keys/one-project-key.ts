import type { z } from 'zod';
import { type ProjectKeyRow, projectKeyRows } from '../../../projections/project-keys.ts';
import type { ProjectRow } from '../../../projections/projects.ts';
import type { AdminPrincipal } from '../../data/access/principal.ts';
import { fault } from '../../errors.ts';
import type { Reply } from '../../http/route.ts';
import { newId, newToken } from '../../ids.ts';
import { type Administration, contextOf } from '../command.ts';
import { pathId } from '../fields.ts';
import { type CreateCall, type CreateOperation, createIdempotently } from '../idempotent.ts';
import { findProject, projectParams } from '../organization/projects.ts';

export const keyParams = projectParams.extend({ api_key_id: pathId });

export interface FoundKey {
  readonly project: ProjectRow;
  readonly key: ProjectKeyRow;
}

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

export const createKey = (
  admin: Administration,
  call: CreateCall,
  project: ProjectRow,
  create: CreateOperation['create'],
): Promise<Reply> =>
  createIdempotently(admin, call, {
    newResourceId: () => newId('key', admin.clock),
    newSecret: () => newToken('p'),
    create,
    isRepeatable: (id) =>
      project.status === 'active' && admin.models.get(projectKeyRows, `${project.id}:${id}`)?.status !== 'revoked',
    recordRepeat: (id) => admin.aggregates.projectKey.dispatch(id, 'showAgain', undefined, contextOf(call)),
  });
