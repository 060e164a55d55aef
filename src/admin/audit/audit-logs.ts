import { z } from 'zod';
import type { AuditRow } from '../../../projections/audit-log.ts';
import { projectKeyOf, projectRows } from '../../../projections/projects.ts';
import { type AuditType, auditTypes } from '../../audit/entry.ts';
import { seconds } from '../../clock.ts';
import { fault } from '../../errors.ts';
import { flag, many, text, wholeNumber } from '../../http/request/query.ts';
import type { Route } from '../../http/route.ts';
import type { Actor } from '../../kernel/store/store.ts';
import { adminRoute } from '../admin-route.ts';
import type { Administration } from '../command.ts';
import { directionOf, listOf, newestFirstQuery, pageOf } from '../page.ts';
import { countOf, findEntries, spanBetween } from './audit-search.ts';

const actorTypes = ['api_key', 'oauth_client', 'operator', 'system'] as const;
const named = z.object({ id: z.string() });
/** The field named by `type` has the details of the actor. */
export const actorObject = z
  .object({
    type: z.enum(actorTypes),
    api_key: named.optional(),
    oauth_client: named.optional(),
    operator: named
      .extend({
        host: z.string().optional(),
        command: z.string().optional(),
        name: z.string().optional(),
        reason: z.string().optional(),
      })
      .optional(),
    system: named.optional(),
  })
  .meta({ id: 'AuditLogActor' });

const fields = z.record(z.string(), z.unknown());
const details = z
  .object({ id: z.string(), data: fields.optional(), changes_requested: fields.optional() })
  .meta({ id: 'AuditLogDetails' });

/** The `openai` SDK reads the details from the field named by `type`. */
const entryObject = z
  .object({
    id: z.string(),
    type: z.enum(auditTypes),
    effective_at: z.int(),
    actor: actorObject,
    project: z.object({ id: z.string(), name: z.string() }).optional(),
    ip_address: z.string().nullable(),
    request_id: z.string().nullable(),
    ...Object.fromEntries(auditTypes.map((type) => [type, details.optional()])),
  })
  .meta({ id: 'AuditLog' });

const value = text(1, 200);
const moment = wholeNumber(0, 999_999_999_999);
const query = z.object({
  ...newestFirstQuery,
  // Unspecified: unknown types are accepted, since clients filter by types of the API that Weir imitates.
  event_types: many(value).optional(),
  project_ids: many(value).optional(),
  actor_ids: many(value).optional(),
  resource_ids: many(value).optional(),
  request_ids: many(value).optional(),
  // For the SDK: entries have no e-mail addresses, so this matches nothing.
  actor_emails: many(text(1, 320)).optional(),
  // Unspecified: entries of a tenant above the organizations. There are none.
  tenant_only: flag(),
  effective_at: z
    .strictObject({ gt: moment.optional(), gte: moment.optional(), lt: moment.optional(), lte: moment.optional() })
    .optional(),
});

export interface AuditEntry {
  readonly id: string;
  readonly type: AuditType;
  readonly [field: string]: unknown;
}

export const renderActor = ({ type, ...who }: Actor): z.infer<typeof actorObject> => ({ type, [type]: who });

/** Unspecified: actors that are not API keys have the same form; unknown values are null. */
export const auditEntry = (
  row: AuditRow,
  project: { readonly id: string; readonly name: string } | undefined,
): AuditEntry => ({
  id: row.id,
  type: row.type,
  effective_at: seconds(row.at),
  actor: renderActor(row.actor),
  ...(project && { project: { id: project.id, name: project.name } }),
  ip_address: row.ip,
  request_id: row.requestId,
  [row.type]: {
    id: row.resourceId,
    ...(row.data && { data: row.data }),
    ...(row.changesRequested && { changes_requested: row.changesRequested }),
  },
});

/** `GET /v1/organization/audit_logs` (contract C.6). */
export const auditLogRoutes = ({ models }: Administration): Route[] => [
  adminRoute('audit_logs:read', {
    method: 'GET',
    path: '/v1/organization/audit_logs',
    operation: 'listAuditLogs',
    summary: 'List what happened to the organization and all that it has, newest first',
    query,
    replies: { 200: { description: 'A page of entries', schema: listOf(entryObject) } },
    errors: ['invalid_cursor'],
    async handle({ principal, query }) {
      const { organizationId } = principal;
      const between = spanBetween(models, organizationId, query, countOf(models, organizationId), (cursor) =>
        fault('invalid_cursor', { param: `query.${cursor}` }),
      );
      const span = { ...between, order: directionOf(query) };
      const projectOf = ({ projectId }: AuditRow) =>
        projectId === null ? undefined : models.get(projectRows, projectKeyOf(organizationId, projectId));
      const isOfNobody = query.tenant_only || query.actor_emails !== undefined;
      const found = isOfNobody ? [] : await findEntries(models, organizationId, span, query, query.limit + 1);
      return pageOf(query, found, (row) => auditEntry(row, projectOf(row)));
    },
  }),
];
