import fc from 'fast-check';
import { expect } from 'vitest';
import { type AuditEntry, type Project, statusOf } from './model.ts';
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
  type Target,
  target,
  tenantOf,
  type Who,
  who,
} from './step.ts';
import type { World } from './world.ts';

const name = fc.constantFrom('Alpha', 'Beta', ' Gamma ');
const path = '/projects/{project_id}';

const modelsThere = ['weir-sim-1', 'weir-sim-thinking-1'];

const shownProject = (project: Project): object => ({
  object: 'organization.project',
  id: project.id,
  name: project.name,
  created_at: seconds(project.createdAt),
  status: project.archivedAt === null ? 'active' : 'archived',
  ...(project.archivedAt !== null && { archived_at: seconds(project.archivedAt) }),
  allowed_models: project.deniedModels
    ? modelsThere.filter((id) => !project.deniedModels?.includes(id))
    : project.allowedModels,
  model_aliases: project.modelAliases,
});

/** The project that a step is about, and the refusal where there is none. */
export const projectOf = (world: World, chosen: Who, wanted: Target) => {
  const { projects } = tenantOf(world, chosen);
  const project_id = idOf(wanted, projects.values(), otherOf(world, chosen).projects.values());
  const project = projects.get(project_id);
  return { ids: { project_id }, project, missing: project ? null : '404 project_not_found' };
};

/** What follows from an archive: every key that is not revoked is. */
export const archived = (project: Project, at: number): AuditEntry[] => {
  project.archivedAt = at;
  const entries: AuditEntry[] = [];
  for (const key of project.keys.values()) {
    if (key.state === 'revoked') continue;
    key.state = 'revoked';
    entries.push({ type: 'api_key.deleted', resource: key.id, actor: 'reactions' });
  }
  return entries;
};

const createProject = command({
  name: 'create project',
  args: fc.record({
    who,
    name: fc.oneof({ weight: 9, arbitrary: name }, { weight: 1, arbitrary: fc.constantFrom('', ' ', 'x'.repeat(121)) }),
    key: idempotencyKey,
  }),
  async run(world, { who: chosen, name: called, key }) {
    const tenant = tenantOf(world, chosen);
    const trimmed = called.trim();
    const request = {
      method: 'POST',
      path: '/projects',
      permission: 'projects:write',
      body: { name: called },
      idempotencyKey: key,
    } as const;
    await create(world, chosen, request, {
      before: trimmed.length >= 1 && trimmed.length <= 120 ? null : '422 validation_failed name',
      refusal: () => null,
      hasValue: false,
      made(body) {
        const project: Project = {
          id: String(body.id),
          name: trimmed,
          createdAt: world.now,
          archivedAt: null,
          allowedModels: null,
          deniedModels: null,
          perDay: null,
          spendLimit: null,
          spent: 0,
          modelAliases: {},
          keys: new Map(),
        };
        tenant.projects.set(project.id, project);
        expect(body).toEqual(shownProject(project));
        return { type: 'project.created', stands: () => project.archivedAt === null };
      },
    });
  },
});

const listProjects = command({
  name: 'list projects',
  args: fc.record({ who, paging, archived: fc.option(fc.boolean(), { nil: undefined }) }),
  async run(world, { who: chosen, paging: page, archived: wanted }) {
    const { projects } = tenantOf(world, chosen);
    await list(
      world,
      chosen,
      { method: 'GET', path: '/projects', permission: 'projects:read' },
      {
        paging: page,
        query: wanted === undefined ? [] : [`include_archived=${wanted}`],
        all: [...projects.values()],
        foreign: [...otherOf(world, chosen).projects.values()],
        isShown: (id) => wanted === true || projects.get(id)?.archivedAt === null,
        item: (id) => shownProject(projects.get(id) as Project),
        refusal: null,
      },
    );
  },
});

const retrieveProject = command({
  name: 'retrieve project',
  args: fc.record({ who, target }),
  async run(world, { who: chosen, target: wanted }) {
    const { ids, project, missing } = projectOf(world, chosen, wanted);
    const answer = await expectOf(world, chosen, { method: 'GET', path, permission: 'projects:read', ids }, missing);
    if (answer) expect(answer.body).toEqual(shownProject(project as Project));
  },
});

const models = fc.option(fc.subarray(['a', 'b', 'c']), { nil: null });
/** `weir-sim-1` is the id of a model. */
const aliases = fc.dictionary(fc.constantFrom('x', 'y-*', 'weir-sim-1'), fc.constantFrom('a', 'b'), {
  noNullPrototype: true,
});
const changes = fc.oneof(
  fc.record({ name }),
  fc.record({ allowed_models: models }),
  fc.record({ name, allowed_models: models }),
  fc.record({ model_aliases: aliases }),
  fc.record({ name, allowed_models: models, model_aliases: aliases }),
);

