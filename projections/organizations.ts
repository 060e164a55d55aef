import { type BillingFact, type BillingPlan, type Ledger, post, unpaid } from '../src/domain/organization/billing.ts';
import { type OrganizationFact, organization } from '../src/domain/organization/organization.ts';
import type { Tier } from '../src/domain/organization/tiers.ts';
import { compile } from '../src/kernel/aggregate/chart.ts';
import { PersistentMap } from '../src/kernel/aggregate/persistent-map.ts';
import type { Projection } from '../src/kernel/projections/projection.ts';
import { table } from '../src/kernel/rows/rows.ts';
import { factOf, idOf, nextStatus } from './recorded.ts';

/** Times in milliseconds. */
export interface OrganizationRow {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly tier: Tier;
  /** Micro-dollars, as the other amounts. */
  readonly lifetimePaid: number;
  readonly credits: number;
  readonly subscription: BillingPlan;
  readonly createdAt: number;
}

/** Key: the organization's id. */
export const organizationRows = table<OrganizationRow>('organizations');

const chart = compile(organization);

const none = PersistentMap.empty<string>();
const isBilling = (fact: OrganizationFact): fact is BillingFact =>
  fact.type.startsWith('billing.') || fact.type === 'organization.tier_changed';
const amounts = ({ tier, lifetimePaid, credits, subscription }: Ledger) => ({
  tier,
  lifetimePaid,
  credits,
  subscription,
});

export const organizations: Projection = {
  name: 'organizations',
  version: 2,
  categories: ['organization'],
  tables: [organizationRows],
  apply(event, rows) {
    const id = idOf(event);
    const before = rows.get(organizationRows, id);
    const fact = factOf<OrganizationFact>(event);
    const status = nextStatus(chart, id, before?.status ?? 'absent', fact);
    if (fact.type === 'organization.created') {
      rows.put(organizationRows, id, { id, name: fact.name, status, createdAt: fact.created_at, ...amounts(unpaid) });
    } else if (before) {
      const paid = isBilling(fact) ? amounts(post({ ...before, references: none }, fact)) : {};
      if (status !== before.status || isBilling(fact)) rows.put(organizationRows, id, { ...before, ...paid, status });
    }
  },
};
