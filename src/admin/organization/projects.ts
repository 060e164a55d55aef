import { z } from 'zod';
import { activeProjectRows, type ProjectRow, projectKeyOf, projectRows } from '../../../projections/projects.ts';
import { aliasSchema, mostAliases, notAnAlias } from '../../aliases.ts';
import { seconds } from '../../clock.ts';
import type { AdminPrincipal } from '../../data/access/principal.ts';
import type { ProjectChange } from '../../domain/project/project.ts';
import { fault } from '../../errors.ts';
import { flag } from '../../http/request/query.ts';
import type { Route } from '../../http/route.ts';
import { newId } from '../../ids.ts';
import { adminRoute } from '../admin-route.ts';
import { type Administration, contextOf, execute, waitForProjection } from '../command.ts';
import { deletionMarker, idempotencyKey, modelId, modelIds, name, optional, pathId } from '../fields.ts';
import { type Created, createIdempotently, idempotencyErrors } from '../idempotent.ts';
import { listOf, page, pageQuery } from '../page.ts';

const projectObject = z
  .object({
    object: z.literal('organization.project'),
    id: z.string(),
    name: z.string(),
    created_at: z.int(),
    status: z.enum(['active', 'archived']),
    archived_at: z.int().optional(),
    allowed_models: z.array(z.string()).readonly().nullable(),
    model_aliases: z.record(z.string(), z.string()).readonly(),
  })
  .meta({ id: 'Project' });

/** Ids of models by alias. */
const modelAliases = z.preprocess(
  (value, context) => {
    // zod drops this member without an error.
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__'))
      context.addIssue({ code: 'custom', path: ['__proto__'], message: notAnAlias });
    return value;
  },
  z
    .record(aliasSchema, modelId)
    .refine((aliases) => Object.keys(aliases).length <= mostAliases, {
      error: `Must have at most ${mostAliases} aliases.`,
    })
    .meta({ maxProperties: mostAliases }),
);

const marker = deletionMarker('organization.project.deleted', 'DeletedProject');

/** Ids of the models that there are for an organization now. */
export type ModelsOf = (organizationId: string) => readonly string[];

/** What a list of denied models leaves. */
export const allowedOf = (
  {
    organizationId,
    allowedModels,
    deniedModels,
  }: Pick<ProjectRow, 'organizationId' | 'allowedModels' | 'deniedModels'>,
  modelsOf: ModelsOf,
): readonly string[] | null => {
  if (deniedModels === null) return allowedModels;
  const denied = new Set(deniedModels);
  return modelsOf(organizationId).filter((id) => !denied.has(id));
};

const render = (row: Omit<ProjectRow, 'rateLimits'>, modelsOf: ModelsOf): z.infer<typeof projectObject> => ({
  object: 'organization.project',
  id: row.id,
  name: row.name,
  created_at: seconds(row.createdAt),
  status: row.status,
  ...(row.archivedAt !== null && { archived_at: seconds(row.archivedAt) }),
  allowed_models: allowedOf(row, modelsOf),
  model_aliases: row.modelAliases,
});

export const projectParams = z.object({ project_id: pathId });

/** @throws Fault 404 `project_not_found` */
export const findProject =
  (admin: Administration) =>
  (call: { readonly principal: AdminPrincipal; readonly params: { readonly project_id: string } }): ProjectRow => {
    const row = admin.models.get(projectRows, projectKeyOf(call.principal.organizationId, call.params.project_id));
    if (!row) throw fault('project_not_found');
    return row;
  };

const listRoute = ({ models }: Administration, modelsOf: ModelsOf): Route =>
  adminRoute('projects:read', {
    method: 'GET',
    path: '/v1/organization/projects',
    operation: 'listProjects',
    summary: 'List the projects of the organization',
    query: z.object({ ...pageQuery, include_archived: flag() }),
    replies: { 200: { description: 'A page of projects', schema: listOf(projectObject) } },
    errors: ['invalid_cursor', 'validation_failed'],
    handle: ({ principal, query }) =>
      page(models, {
        rows: query.include_archived ? projectRows : activeProjectRows,
        all: projectRows,
        prefix: projectKeyOf(principal.organizationId, ''),
        query,
        render: (row) => render(row, modelsOf),
      }),
  });

