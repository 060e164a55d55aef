import type { OrganizationEvent } from '../src/domain/organization/organization.ts';
import { policy } from '../src/domain/policy/policy.ts';
import type { Policy, PolicyEvent, PolicyVersion } from '../src/domain/policy/policy-events.ts';
import type { State } from '../src/kernel/aggregate/aggregate.ts';
import { compile } from '../src/kernel/aggregate/chart.ts';
import type { Projection, Rows } from '../src/kernel/projections/projection.ts';
import { table } from '../src/kernel/rows/rows.ts';
import type { Recorded } from '../src/kernel/store/store.ts';
import { eventOf, idOf } from './recorded.ts';

export interface PolicyRow extends State<Policy> {
  readonly id: string;
}

/** Key: `<organization>:<policy>`. Deleted ones stay, because they are valid cursors. */
export const policyRows = table<PolicyRow>('policies');
/** Without the deleted ones, so that pages stay cheap. */
export const livePolicyRows = table<PolicyRow>('policies-live');
export const policyOwners = table<{ readonly organizationId: string }>('policy-owners');
/** Key: `<policy>:<version's id>`. */
export const policyVersionRows = table<PolicyVersion>('policy-versions');
/** Key: policy. Policies that are admitted and have no stream (yet). */
export const admittedPolicies = table<{ readonly organizationId: string; readonly at: number }>('policies-admitted');

export const policyKeyOf = (organizationId: string, policyId: string): string => `${organizationId}:${policyId}`;

const chart = compile(policy);

export const policies: Projection = {
  name: 'policies',
  version: 2,
  categories: ['policy', 'organization'],
  tables: [policyRows, livePolicyRows, policyOwners, policyVersionRows, admittedPolicies],
  apply(recorded, rows) {
    if (recorded.stream.startsWith('organization-')) return noteIssuedPolicy(recorded, rows);
    const id = idOf(recorded);
    const event = eventOf<PolicyEvent>(recorded);
    const organizationId =
      event.type === 'policy.created' ? event.organization_id : (rows.get(policyOwners, id)?.organizationId ?? '');
    const key = policyKeyOf(organizationId, id);
    const row = { id, ...chart.step(rows.get(policyRows, key) ?? chart.initial, event) };
    rows.put(policyRows, key, row);
    if (row.status === 'deleted') rows.remove(livePolicyRows, key);
    else rows.put(livePolicyRows, key, row);
    if (event.type === 'policy.created') {
      rows.put(policyOwners, id, { organizationId });
      rows.remove(admittedPolicies, id);
    }
    const { current } = row.data;
    if (event.type === 'policy.published' && current) rows.put(policyVersionRows, `${id}:${current.id}`, current);
  },
};

const noteIssuedPolicy = (recorded: Recorded, rows: Rows): void => {
  const event = eventOf<OrganizationEvent>(recorded);
  if (event.type === 'organization.policy_issued' && !rows.get(policyOwners, event.policy_id)) {
    rows.put(admittedPolicies, event.policy_id, { organizationId: idOf(recorded), at: recorded.metadata.at });
  } else if (event.type === 'organization.policy_ended') {
    rows.remove(admittedPolicies, event.policy_id);
  }
};
