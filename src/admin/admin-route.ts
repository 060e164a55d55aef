import type { AdminPrincipal } from '../data/access/principal.ts';
import type { AdminPermission } from '../domain/permissions.ts';
import { type Call, type Route, type RouteDefinition, route } from '../http/route.ts';

export type AdminCall<Params = unknown, Query = unknown, Body = unknown, Found = unknown> = Call<
  AdminPrincipal,
  Params,
  Query,
  Body,
  Found
>;

/** A route for Admin keys and access tokens with a permission, with errors in the ADMIN envelope. */
export const adminRoute = <Params = unknown, Query = unknown, Body = undefined, Found = undefined>(
  permission: AdminPermission,
  definition: Omit<RouteDefinition<AdminPrincipal, Params, Query, Body, Found>, 'tag' | 'family' | 'access'>,
): Route =>
  route<AdminPrincipal, Params, Query, Body, Found>({
    ...definition,
    tag: 'Organization',
    family: 'admin',
    access: { credential: 'admin', permission },
  });
