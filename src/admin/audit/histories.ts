import { z } from 'zod';
import { auditSubjects } from '../../../projections/audit-log.ts';
import { ownersAt, standingIn, withLimitsInForce } from '../../audit/effective.ts';
import { type Step, takenBy } from '../../audit/history.ts';
import { pastOf } from '../../audit/past.ts';
import type { Millis } from '../../clock.ts';
import type { AdminPrincipal } from '../../data/access/principal.ts';
import { type Code, fault } from '../../errors.ts';
import { wholeNumber } from '../../http/request/query.ts';
import type { Route } from '../../http/route.ts';
import type { RowReader } from '../../kernel/rows/rows.ts';
import { type AdminCall, adminRoute } from '../admin-route.ts';
import { type Administration, contextOf, execute } from '../command.ts';
import { pathId } from '../fields.ts';
import { keyParams } from '../keys/one-project-key.ts';
import { projectParams } from '../organization/projects.ts';
import { listOf, pageOf, pageQuery } from '../page.ts';
import { policyParams, policyRoute } from '../policies/policy-route.ts';
import { historyEvent, historyId, historyState, renderEvent, renderState } from './history-object.ts';

const at = wholeNumber(0, 999_999_999_999)
  .describe('Unix seconds; all that happened in that second is in it')
  .optional();
const query = z.object({ ...pageQuery, at });
type Query = z.infer<typeof query>;

const historyPage = listOf(historyEvent, { state: historyState.nullable().describe('Null before it existed') });

const adminKeyParams = z.object({ api_key_id: pathId });

interface Found {
  readonly id: string;
  readonly projectId: string | undefined;
}

type HistoryCall = AdminCall<unknown, Query, undefined, Found>;

interface Row {
  readonly id: string;
  readonly step: Step;
  readonly before: Step | null;
}

const rowsOf = (steps: readonly Step[], { after, order, limit }: Query): Row[] => {
  const rows = steps.map((step, i): Row => ({ id: historyId(step), step, before: steps[i - 1] ?? null }));
  if (order === 'desc') rows.reverse();
  const from = after === undefined ? 0 : rows.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && from === 0) throw fault('invalid_cursor', { param: 'query.after' });
  return rows.slice(from, from + limit + 1);
};

/** Finds resources of the caller's organization, deleted ones too. @throws Fault 404 */
const owned = (models: RowReader, { organizationId }: AdminPrincipal, kind: string, id: string, code: Code): Found => {
  const subject = id.startsWith(`${kind}_`) ? models.get(auditSubjects, id) : undefined;
  if (subject?.organizationId !== organizationId) throw fault(code);
  return { id, projectId: subject.projectId };
};

const answer = ({ clock, store }: Administration, call: HistoryCall) =>
  execute(async () => {
    const { found, query } = call;
    const now = clock.wall();
    const moment: Millis = Math.min(now, query.at === undefined ? now : query.at * 1000 + 999);
    const past = pastOf(store, { budget: contextOf(call).budget });
    const life = await past.life(found.id);
    const taken = life.slice(0, takenBy(life, { time: moment }));
    const last = taken.at(-1);
    const shown = last && (await withLimitsInForce(past, last, moment));
    const state = shown
      ? renderState(shown, await standingIn(past, shown, moment), await ownersAt(past, shown, moment), moment)
      : null;
    const rows = rowsOf(taken, query);
    return pageOf(query, rows, ({ step, before }) => renderEvent(before, step), { state });
  });

/** `GET …/history` (contract C.7). Finds deleted resources, too. */
export const historyRoutes = (admin: Administration): Route[] => {
  const { models } = admin;

  const shared = (errors: readonly Code[]) => ({
    method: 'GET' as const,
    query,
    replies: { 200: { description: 'The state at that moment, and a page of the changes', schema: historyPage } },
    errors: ['invalid_cursor', ...errors] as const,
    handle: (call: HistoryCall) => answer(admin, call),
  });

  return [
    adminRoute('audit_logs:read', {
      ...shared([]),
      path: '/v1/organization/history',
      operation: 'listOrganizationHistory',
      summary: 'What the organization was at a moment, and every change of it up to then',
      find: ({ principal }): Found => ({ id: principal.organizationId, projectId: undefined }),
    }),
    adminRoute('audit_logs:read', {
      ...shared(['project_not_found']),
      path: '/v1/organization/projects/{project_id}/history',
      operation: 'listProjectHistory',
      summary: 'What a project was at a moment, and every change of it up to then',
      params: projectParams,
      find: ({ principal, params }) => owned(models, principal, 'proj', params.project_id, 'project_not_found'),
    }),
    adminRoute('audit_logs:read', {
      ...shared(['project_not_found', 'api_key_not_found']),
      path: '/v1/organization/projects/{project_id}/api_keys/{api_key_id}/history',
      operation: 'listProjectApiKeyHistory',
      summary: 'What an API key was at a moment and whether it could act, and every change of it up to then',
      params: keyParams,
      find({ principal, params }) {
        const project = owned(models, principal, 'proj', params.project_id, 'project_not_found');
        const key = owned(models, principal, 'key', params.api_key_id, 'api_key_not_found');
        if (key.projectId !== project.id) throw fault('api_key_not_found');
        return key;
      },
    }),
    adminRoute('audit_logs:read', {
      ...shared(['admin_api_key_not_found']),
      path: '/v1/organization/admin_api_keys/{api_key_id}/history',
      operation: 'listAdminApiKeyHistory',
      summary: 'What an Admin API key was at a moment, deleted ones too, and every change of it up to then',
      params: adminKeyParams,
      find: ({ principal, params }) => owned(models, principal, 'akey', params.api_key_id, 'admin_api_key_not_found'),
    }),
    policyRoute('audit_logs:read', {
      ...shared(['policy_not_found']),
      path: '/v1/organization/policies/{policy_id}/history',
      operation: 'listPolicyHistory',
      summary: 'What a policy was at a moment, deleted ones too, and every change of it up to then',
      params: policyParams,
      find: ({ principal, params }) => owned(models, principal, 'pol', params.policy_id, 'policy_not_found'),
    }),
  ];
};
