import { z } from 'zod';
import { organizationRows } from '../../../projections/organizations.ts';
import { type ProjectKeyRow, projectKeyRows } from '../../../projections/project-keys.ts';
import { type Millis, seconds } from '../../clock.ts';
import type { ProjectKey } from '../../domain/key/project-key.ts';
import type { Route } from '../../http/route.ts';
import type { ReadModels } from '../../kernel/projections/projection.ts';
import { type Inspection, idle, inspect, inspectModels } from '../../limits/inspect.ts';
import { metricNames, type ScopeName } from '../../limits/record/metrics.ts';
import type { WindowStore } from '../../limits/window/window-store.ts';
import type { Windows } from '../../limits/windows.ts';
import { adminRoute } from '../admin-route.ts';
import type { Administration } from '../command.ts';
import { oneProjectKey } from './one-project-key.ts';
import { statusOf } from './project-key-object.ts';

const scopeNames = ['api_key', 'project', 'organization'] as const;
const metric = z.enum(metricNames);

const scopeObject = z
  .object({
    scope: z.enum(scopeNames),
    id: z.string(),
    model: z
      .string()
      .optional()
      .describe(
        'A model that has limits in the project: what the project has sent to it. Absent for the scope as a whole.',
      ),
    windows: z.array(
      z.object({
        metric,
        limit: z.int(),
        used: z.int(),
        remaining: z.int(),
        /** Null for requests in flight. */
        resets_in_seconds: z.number().nullable(),
      }),
    ),
    last_refusal: z.object({ metrics: z.array(metric), at: z.int() }).nullable(),
  })
  .meta({ id: 'ApiKeyLimitScope' });

/** Unspecified: the shape, as no imitated API has this endpoint. Times are seconds. */
export const keyLimitsObject = z
  .object({
    object: z.literal('organization.project.api_key.limits'),
    api_key_id: z.string(),
    shared_with: z
      .array(z.string())
      .describe('Keys that work and are counted in the same windows: those that it was rotated from or to.'),
    tier: z.int(),
    last_refusal: z
      .object({
        at: z.int(),
        limits: z.array(z.object({ scope: z.enum(scopeNames), model: z.string().optional(), metric })),
      })
      .nullable()
      .describe('The limits that refused last, of those of inference.'),
    scopes: z.array(scopeObject),
    credits: z.array(scopeObject).describe('The limits of GET /v1/credits, which has its own.'),
  })
  .meta({ id: 'ProjectApiKeyLimits' });
type Scope = z.infer<typeof scopeObject>;

const render = ({ scope, id, model, windows, lastRefusal }: Inspection, wall: Millis): Scope => ({
  scope: scope === 'project' || scope === 'organization' ? scope : 'api_key',
  id,
  ...(model !== undefined && { model }),
  windows: windows.map((window) => ({
    metric: window.metric,
    limit: window.limit,
    used: window.used,
    remaining: window.remaining,
    resets_in_seconds: window.resetMs === null ? null : window.resetMs / 1000,
  })),
  last_refusal:
    lastRefusal === null ? null : { metrics: [...lastRefusal.metrics], at: seconds(wall - lastRefusal.agoMs) },
});

const latest = (scopes: readonly Scope[]) => {
  const at = Math.max(...scopes.map(({ last_refusal: refusal }) => refusal?.at ?? Number.NEGATIVE_INFINITY));
  if (!Number.isFinite(at)) return null;
  const limits = scopes.flatMap(({ scope, model, last_refusal: refusal }) =>
    refusal?.at === at
      ? refusal.metrics.map((refused) => ({ scope, ...(model !== undefined && { model }), metric: refused }))
      : [],
  );
  return { at, limits };
};

/** The other keys of its chain of rotations, oldest first. */
const lineOf = (models: Pick<ReadModels, 'get'>, key: ProjectKeyRow): ProjectKeyRow[] => {
  const along = (next: (data: ProjectKey) => string | null): ProjectKeyRow[] => {
    const found: ProjectKeyRow[] = [];
    for (let id = next(key.data); id !== null; ) {
      const row = models.get(projectKeyRows, `${key.data.projectId}:${id}`);
      if (!row) break;
      found.push(row);
      id = next(row.data);
    }
    return found;
  };
  return [...along(({ rotatedFrom }) => rotatedFrom).reverse(), ...along(({ rotatedTo }) => rotatedTo)];
};

/** `GET …/api_keys/{api_key_id}/limits` (contract F). */
export const keyLimitsRoute = (admin: Administration, { inference, credits }: Windows): Route => {
  const { clock, models } = admin;
  return adminRoute('project_api_keys:read', {
    method: 'GET',
    path: '/v1/organization/projects/{project_id}/api_keys/{api_key_id}/limits',
    operation: 'retrieveProjectApiKeyLimits',
    summary: 'Show what every rate limit of a key, its project and the organization says now, and which refused last',
    ...oneProjectKey(admin),
    replies: { 200: { description: 'The windows', schema: keyLimitsObject } },
    errors: ['project_not_found', 'api_key_not_found'],
    handle({ found, principal }) {
      const { organizationId } = principal;
      const tier = models.get(organizationRows, organizationId)?.tier ?? 0;
      const [now, wall] = [clock.monotonic(), clock.wall()];
      const ids: Partial<Record<ScopeName, string>> = {
        key: found.key.data.windowsOf ?? found.key.id,
        project: found.project.id,
        organization: organizationId,
      };
      const all = (store: WindowStore, tierOfStore: number): Scope[] =>
        store.scopes.map((scope) => {
          const id = ids[scope] ?? '';
          const { id: _, ...view } =
            inspect(store, scope, id, now) ?? idle(store, scope, id, organizationId, tierOfStore);
          // All keys of a chain of rotations share the windows of its first key; the answer has the id that was asked for.
          return render({ ...view, id: scope === 'key' ? found.key.id : id }, wall);
        });
      const ofModels = inspectModels(inference, found.project.id, organizationId, tier, now);
      const scopes = [...all(inference, tier), ...ofModels.map((view) => render(view, wall))];
      const body: z.infer<typeof keyLimitsObject> = {
        object: 'organization.project.api_key.limits',
        api_key_id: found.key.id,
        shared_with: lineOf(models, found.key)
          .filter((row) => statusOf(row, found.project, wall) === 'active')
          .map(({ id }) => id),
        tier,
        last_refusal: latest(scopes),
        scopes,
        credits: all(credits, 0),
      };
      return { status: 200, body };
    },
  });
};
