import type { PolicyRow } from '../../../projections/policies.ts';
import { hasUnpublishedChanges } from '../../domain/policy/policy.ts';
import type { Policy, PolicyEvent } from '../../domain/policy/policy-events.ts';
import { edited } from '../../domain/policy/policy-terms.ts';
import type { Code } from '../../errors.ts';
import type { Reply, Route } from '../../http/route.ts';
import { newId } from '../../ids.ts';
import type { Context } from '../../kernel/commands/actor.ts';
import type { CommandResult } from '../../kernel/commands/command.ts';
import type { Evaluator } from '../../rules/evaluate.ts';
import type { AdminCall } from '../admin-route.ts';
import { type Administration, contextOf, execute, waitForProjection } from '../command.ts';
import { revisionBody, revisionQuery, updateBody } from './policy-fields.ts';
import { requireActive, requireRule } from './policy-judgement.ts';
import { policyMarker, policyObject, renderPolicy } from './policy-object.ts';
import { onPolicy, policyRoute } from './policy-route.ts';

type PolicyCall = AdminCall<unknown, unknown, unknown, PolicyRow>;
type Dispatch = (id: string, context: Context) => Promise<CommandResult<Policy, PolicyEvent>>;

const change = async (
  admin: Administration,
  call: PolicyCall,
  dispatch: Dispatch,
  conflicts: Readonly<Record<string, Code>> = {},
): Promise<Reply> => {
  const { id } = call.found;
  const result = await execute(() => dispatch(id, contextOf(call)), conflicts);
  await waitForProjection(admin, call, result.head);
  return { status: 200, body: renderPolicy({ id, ...result.state }) };
};

/** From the policy's own stream, since the read models may have an older draft. */
const latest = async ({ aggregates }: Administration, call: PolicyCall): Promise<Policy> => {
  const { state } = await execute(() => aggregates.policy.dispatch(call.found.id, 'look', undefined, contextOf(call)));
  return state.data;
};

const replies = { 200: { description: 'The policy', schema: policyObject } };
const common = ['policy_not_found', 'policy_revision_conflict'] as const;

const updateRoute = (admin: Administration, evaluator: Evaluator): Route =>
  policyRoute('policies:write', {
    ...onPolicy(admin),
    method: 'POST',
    path: '/v1/organization/policies/{policy_id}',
    operation: 'updatePolicy',
    summary: 'Edit the draft, the name or the description; what is in force stays as it is',
    body: updateBody,
    replies,
    errors: [...common, 'project_not_found', 'project_archived', 'policy_rule_invalid'],
    async handle(call) {
      const { revision, ...changes } = call.body;
      const now = await latest(admin, call);
      const draft = edited(now.draft, changes);
      if (draft.rule !== now.draft.rule || draft.direction !== now.draft.direction) {
        await requireRule(evaluator, draft.rule, draft.direction);
      }
      // The policy refuses another revision, so the checked draft is the one that changes.
      if (now.revision === revision) {
        requireActive(admin.models, now.organizationId, draft.projectIds, now.draft.projectIds);
      }
      return change(admin, call, (id, context) =>
        admin.aggregates.policy.dispatch(id, 'update', { revision, changes, at: admin.clock.wall() }, context),
      );
    },
  });

const publishRoute = (admin: Administration): Route =>
  policyRoute('policies:publish', {
    ...onPolicy(admin),
    method: 'POST',
    path: '/v1/organization/policies/{policy_id}/publish',
    operation: 'publishPolicy',
    summary: 'Make the draft the current version; a paused policy stays paused',
    body: revisionBody,
    replies,
    errors: [...common, 'policy_no_unpublished_changes', 'project_archived'],
    async handle(call) {
      const { revision } = call.body;
      const now = await latest(admin, call);
      if (now.revision === revision && hasUnpublishedChanges(now)) {
        requireActive(admin.models, now.organizationId, now.draft.projectIds);
      }
      const versionId = newId('polv', admin.clock);
      return change(admin, call, (id, context) =>
        admin.aggregates.policy.dispatch(id, 'publish', { revision, versionId, at: admin.clock.wall() }, context),
      );
    },
  });

const pauseRoute = (admin: Administration): Route =>
  policyRoute('policies:publish', {
    ...onPolicy(admin),
    method: 'POST',
    path: '/v1/organization/policies/{policy_id}/pause',
    operation: 'pausePolicy',
    summary: 'Take a policy out of force; the same pause may be sent again',
    body: revisionBody,
    replies,
    errors: [...common, 'policy_not_pausable'],
    handle(call) {
      const input = { revision: call.body.revision, at: admin.clock.wall() };
      return change(admin, call, (id, context) => admin.aggregates.policy.dispatch(id, 'pause', input, context), {
        draft: 'policy_not_pausable',
      });
    },
  });

const resumeRoute = (admin: Administration): Route =>
  policyRoute('policies:publish', {
    ...onPolicy(admin),
    method: 'POST',
    path: '/v1/organization/policies/{policy_id}/resume',
    operation: 'resumePolicy',
    summary: 'Put the current version of a paused policy back in force',
    body: revisionBody,
    replies,
    errors: [...common, 'policy_not_paused'],
    handle(call) {
      const input = { revision: call.body.revision, at: admin.clock.wall() };
      return change(admin, call, (id, context) => admin.aggregates.policy.dispatch(id, 'resume', input, context), {
        draft: 'policy_not_paused',
        live: 'policy_not_paused',
      });
    },
  });

const removeRoute = (admin: Administration): Route =>
  policyRoute('policies:write', {
    ...onPolicy(admin),
    method: 'DELETE',
    path: '/v1/organization/policies/{policy_id}',
    operation: 'deletePolicy',
    summary: 'Delete a policy that is not in force, for good',
    query: revisionQuery,
    replies: { 200: { description: 'The deletion marker', schema: policyMarker } },
    errors: [...common, 'policy_is_live'],
    async handle(call) {
      const { id, data } = call.found;
      const context = contextOf(call);
      const input = { revision: call.query.revision, at: admin.clock.wall() };
      const result = await execute(() => admin.aggregates.policy.dispatch(id, 'delete', input, context), {
        live: 'policy_is_live',
      });
      // Frees the place before the answer; if this fails, a reaction does it.
      await admin.aggregates.organization
        .dispatch(data.organizationId, 'endPolicy', { policyId: id }, context)
        .catch(() => {});
      await waitForProjection(admin, call, result.head);
      return { status: 200, body: { id, object: 'organization.policy.deleted', deleted: true } };
    },
  });

export const policyCommands = (admin: Administration, evaluator: Evaluator): Route[] => [
  updateRoute(admin, evaluator),
  publishRoute(admin),
  pauseRoute(admin),
  resumeRoute(admin),
  removeRoute(admin),
];
