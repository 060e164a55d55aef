import { z } from 'zod';
import { organizationRows } from '../../../projections/organizations.ts';
import { leftOf, spendOf, type Unrecorded } from '../../../projections/spend.ts';
import type { AdminPrincipal } from '../../data/access/principal.ts';
import type { SpendLimit } from '../../domain/usage/spend-limit.ts';
import { type Code, fault } from '../../errors.ts';
import type { Route } from '../../http/route.ts';
import { mostDollars } from '../../http/validation/dollars.ts';
import { whole } from '../../http/validation/whole.ts';
import type { Context } from '../../kernel/commands/actor.ts';
import { adminRoute } from '../admin-route.ts';
import { type Administration, contextOf, execute, organizationConflicts, waitForProjection } from '../command.ts';
import { shownSpend, spendFields } from '../usage/spend-fields.ts';
import { findProject, projectParams } from './projects.ts';

const microsOfCent = 10_000;
const mostCents = mostDollars * 100;

const limitBody = z.strictObject({
  currency: z.literal('USD'),
  interval: z.literal('month'),
  threshold_amount: whole().min(1).max(mostCents).describe('US cents'),
});

const limitObject = <T extends string>(object: T, id: string) =>
  z
    .object({
      object: z.literal(object),
      currency: z.literal('USD'),
      interval: z.literal('month'),
      threshold_amount: z.number().describe('US cents'),
      enforcement: z
        .object({ status: z.enum(['inactive', 'enforcing']) })
        .describe('`enforcing` while nothing is left of the month’s amount'),
    })
    .meta({ id });

const marker = <T extends string>(object: T, id: string) =>
  z.object({ object: z.literal(object), deleted: z.literal(true) }).meta({ id });

interface Found {
  readonly id: string;
  readonly limit: SpendLimit | null;
}

/** Where a limit is: of the organization, or of a project. */
interface Place<Params, T extends string> {
  readonly path: string;
  readonly object: T;
  /** For ids and operations of the OpenAPI document. */
  readonly name: string;
  readonly words: string;
  readonly params?: z.ZodType<Params>;
  readonly find: (call: { readonly principal: AdminPrincipal; readonly params: Params }) => Found;
  readonly missing: readonly Code[];
  readonly conflicts: Readonly<Record<string, Code>>;
  readonly read: 'organization:read' | 'projects:read';
  readonly set: (id: string, limit: SpendLimit | null, context: Context) => Promise<{ readonly head: bigint | null }>;
}

