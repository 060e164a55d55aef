import { z } from 'zod';
import { organizationRows } from '../../../projections/organizations.ts';
import { seconds } from '../../clock.ts';
import { plans } from '../../domain/organization/billing.ts';
import {
  limitsFor,
  type Scope,
  type Tier,
  type TierLimits,
  type TierTable,
  tierOfSpend,
} from '../../domain/organization/tiers.ts';
import type { Route } from '../../http/route.ts';
import type { TiersInForce } from '../../limits/tiers/tiers-in-force.ts';
import { adminRoute } from '../admin-route.ts';
import type { Administration } from '../command.ts';

const limits = z
  .object({
    requests_per_minute: z.int(),
    requests_per_day: z.int(),
    tokens_per_minute: z.int(),
    tokens_per_day: z.int().optional(),
    concurrent_requests: z.int(),
  })
  .meta({ id: 'TierLimits' });

const organizationObject = z
  .object({
    object: z.literal('organization'),
    id: z.string(),
    name: z.string(),
    status: z.enum(['active', 'suspended', 'closed']),
    tier: z.int(),
    spend_tier: z.int(),
    subscription: z.enum(plans),
    lifetime_paid: z.number(),
    created_at: z.int(),
    limits: z.object({ api_key: limits, project: limits, organization: limits }),
  })
  .meta({ id: 'Organization' });

const render = ({ rpm, rpd, tpm, tpd, concurrent }: TierLimits): z.infer<typeof limits> => ({
  requests_per_minute: rpm,
  requests_per_day: rpd,
  tokens_per_minute: tpm,
  ...(tpd !== null && { tokens_per_day: tpd }),
  concurrent_requests: concurrent,
});

const limitsAt = (tier: Tier, table: TierTable) => {
  const at = (scope: Scope) => render(limitsFor(tier, scope, table));
  return { api_key: at('key'), project: at('project'), organization: at('organization') };
};

export const organizationRoutes = (admin: Administration, tiers: TiersInForce): Route[] => [
  adminRoute('organization:read', {
    method: 'GET',
    path: '/v1/organization',
    operation: 'retrieveOrganization',
    summary: 'Retrieve the organization: its tier, what it has paid, and the limits that follow',
    replies: { 200: { description: 'The organization', schema: organizationObject } },
    handle({ principal }) {
      const row = admin.models.get(organizationRows, principal.organizationId);
      if (!row) throw new Error(`an Admin key of an organization that has no row: ${principal.organizationId}`);
      const body = {
        object: 'organization',
        id: row.id,
        name: row.name,
        status: row.status,
        tier: row.tier,
        spend_tier: tierOfSpend(row.lifetimePaid, tiers.table),
        subscription: row.subscription,
        lifetime_paid: row.lifetimePaid / 1_000_000,
        created_at: seconds(row.createdAt),
        limits: limitsAt(row.tier, tiers.table),
      };
      return { status: 200, body };
    },
  }),
];
