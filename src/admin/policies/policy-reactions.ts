import { admittedPolicies, policyOwners } from '../../../projections/policies.ts';
import { idOf } from '../../../projections/recorded.ts';
import type { Reactor } from '../../kernel/followers/reactor.ts';
import type { Administration } from '../command.ts';
import { abandoned, reactionContext, waitForRows } from '../reactions.ts';

/** Keeps the organization's count of policies consistent with the policies' own streams. */
export const policyReactions = (admin: Administration): Reactor => ({
  name: 'admissions-follow-policies',
  version: 1,
  begins: 'at the start',
  categories: ['policy'],
  async react(event) {
    if (event.type !== 'policy.deleted') return;
    await waitForRows(admin, event, [policyOwners]);
    const policyId = idOf(event);
    const owner = admin.models.get(policyOwners, policyId);
    if (!owner) throw new Error(`a policy that nobody owns was deleted: ${policyId}`);
    await admin.aggregates.organization.dispatch(
      owner.organizationId,
      'endPolicy',
      { policyId },
      reactionContext(event, policyId),
    );
  },
});

/** Ends admissions without a policy, which would count against the limit forever. */
export const endAbandonedPolicies = async (admin: Administration): Promise<void> => {
  for (const { key: policyId, row, context } of abandoned(admin, admittedPolicies, 'pol_')) {
    await admin.aggregates.organization.dispatch(row.organizationId, 'endPolicy', { policyId }, context);
  }
};
