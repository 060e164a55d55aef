import { z } from 'zod';
import { organizationRows } from '../../../projections/organizations.ts';
import type { ProjectRow } from '../../../projections/projects.ts';
import type { AdminPrincipal } from '../../data/access/principal.ts';
import { limitsFor } from '../../domain/organization/tiers.ts';
import { noRateLimits, type RateLimits, wholeProject } from '../../domain/project/rate-limits.ts';
import { fault } from '../../errors.ts';
import * as queries from '../../http/request/query.ts';
import type { Route } from '../../http/route.ts';
import type { TiersInForce } from '../../limits/tiers/tiers-in-force.ts';
import { adminRoute } from '../admin-route.ts';
import { type Administration, contextOf, execute, waitForProjection } from '../command.ts';
import { ownLimit, pathId } from '../fields.ts';
import { directionOf, listOf, type PageQuery, pageOf, pageQuery } from '../page.ts';
import { allowedOf, findProject, type ModelsOf, projectParams } from './projects.ts';

const rateLimitObject = z
  .object({
    object: z.literal('project.rate_limit'),
    id: z.string(),
    model: z.string(),
    max_requests_per_1_minute: z.int(),
    max_tokens_per_1_minute: z.int(),
    max_requests_per_1_day: z.int(),
  })
  .meta({ id: 'ProjectRateLimit' });

type Tier = Readonly<Record<keyof RateLimits, number>>;

/** A slash would divide a path; no id of a model has a tilde. */
const idOf = (model: string): string => `rl-${model.replaceAll('/', '~')}`;

interface Row {
  readonly id: string;
  readonly model: string;
  readonly own: RateLimits;
}

const rowOf =
  ({ rateLimits }: Pick<ProjectRow, 'rateLimits'>) =>
  (model: string): Row => ({ id: idOf(model), model, own: rateLimits[model] ?? noRateLimits });

const render = ({ id, model, own }: Row, tier: Tier): z.infer<typeof rateLimitObject> => ({
  object: 'project.rate_limit',
  id,
  model,
  max_requests_per_1_minute: own.requestsPerMinute ?? tier.requestsPerMinute,
  max_tokens_per_1_minute: own.tokensPerMinute ?? tier.tokensPerMinute,
  max_requests_per_1_day: own.requestsPerDay ?? tier.requestsPerDay,
});

/** The rows of a page, and one more if there are more. @throws Fault 400 `invalid_cursor` */
const pageRows = (rows: readonly Row[], query: PageQuery, isCursor: (id: string) => boolean): readonly Row[] => {
  const { after, before, order } = query;
  for (const name of ['after', 'before'] as const) {
    const id = query[name];
    if (id !== undefined && !isCursor(id)) throw fault('invalid_cursor', { param: `query.${name}` });
  }
  const isBehind = (a: string, b: string): boolean => (order === 'asc' ? a > b : a < b);
  const found = rows
    .filter(({ id }) => (after === undefined || isBehind(id, after)) && (before === undefined || isBehind(before, id)))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  return (directionOf(query) === 'asc' ? found : found.reverse()).slice(0, query.limit + 1);
};

const path = '/v1/organization/projects/{project_id}/rate_limits';

/** Contract F.8, in the form of `openai`'s `admin.organization.projects.rateLimits`. */
export const rateLimitRoutes = (admin: Administration, tiers: TiersInForce, modelsOf: ModelsOf): Route[] => {
  const tierOf = (organizationId: string): Tier => {
    const tier = admin.models.get(organizationRows, organizationId)?.tier ?? 0;
    const { rpm, tpm, rpd } = limitsFor(tier, 'project', tiers.table);
    return { requestsPerMinute: rpm, tokensPerMinute: tpm, requestsPerDay: rpd };
  };
  /** That the project may call now, behind the project as a whole. */
  const modelsIn = (project: ProjectRow): readonly string[] => {
    const [allowed, there] = [allowedOf(project, modelsOf), modelsOf(project.organizationId)];
    const open = allowed && new Set(allowed);
    return [wholeProject, ...there.filter((id) => open === null || open.has(id))];
  };
  const findProjectOf = findProject(admin);
  const params = projectParams.extend({ rate_limit_id: pathId });

  return [
    adminRoute('projects:read', {
      method: 'GET',
      path,
      operation: 'listProjectRateLimits',
      summary: 'List the rate limits of a project: for all of it, and for each model that it may call',
      params: projectParams,
      find: findProjectOf,
      query: z.object({ ...pageQuery, before: queries.after.optional() }),
      replies: { 200: { description: 'A page of rate limits, by id', schema: listOf(rateLimitObject) } },
      errors: ['project_not_found', 'invalid_cursor', 'validation_failed'],
      handle({ found: project, query }) {
        const tier = tierOf(project.organizationId);
        // Also of models that the project may no longer call, so that a list can be read to its end.
        const known = [wholeProject, ...modelsOf(project.organizationId), ...Object.keys(project.rateLimits)];
        const cursors = new Set(known.map(idOf));
        const rows = pageRows(modelsIn(project).map(rowOf(project)), query, (id) => cursors.has(id));
        return pageOf(query, rows, (row) => render(row, tier));
      },
    }),
    adminRoute('projects:write', {
      method: 'POST',
      path: `${path}/{rate_limit_id}`,
      operation: 'updateProjectRateLimit',
      summary: 'Set limits of a project for one model, or for all of it; they only tighten those of the tier',
      params,
      find(call: { principal: AdminPrincipal; params: z.infer<typeof params> }) {
        const project = findProjectOf(call);
        const model = modelsIn(project).find((each) => idOf(each) === call.params.rate_limit_id);
        if (model === undefined) throw fault('rate_limit_not_found');
        return { project, model };
      },
      body: z.strictObject({
        max_requests_per_1_minute: ownLimit('rpm'),
        max_tokens_per_1_minute: ownLimit('tpm'),
        max_requests_per_1_day: ownLimit('rpd'),
      }),
      replies: { 200: { description: 'The rate limit', schema: rateLimitObject } },
      errors: ['project_not_found', 'rate_limit_not_found', 'project_archived'],
      async handle(call) {
        const { project, model } = call.found;
        const {
          max_requests_per_1_minute: requestsPerMinute,
          max_tokens_per_1_minute: tokensPerMinute,
          max_requests_per_1_day: requestsPerDay,
        } = call.body;
        const tier = tierOf(project.organizationId);
        const values = {
          ...(requestsPerMinute !== undefined && { requestsPerMinute }),
          ...(tokensPerMinute !== undefined && { tokensPerMinute }),
          ...(requestsPerDay !== undefined && { requestsPerDay }),
        };
        const result = await execute(
          () => admin.aggregates.project.dispatch(project.id, 'setRateLimit', { model, values, tier }, contextOf(call)),
          { archived: 'project_archived' },
        );
        await waitForProjection(admin, call, result.head);
        return { status: 200, body: render(rowOf({ rateLimits: result.state.data.rateLimits.toJSON() })(model), tier) };
      },
    }),
  ];
};