const updateProject = command({
  name: 'update project',
  args: fc.record({ who, target, body: changes }),
  async run(world, { who: chosen, target: wanted, body }) {
    const tenant = tenantOf(world, chosen);
    const { ids, project, missing } = projectOf(world, chosen, wanted);
    const { model_aliases: names } = body as { readonly model_aliases?: Readonly<Record<string, string>> };
    const taken = names && 'weir-sim-1' in names ? '409 model_alias_taken model_aliases' : null;
    const refusal = missing ?? (project?.archivedAt === null ? taken : '409 project_archived');
    const request = { method: 'POST', path, permission: 'projects:write', ids, body } as const;
    const answer = await expectOf(world, chosen, request, refusal);
    if (!answer || !project) return world.happened(tenant, []);
    const { name: called = project.name, allowed_models: allowed = project.allowedModels } = body as {
      readonly name?: string;
      readonly allowed_models?: readonly string[] | null;
    };
    const changed = [project.name !== called.trim(), String(project.allowedModels) !== String(allowed)];
    // An empty list is not none.
    if ((project.allowedModels === null) !== (allowed === null)) changed[1] = true;
    if ('allowed_models' in body) {
      changed[1] ||= project.deniedModels !== null;
      project.deniedModels = null;
    }
    if (names) {
      const inOrder = (each: object) => JSON.stringify(Object.entries(each).sort());
      changed.push(inOrder(project.modelAliases) !== inOrder(names));
      project.modelAliases = names;
    }
    project.name = called.trim();
    project.allowedModels = allowed;
    expect(answer.body).toEqual(shownProject(project));
    await world.happened(
      tenant,
      changed.flatMap((isNew) =>
        isNew ? [{ type: 'project.updated', resource: project.id, actor: callerOf(world, chosen).id }] : [],
      ),
    );
  },
});

const permissions = fc.oneof(
  fc.constant(null),
  fc.record({ mode: fc.constantFrom('allow_list', 'deny_list'), model_ids: fc.subarray(['a', 'b', 'weir-sim-1']) }),
);

const permitModels = command({
  name: 'permit models',
  args: fc.record({ who, target, body: permissions }),
  async run(world, { who: chosen, target: wanted, body }) {
    const tenant = tenantOf(world, chosen);
    const { ids, project, missing } = projectOf(world, chosen, wanted);
    const refusal = missing ?? (project?.archivedAt === null ? null : '409 project_archived');
    const request = { path: `${path}/model_permissions`, permission: 'projects:write', ids } as const;
    const how = body === null ? ({ method: 'DELETE' } as const) : ({ method: 'POST', body } as const);
    const answer = await expectOf(world, chosen, { ...request, ...how }, refusal);
    if (!answer || !project) return world.happened(tenant, []);
    const object = 'project.model_permissions';
    expect(answer.body).toEqual(body === null ? { object: `${object}.deleted`, deleted: true } : { object, ...body });
    const before = JSON.stringify([project.allowedModels, project.deniedModels]);
    const { mode, model_ids: models } = body ?? { mode: 'deny_list', model_ids: [] };
    project.allowedModels = mode === 'allow_list' ? models : null;
    project.deniedModels = mode === 'deny_list' && models.length > 0 ? models : null;
    const isSame = before === JSON.stringify([project.allowedModels, project.deniedModels]);
    const entry = { type: 'model_permissions.updated', resource: project.id, actor: callerOf(world, chosen).id };
    await world.happened(tenant, isSame ? [] : [entry]);
    const shown = {
      object,
      ...(project.allowedModels
        ? { mode: 'allow_list', model_ids: project.allowedModels }
        : { mode: 'deny_list', model_ids: project.deniedModels ?? [] }),
    };
    const read = await expectOf(world, chosen, { ...request, method: 'GET', permission: 'projects:read' }, null);
    if (read) expect(read.body).toEqual(shown);
  },
});

const limitProject = command({
  name: 'limit project',
  args: fc.record({ who, target, perDay: fc.constantFrom(7, 8, null) }),
  async run(world, { who: chosen, target: wanted, perDay }) {
    const tenant = tenantOf(world, chosen);
    const { ids, project, missing } = projectOf(world, chosen, wanted);
    const refusal = missing ?? (project?.archivedAt === null ? null : '409 project_archived');
    const one = { ...ids, rate_limit_id: 'rl-*' };
    const body = { max_requests_per_1_day: perDay };
    const rows = `${path}/rate_limits`;
    const request = { method: 'POST', path: `${rows}/{rate_limit_id}`, permission: 'projects:write' } as const;
    const answer = await expectOf(world, chosen, { ...request, ids: one, body }, refusal);
    const isSame = project?.perDay === perDay;
    if (answer && project) project.perDay = perDay;
    const entry = { type: 'rate_limit.updated', resource: String(project?.id), actor: callerOf(world, chosen).id };
    await world.happened(tenant, !answer || isSame ? [] : [entry]);
    const read = { method: 'GET', path: rows, permission: 'projects:read', ids } as const;
    const list = await expectOf(world, chosen, read, missing);
    const shown = { id: 'rl-*', max_requests_per_1_day: project?.perDay ?? expect.any(Number) };
    if (list) expect((list.body.data as object[])[0]).toMatchObject(shown);
  },
});

const archiveProject = command({
  name: 'archive project',
  args: fc.record({ who, target }),
  async run(world, { who: chosen, target: wanted }) {
    const tenant = tenantOf(world, chosen);
    const { ids, project, missing } = projectOf(world, chosen, wanted);
    const request = { method: 'POST', path: `${path}/archive`, permission: 'projects:write', ids } as const;
    const answer = await expectOf(world, chosen, request, missing);
    if (!answer || !project) return world.happened(tenant, []);
    expect(answer.body).toEqual({ id: project.id, object: 'organization.project.deleted', deleted: true });
    if (project.archivedAt !== null) return world.happened(tenant, []);
    const follows = archived(project, world.now);
    await world.happened(tenant, [
      { type: 'project.archived', resource: project.id, actor: callerOf(world, chosen).id },
      ...follows,
    ]);
    for (const key of project.keys.values()) expect(statusOf(key, project, world.now)).toBe('revoked');
  },
});

export const projectSteps = [
  { weight: 6, arbitrary: createProject },
  { weight: 2, arbitrary: listProjects },
  { weight: 1, arbitrary: retrieveProject },
  { weight: 2, arbitrary: updateProject },
  { weight: 2, arbitrary: permitModels },
  { weight: 2, arbitrary: limitProject },
  { weight: 1, arbitrary: archiveProject },
];
