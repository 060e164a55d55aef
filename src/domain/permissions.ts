/** The permissions (contract D), stored and returned in this order. */

export const projectPermissions = ['inference:create', 'models:read', 'credits:read'] as const;

export const adminPermissions = [
  'organization:read',
  'projects:read',
  'projects:write',
  'project_api_keys:read',
  'project_api_keys:write',
  'admin_api_keys:read',
  'admin_api_keys:write',
  'policies:read',
  'policies:write',
  'policies:publish',
  'audit_logs:read',
  'usage:read',
] as const;

/** For access tokens: none for policies (contract A.5). */
export const tokenPermissions = adminPermissions.filter(
  (permission): permission is Exclude<AdminPermission, `policies:${string}`> => !permission.startsWith('policies:'),
);

export type AdminPermission = (typeof adminPermissions)[number];

export const inCatalogueOrder = <P extends string>(catalogue: readonly P[], wanted: readonly string[]): P[] =>
  catalogue.filter((permission) => wanted.includes(permission));