const createRoute = (admin: Administration, modelsOf: ModelsOf): Route =>
  adminRoute('projects:write', {
    method: 'POST',
    path: '/v1/organization/projects',
    operation: 'createProject',
    summary: 'Create a project',
    headers: { 'Idempotency-Key': idempotencyKey.optional() },
    body: z.strictObject({ name }),
    replies: { 201: { description: 'The new project', schema: projectObject } },
    errors: idempotencyErrors,
    handle(call) {
      const { organizationId } = call.principal;
      const { name } = call.body;
      const create = async (id: string): Promise<Created> => {
        const input = { organizationId, name, at: admin.clock.wall() };
        const result = await execute(() => admin.aggregates.project.dispatch(id, 'createOnce', input, contextOf(call)));
        // An abandoned attempt may have created the project, and it may have been archived since.
        const status = result.state.status === 'archived' ? 'archived' : 'active';
        return {
          body: render({ id, ...result.state.data, status }, modelsOf),
          head: result.head,
        };
      };
      const isRepeatable = (id: string): boolean =>
        admin.models.get(projectRows, projectKeyOf(organizationId, id))?.status !== 'archived';
      return createIdempotently(admin, call, { newResourceId: () => newId('proj', admin.clock), create, isRepeatable });
    },
  });

const retrieveRoute = (admin: Administration, modelsOf: ModelsOf): Route =>
  adminRoute('projects:read', {
    method: 'GET',
    path: '/v1/organization/projects/{project_id}',
    operation: 'retrieveProject',
    summary: 'Retrieve a project',
    params: projectParams,
    find: findProject(admin),
    replies: { 200: { description: 'The project', schema: projectObject } },
    errors: ['project_not_found'],
    handle: ({ found }) => ({ status: 200, body: render(found, modelsOf) }),
  });

const archiveRoute = (admin: Administration): Route =>
  adminRoute('projects:write', {
    method: 'POST',
    path: '/v1/organization/projects/{project_id}/archive',
    operation: 'archiveProject',
    summary: 'Archive a project and revoke every key of it, for good',
    params: projectParams,
    find: findProject(admin),
    replies: { 200: { description: 'The deletion marker', schema: marker } },
    errors: ['project_not_found'],
    async handle(call) {
      const { id } = call.found;
      const result = await execute(() =>
        admin.aggregates.project.dispatch(id, 'archive', { at: admin.clock.wall() }, contextOf(call)),
      );
      // Before the answer, even if the read models are behind.
      admin.directory.refuse(id, result.position);
      await waitForProjection(admin, call, result.head);
      const body: z.infer<typeof marker> = { id, object: 'organization.project.deleted', deleted: true };
      return { status: 200, body };
    },
  });

const updateRoute = (admin: Administration, modelsOf: ModelsOf): Route =>
  adminRoute('projects:write', {
    method: 'POST',
    path: '/v1/organization/projects/{project_id}',
    operation: 'updateProject',
    summary: 'Rename a project, or say which models it may use and by which other names',
    params: projectParams,
    find: findProject(admin),
    body: z
      .strictObject({
        name: optional(name),
        allowed_models: modelIds.nullable().optional(),
        model_aliases: optional(modelAliases),
      })
      .meta({
        not: {
          properties: { name: { type: 'null' }, model_aliases: { type: 'null' } },
          not: { required: ['allowed_models'] },
        },
      }),
    replies: { 200: { description: 'The project', schema: projectObject } },
    errors: ['project_not_found', 'project_archived', 'model_alias_taken'],
    async handle(call) {
      const { name, allowed_models: allowed, model_aliases: aliases } = call.body;
      if (name === undefined && allowed === undefined && aliases === undefined) {
        throw fault('validation_failed', { param: 'name', message: 'Give name, allowed_models or model_aliases.' });
      }
      const { organizationId } = call.principal;
      const there = new Set(aliases && modelsOf(organizationId));
      const input: ProjectChange = {
        ...(name !== undefined && { name }),
        ...(allowed !== undefined && { allowedModels: allowed }),
        ...(aliases !== undefined && { modelAliases: aliases, isModel: (id) => there.has(id) }),
      };
      const { id } = call.found;
      const result = await execute(() => admin.aggregates.project.dispatch(id, 'update', input, contextOf(call)), {
        archived: 'project_archived',
      });
      await waitForProjection(admin, call, result.head);
      return { status: 200, body: render({ ...call.found, ...result.state.data }, modelsOf) };
    },
  });

export const projectRoutes = (admin: Administration, modelsOf: ModelsOf): Route[] => [
  listRoute(admin, modelsOf),
  createRoute(admin, modelsOf),
  retrieveRoute(admin, modelsOf),
  updateRoute(admin, modelsOf),
  archiveRoute(admin),
];
