import { type BillingEvent, type Ledger, post, unpaid } from '../src/domain/organization/billing.ts';
import { type OrganizationEvent, organization } from '../src/domain/organization/organization.ts';
import type { SpendLimit } from '../src/domain/usage/spend-limit.ts';
import { compile } from '../src/kernel/aggregate/chart.ts';
import { PersistentMap } from '../src/kernel/aggregate/persistent-map.ts';
import type { Projection } from '../src/kernel/projections/projection.ts';
import { table } from '../src/kernel/rows/rows.ts';
import { eventOf, idOf, nextStatus } from './recorded.ts';

/** Times in milliseconds, amounts in micro-dollars. */
export interface OrganizationRow extends Omit<Ledger, 'references'> {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly createdAt: number;
  readonly spendLimit: SpendLimit | null;
}

export const organizationRows = table<OrganizationRow>('organizations');

const chart = compile(organization);

const none = PersistentMap.empty<string>();
const isBilling = (event: OrganizationEvent): event is BillingEvent =>
  event.type.startsWith('billing.') || event.type === 'organization.tier_changed';
const amounts = ({ tier, lifetimePaid, credits, subscription }: Ledger) => ({
  tier,
  lifetimePaid,
  credits,
  subscription,
});

export const organizations: Projection = {
  name: 'organizations',
  version: 3,
  categories: ['organization'],
  tables: [organizationRows],
  apply(recorded, rows) {
    const id = idOf(recorded);
    const before = rows.get(organizationRows, id);
    const event = eventOf<OrganizationEvent>(recorded);
    const status = nextStatus(chart, id, before?.status ?? 'absent', event);
    if (event.type === 'organization.created') {
      const { name, created_at: createdAt } = event;
      rows.put(organizationRows, id, { id, name, status, createdAt, spendLimit: null, ...amounts(unpaid) });
    } else if (event.type === 'organization.spend_limited' && before) {
      rows.put(organizationRows, id, { ...before, spendLimit: event.limit });
    } else if (before) {
      const paid = isBilling(event) ? amounts(post({ ...before, references: none }, event)) : {};
      if (status !== before.status || isBilling(event)) rows.put(organizationRows, id, { ...before, ...paid, status });
    }
  },
};