/** In the form of `openai`'s `spendLimit` (contract M.7). */
const limitRoutes = <Params, T extends string>(
  admin: Administration,
  unrecordedOf: Unrecorded,
  place: Place<Params, T>,
): Route[] => {
  const { path, name, words, params, find, missing, conflicts } = place;
  const refused = [...new Set(Object.values(conflicts))];
  const shared = { path, ...(params && { params }), find };
  const limitSchema = limitObject(place.object, `${name}SpendLimit`);
  const deleted = marker(`${place.object}.deleted`, `Deleted${name}SpendLimit`);
  const render = (id: string, limit: SpendLimit) => ({
    object: place.object,
    currency: 'USD',
    interval: 'month',
    threshold_amount: limit.amount / microsOfCent,
    enforcement: {
      status: leftOf(admin.models, [id], limit, unrecordedOf, admin.clock.wall()) > 0 ? 'inactive' : 'enforcing',
    },
  });
  const change = async (call: Parameters<typeof contextOf>[0], id: string, to: SpendLimit | null): Promise<void> => {
    const { head } = await execute(() => place.set(id, to, contextOf(call)), conflicts);
    await waitForProjection(admin, call, head);
  };

  return [
    adminRoute<Params, unknown, undefined, Found>(place.read, {
      ...shared,
      method: 'GET',
      operation: `retrieve${name}SpendLimit`,
      summary: `Show what ${words} may spend in a month`,
      replies: { 200: { description: 'The limit', schema: limitSchema } },
      errors: [...missing, 'spend_limit_not_found'],
      handle({ found }) {
        if (found.limit === null) throw fault('spend_limit_not_found');
        return { status: 200, body: render(found.id, found.limit) };
      },
    }),
    adminRoute<Params, unknown, z.infer<typeof limitBody>, Found>('projects:write', {
      ...shared,
      method: 'POST',
      operation: `update${name}SpendLimit`,
      summary: `Limit what ${words} may spend in a month`,
      body: limitBody,
      replies: { 200: { description: 'The limit', schema: limitSchema } },
      errors: [...missing, ...refused],
      async handle(call) {
        const to: SpendLimit = { amount: call.body.threshold_amount * microsOfCent, interval: 'month' };
        await change(call, call.found.id, to);
        return { status: 200, body: render(call.found.id, to) };
      },
    }),
    adminRoute<Params, unknown, undefined, Found>('projects:write', {
      ...shared,
      method: 'DELETE',
      operation: `delete${name}SpendLimit`,
      summary: `Let ${words} spend without a limit of its own`,
      replies: { 200: { description: 'The deletion marker', schema: deleted } },
      errors: [...missing, 'spend_limit_not_found', ...refused],
      async handle(call) {
        await change(call, call.found.id, null);
        return { status: 200, body: { object: `${place.object}.deleted`, deleted: true } };
      },
    }),
  ];
};

const projectSpend = z
  .object({ object: z.literal('organization.project.spend'), project_id: z.string(), ...spendFields })
  .meta({ id: 'ProjectSpend' });

const projectPath = '/v1/organization/projects/{project_id}';

const spendRoute = (admin: Administration, unrecordedOf: Unrecorded): Route =>
  adminRoute('usage:read', {
    method: 'GET',
    path: `${projectPath}/spend`,
    operation: 'retrieveProjectSpend',
    summary: 'Read what a project has spent, and what its limit leaves',
    params: projectParams,
    find: findProject(admin),
    replies: { 200: { description: 'The spend', schema: projectSpend } },
    errors: ['project_not_found'],
    handle({ found }) {
      const at = admin.clock.wall();
      const spender = { ids: [found.id], limit: found.spendLimit, createdAt: found.createdAt };
      const spend = shownSpend(spendOf(admin.models, spender, unrecordedOf, at), at);
      const body: z.infer<typeof projectSpend> = {
        object: 'organization.project.spend',
        project_id: found.id,
        ...spend,
      };
      return { status: 200, body };
    },
  });

export const spendLimitRoutes = (admin: Administration, unrecordedOf: Unrecorded): Route[] => {
  const { organization, project } = admin.aggregates;
  const findOne = findProject(admin);
  return [
    ...limitRoutes(admin, unrecordedOf, {
      path: '/v1/organization/spend_limit',
      object: 'organization.spend_limit',
      name: 'Organization',
      words: 'the organization',
      find: ({ principal: { organizationId: id } }) => ({
        id,
        limit: admin.models.get(organizationRows, id)?.spendLimit ?? null,
      }),
      missing: [],
      conflicts: organizationConflicts,
      read: 'organization:read',
      set: (id, limit, context) => organization.dispatch(id, 'limitSpend', { limit }, context),
    }),
    ...limitRoutes(admin, unrecordedOf, {
      path: `${projectPath}/spend_limit`,
      object: 'project.spend_limit',
      name: 'Project',
      words: 'a project',
      params: projectParams,
      find(call) {
        const { id, spendLimit: limit } = findOne(call);
        return { id, limit };
      },
      missing: ['project_not_found'],
      conflicts: { archived: 'project_archived' },
      read: 'projects:read',
      set: (id, limit, context) => project.dispatch(id, 'limitSpend', { limit }, context),
    }),
    spendRoute(admin, unrecordedOf),
  ];
};
