import { z } from 'zod';
import { organizationRows } from '../../../projections/organizations.ts';
import { projectKeyRows } from '../../../projections/project-keys.ts';
import { projectKeyOf, projectRows } from '../../../projections/projects.ts';
import { seconds } from '../../clock.ts';
import type { KeptRequests } from '../../data/policy/kept-requests.ts';
import { latestSettlements } from '../../data/policy/latest-accounts.ts';
import { directions } from '../../domain/policy/policy-terms.ts';
import { fault } from '../../errors.ts';
import type { Route } from '../../http/route.ts';
import { whole } from '../../http/validation/whole.ts';
import type { RowReader } from '../../kernel/rows/rows.ts';
import type { Evaluator } from '../../rules/evaluate.ts';
import type { RequestOwner } from '../../rules/text/request-text.ts';
import type { Administration } from '../command.ts';
import { optional } from '../fields.ts';
import { onPolicy, policyRoute } from './policy-route.ts';
import { type Example, replay } from './replay.ts';

const hourMs = 3_600_000;

const exampleObject = z.object({
  request_id: z.string(),
  project_id: z.string(),
  api_key_id: z.string(),
  verdict: z.enum(['matched', 'error']),
  score_basis_points: z.int().nullable(),
  created_at: z.int(),
});
const replayObject = z
  .object({
    object: z.literal('organization.policy.replay'),
    policy_id: z.string(),
    revision: z.int(),
    direction: z.enum(directions),
    from: z.int(),
    to: z.int(),
    complete: z.boolean(),
    requests: z.int(),
    matched: z.int(),
    failed: z.int(),
    undecided: z.int(),
    judged_by_text: z.int(),
    text_kept_seconds: z.int(),
    examples: z.array(exampleObject),
  })
  .meta({ id: 'PolicyReplay' });

const renderExample = ({ requestId, projectId, keyId, verdict, scoreBasisPoints, at }: Example) => ({
  request_id: requestId,
  project_id: projectId,
  api_key_id: keyId,
  verdict,
  score_basis_points: scoreBasisPoints,
  created_at: seconds(at),
});

const ownersOf = (models: RowReader, organizationId: string): ((projectId: string, keyId: string) => RequestOwner) => {
  const known = new Map<string, RequestOwner>();
  const tier = models.get(organizationRows, organizationId)?.tier ?? 0;
  return (projectId, keyId) => {
    const owner = known.get(keyId) ?? {
      project: { id: projectId, name: models.get(projectRows, projectKeyOf(organizationId, projectId))?.name ?? '' },
      key: { id: keyId, name: models.get(projectKeyRows, `${projectId}:${keyId}`)?.data.name ?? '' },
      org: { id: organizationId, tier },
    };
    known.set(keyId, owner);
    return owner;
  };
};

/** `POST …/replay` (contract B.7). */
export const replayRoute = (admin: Administration, evaluator: Evaluator, kept: KeptRequests | null): Route => {
  const { clock, models, store } = admin;
  // One at a time, since a replay takes a large part of the event loop.
  let isRunning = false;

  return policyRoute('policies:publish', {
    ...onPolicy(admin),
    method: 'POST',
    path: '/v1/organization/policies/{policy_id}/replay',
    operation: 'replayPolicy',
    summary: 'Judge the requests of the last hours by the draft, without any effect on them',
    body: z.strictObject({ hours: optional(whole().min(1).max(24)).meta({ default: 24 }) }),
    replies: {
      200: {
        description: 'How many requests the draft would have matched, with examples and without any content',
        schema: replayObject,
      },
    },
    errors: ['policy_not_found', 'server_busy'],
    async handle({ principal: { organizationId }, found, body: { hours = 24 } }) {
      if (isRunning) throw fault('server_busy', { message: 'Another replay is running.' });
      isRunning = true;
      try {
        const { revision, draft } = found.data;
        const { rule, direction, thresholdBasisPoints: atLeast, scope, projectIds } = draft;
        const to = clock.wall();
        const from = to - hours * hourMs;
        const { examples, byText, ...counts } = await replay(
          {
            ...{ rule, direction, atLeast },
            covers: (projectId) => scope === 'organization' || projectIds.includes(projectId),
          },
          {
            ...{ organizationId, from },
            kept: kept?.of(organizationId) ?? [],
            settled: latestSettlements(store, from, to),
            ownerOf: ownersOf(models, organizationId),
          },
          { evaluator, clock },
        );
        return {
          status: 200,
          body: {
            object: 'organization.policy.replay',
            policy_id: found.id,
            revision,
            direction,
            from: seconds(from),
            to: seconds(to),
            ...counts,
            judged_by_text: byText,
            text_kept_seconds: (kept?.keptMs ?? 0) / 1000,
            examples: examples.map(renderExample),
          },
        };
      } finally {
        isRunning = false;
      }
    },
  });
};
