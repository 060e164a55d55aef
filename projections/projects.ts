import { type Project, type ProjectEvent, permitted, project } from '../src/domain/project/project.ts';
import { type RateLimitRows, rowOfEvent } from '../src/domain/project/rate-limits.ts';
import { compile } from '../src/kernel/aggregate/chart.ts';
import type { Projection } from '../src/kernel/projections/projection.ts';
import { table } from '../src/kernel/rows/rows.ts';
import { eventOf, idOf, nextStatus } from './recorded.ts';

/** Times in milliseconds. */
export interface ProjectRow extends Omit<Project, 'liveKeys' | 'rateLimits'> {
  readonly id: string;
  readonly status: 'active' | 'archived';
  readonly rateLimits: RateLimitRows;
}

/** Key: `<organization>:<project>`. */
export const projectRows = table<ProjectRow>('projects');
/** Without the archived ones, so that pages stay cheap. */
export const activeProjectRows = table<ProjectRow>('projects-active');
/** Of active projects with aliases of models, which are few. */
export const aliasedProjectRows = table<Pick<ProjectRow, 'modelAliases'>>('projects-aliased');
export const projectOwners = table<{ readonly organizationId: string; readonly status: string }>('project-owners');

export const projectKeyOf = (organizationId: string, projectId: string): string => `${organizationId}:${projectId}`;

const chart = compile(project);

export const projects: Projection = {
  name: 'projects',
  version: 6,
  categories: ['project'],
  tables: [projectRows, activeProjectRows, aliasedProjectRows, projectOwners],
  apply(recorded, rows) {
    const id = idOf(recorded);
    const event = eventOf<ProjectEvent>(recorded);
    const owner = rows.get(projectOwners, id);
    const status = nextStatus(chart, id, owner?.status ?? 'absent', event) as ProjectRow['status'];
    if (event.type === 'project.key_issued' || event.type === 'project.key_ended') return;
    const organizationId = event.type === 'project.created' ? event.organization_id : (owner?.organizationId ?? '');
    const key = projectKeyOf(organizationId, id);
    const before = rows.get(projectRows, key);
    const row = next(before, id, status, event);
    rows.put(projectOwners, id, { organizationId, status });
    rows.put(projectRows, key, row);
    if (status === 'active') rows.put(activeProjectRows, key, row);
    else rows.remove(activeProjectRows, key);
    if (status === 'active' && hasAliases(row)) rows.put(aliasedProjectRows, key, { modelAliases: row.modelAliases });
    else if (before && hasAliases(before)) rows.remove(aliasedProjectRows, key);
  },
};

const hasAliases = ({ modelAliases }: ProjectRow): boolean => Object.keys(modelAliases).length > 0;

const unset = {
  archivedAt: null,
  allowedModels: null,
  deniedModels: null,
  modelAliases: {},
  rateLimits: {},
  spendLimit: null,
};

const next = (
  before: ProjectRow | undefined,
  id: string,
  status: ProjectRow['status'],
  event: Exclude<ProjectEvent, { type: 'project.key_issued' | 'project.key_ended' }>,
): ProjectRow => {
  if (event.type === 'project.created') {
    const { organization_id: organizationId, name, created_at: createdAt } = event;
    return { id, organizationId, name, status, createdAt, ...unset };
  }
  if (!before) throw new Error(`${event.type} of a project that has no row: ${id}`);
  switch (event.type) {
    case 'project.updated':
      return { ...before, name: event.name };
    case 'project.models_allowed':
      return { ...before, allowedModels: event.models, deniedModels: null };
    case 'project.model_permissions_updated':
      return { ...before, ...permitted(event) };
    case 'project.models_aliased':
      return { ...before, modelAliases: event.aliases };
    case 'project.rate_limit_updated': {
      const { [event.model]: _, ...others } = before.rateLimits;
      const row = rowOfEvent(event);
      return { ...before, rateLimits: row ? { ...others, [event.model]: row } : others };
    }
    case 'project.spend_limited':
      return { ...before, spendLimit: event.limit };
    case 'project.archived':
      return { ...before, status, archivedAt: event.archived_at };
  }
};
