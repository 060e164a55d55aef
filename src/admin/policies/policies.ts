import { z } from 'zod';
import { livePolicyRows, policyKeyOf, policyOwners, policyRows } from '../../../projections/policies.ts';
import type { KeptRequests } from '../../data/policy/kept-requests.ts';
import { policyState } from '../../domain/policy/policy.ts';
import { defaultTerms, edited } from '../../domain/policy/policy-terms.ts';
import type { Route } from '../../http/route.ts';
import { newId } from '../../ids.ts';
import type { Evaluator } from '../../rules/evaluate.ts';
import { type Administration, contextOf, execute, organizationConflicts } from '../command.ts';
import { idempotencyKey } from '../fields.ts';
import { type Created, createIdempotently, idempotencyErrors } from '../idempotent.ts';
import { listOf, page, pageQuery } from '../page.ts';
import { policyCommands } from './policy-commands.ts';
import { createBody } from './policy-fields.ts';
import { policyHistory } from './policy-history.ts';
import { requireActive, requireRule } from './policy-judgement.ts';
import { policyItem, policyObject, policyStates, renderItem, renderPolicy } from './policy-object.ts';
import { replayRoute } from './policy-replay.ts';
import { onPolicy, policyRoute } from './policy-route.ts';
import { validateRoute } from './policy-validate.ts';

const listRoute = ({ models }: Administration): Route =>
  policyRoute('policies:read', {
    method: 'GET',
    path: '/v1/organization/policies',
    operation: 'listPolicies',
    summary: 'List the policies of the organization',
    query: z.object({ ...pageQuery, state: z.enum(policyStates).optional() }),
    replies: { 200: { description: 'A page of policies, without what they say', schema: listOf(policyItem) } },
    errors: ['invalid_cursor', 'validation_failed'],
    handle: ({ principal, query }) =>
      page(models, {
        rows: livePolicyRows,
        all: policyRows,
        prefix: policyKeyOf(principal.organizationId, ''),
        query,
        wanted: (row) => query.state === undefined || policyState(row) === query.state,
        render: renderItem,
      }),
  });

const createRoute = (admin: Administration, evaluator: Evaluator): Route =>
  policyRoute('policies:write', {
    method: 'POST',
    path: '/v1/organization/policies',
    operation: 'createPolicy',
    summary: 'Create a policy as a draft, in force nowhere until it is published',
    headers: { 'Idempotency-Key': idempotencyKey.optional() },
    body: createBody,
    replies: { 201: { description: 'The new policy', schema: policyObject } },
    errors: [
      'policy_rule_invalid',
      'project_not_found',
      'project_archived',
      'policy_limit_reached',
      ...idempotencyErrors,
    ],
    async handle(call) {
      const { aggregates, clock, models } = admin;
      const { organizationId } = call.principal;
      const { name, description = '' } = call.body;
      const terms = edited(defaultTerms, call.body);
      await requireRule(evaluator, terms.rule, terms.direction);
      const context = contextOf(call);

      /** Admits the policy on the organization's stream before creating its own. */
      const create = async (id: string): Promise<Created> => {
        // An abandoned attempt may have created the policy.
        if (!models.get(policyOwners, id)) {
          requireActive(models, organizationId, terms.projectIds);
          await execute(
            () => aggregates.organization.dispatch(organizationId, 'issuePolicy', { policyId: id }, context),
            organizationConflicts,
          );
        }
        const input = { organizationId, name, description, terms, at: clock.wall() };
        const result = await execute(() => aggregates.policy.dispatch(id, 'create', input, context));
        return { body: renderPolicy({ id, ...result.state }), head: result.head };
      };
      const isRepeatable = (id: string): boolean =>
        models.get(policyRows, policyKeyOf(organizationId, id))?.status !== 'deleted';
      return createIdempotently(admin, call, { newResourceId: () => newId('pol', clock), create, isRepeatable });
    },
  });

const retrieveRoute = (admin: Administration): Route =>
  policyRoute('policies:read', {
    ...onPolicy(admin),
    method: 'GET',
    path: '/v1/organization/policies/{policy_id}',
    operation: 'retrievePolicy',
    summary: 'Retrieve a policy with its draft and its current version',
    replies: { 200: { description: 'The policy', schema: policyObject } },
    errors: ['policy_not_found'],
    handle: ({ found }) => ({ status: 200, body: renderPolicy(found) }),
  });

/** @param kept requests with their text, if the operator keeps them */
export const policyRoutes = (admin: Administration, evaluator: Evaluator, kept: KeptRequests | null): Route[] => [
  listRoute(admin),
  createRoute(admin, evaluator),
  validateRoute(evaluator),
  retrieveRoute(admin),
  ...policyCommands(admin, evaluator),
  ...policyHistory(admin),
  replayRoute(admin, evaluator, kept),
];
