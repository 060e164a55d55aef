import { z } from 'zod';
import { livePolicyRows, type PolicyRow, policyKeyOf } from '../../../projections/policies.ts';
import type { AdminPrincipal } from '../../data/access/principal.ts';
import { fault } from '../../errors.ts';
import type { Route } from '../../http/route.ts';
import { adminRoute } from '../admin-route.ts';
import type { Administration } from '../command.ts';
import { pathId } from '../fields.ts';

/** An administration route that refuses browsers and access tokens (contract A.7). */
export const policyRoute: typeof adminRoute = (permission, definition): Route => {
  const route = adminRoute(permission, {
    ...definition,
    errors: ['browser_not_allowed', ...(definition.errors ?? [])],
  });
  return { ...route, access: { credential: 'admin', permission, adminKeyOnly: true } };
};

export const policyParams = z.object({ policy_id: pathId });

/** The path parameter and the look-up of routes for one policy; deleted ones are not found. */
export const onPolicy = ({ models }: Administration) => ({
  params: policyParams,
  find(call: { readonly principal: AdminPrincipal; readonly params: z.infer<typeof policyParams> }): PolicyRow {
    const row = models.get(livePolicyRows, policyKeyOf(call.principal.organizationId, call.params.policy_id));
    if (!row) throw fault('policy_not_found');
    return row;
  },
});
