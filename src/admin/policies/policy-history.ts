import { z } from 'zod';
import { policyVersionRows } from '../../../projections/policies.ts';
import { type PolicyDecisionRow, policyDecisionRows } from '../../../projections/policy-decisions.ts';
import { seconds } from '../../clock.ts';
import { decisionSeconds } from '../../domain/policy/decision-events.ts';
import { directions } from '../../domain/policy/policy-terms.ts';
import type { Route } from '../../http/route.ts';
import type { Administration } from '../command.ts';
import { listOf, newestFirstQuery, page, pageQuery } from '../page.ts';
import { renderVersion, versionObject } from './policy-object.ts';
import { onPolicy, policyRoute } from './policy-route.ts';

/** Milliseconds (contract B.7). */
const keptMs = decisionSeconds * 1000;

const verdict = z.enum(['monitored', 'blocked', 'error']);
const decisionObject = z
  .object({
    object: z.literal('organization.policy.decision'),
    id: z.string(),
    policy_id: z.string(),
    version: z.int(),
    direction: z.enum(directions),
    verdict,
    score_basis_points: z.int().nullable(),
    request_id: z.string(),
    project_id: z.string(),
    api_key_id: z.string(),
    created_at: z.int(),
  })
  .meta({ id: 'PolicyDecision' });

const renderDecision = (row: PolicyDecisionRow) => ({
  object: 'organization.policy.decision',
  id: row.id,
  policy_id: row.policyId,
  version: row.version,
  direction: row.direction,
  verdict: row.verdict,
  score_basis_points: row.scoreBasisPoints,
  request_id: row.requestId,
  project_id: row.projectId,
  api_key_id: row.apiKeyId,
  created_at: seconds(row.createdAt),
});

export const policyHistory = (admin: Administration): Route[] => {
  const { clock, models } = admin;

  const versions = policyRoute('policies:read', {
    ...onPolicy(admin),
    method: 'GET',
    path: '/v1/organization/policies/{policy_id}/versions',
    operation: 'listPolicyVersions',
    summary: 'List the published versions of a policy',
    query: z.object(pageQuery),
    replies: { 200: { description: 'A page of versions', schema: listOf(versionObject) } },
    errors: ['policy_not_found', 'invalid_cursor'],
    handle: ({ found, query }) =>
      page(models, {
        rows: policyVersionRows,
        all: policyVersionRows,
        prefix: `${found.id}:`,
        query,
        render: (version) => renderVersion(version, found.data.current),
      }),
  });

  const decisions = policyRoute('policies:read', {
    ...onPolicy(admin),
    method: 'GET',
    path: '/v1/organization/policies/{policy_id}/decisions',
    operation: 'listPolicyDecisions',
    summary: 'List what a policy has decided in the last 30 days, newest first',
    query: z.object({ ...newestFirstQuery, verdict: verdict.optional() }),
    replies: { 200: { description: 'A page of decisions, without any content', schema: listOf(decisionObject) } },
    errors: ['policy_not_found', 'invalid_cursor'],
    handle({ found, query }) {
      const oldest = clock.wall() - keptMs;
      return page(models, {
        rows: policyDecisionRows,
        all: policyDecisionRows,
        prefix: `${found.id}:`,
        query,
        wanted: (row) => row.createdAt > oldest && (query.verdict === undefined || row.verdict === query.verdict),
        render: renderDecision,
      });
    },
  });

  return [versions, decisions];
};
