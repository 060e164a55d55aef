import { type OrganizationFact, organization } from '../src/domain/organization.ts';
import type { Tier } from '../src/domain/tiers.ts';
import { compile } from '../src/kernel/chart.ts';
import { type Projection, table } from '../src/kernel/projection.ts';
import { admit, factOf, idOf } from './recorded.ts';

/** Times in milliseconds. */
export interface OrganizationRow {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly tier: Tier;
  readonly createdAt: number;
}

/** Key: the organization's id. */
export const organizationRows = table<OrganizationRow>('organizations');

const chart = compile(organization);

export const organizations: Projection = {
  name: 'organizations',
  version: 1,
  categories: ['organization'],
  tables: [organizationRows],
  apply(event, rows) {
    const id = idOf(event);
    const before = rows.get(organizationRows, id);
    const fact = factOf<OrganizationFact>(event);
    const status = admit(chart, id, before?.status ?? 'absent', fact);
    if (fact.type === 'organization.created') {
      rows.put(organizationRows, id, { id, name: fact.name, status, tier: 0, createdAt: fact.created_at });
    } else if (before && status !== before.status) {
      rows.put(organizationRows, id, { ...before, status });
    }
  },
};
