import type { Clock } from '../../clock.ts';
import { type Code, type Refusal, refusal } from '../../errors.ts';
import type { Access, Head } from '../../http/route.ts';
import { tokenKind } from '../../ids.ts';
import type { Inactive } from './directory.ts';
import type { BearerPrincipal } from './principal.ts';

/** 401 for authentication, 403 for permission (contract A.5). */

const challenge = 'Bearer realm="api"';
const unproven = { headers: { 'WWW-Authenticate': challenge } };
/** Without a credential. */
export const missing = refusal('missing_credentials', unproven);
/** `Authorization` is empty, or not the scheme, one space and a token (contract A.5). */
export const malformed = refusal('missing_credentials', {
  ...unproven,
  message: 'There is no API key in what was sent. Send it as "Authorization: Bearer <key>", with one space.',
});

const badToken = (code: Code): Refusal => {
  const { message } = refusal(code);
  const header = `${challenge}, error="invalid_token", error_description="${message.replaceAll('"', "'")}"`;
  return refusal(code, { headers: { 'WWW-Authenticate': header } });
};
/** By the reason. */
export const refusals = {
  invalid_api_key: badToken('invalid_api_key'),
  api_key_revoked: badToken('api_key_revoked'),
  api_key_suspended: badToken('api_key_suspended'),
  api_key_expired: badToken('api_key_expired'),
  access_token_expired: badToken('access_token_expired'),
  invalid_access_token: badToken('invalid_access_token'),
};

const soon = { headers: { 'Retry-After': '1' } };
/** Unknown here, while the knowledge is behind. */
export const behind = refusal('dependency_unavailable', soon);
/** The knowledge is older than the operator allows. */
export const tooOld = refusal('credentials_stale', soon);

/** Unknown everywhere. */
export const unknown = (token: string): Refusal =>
  tokenKind(token) === 't' ? refusals.invalid_access_token : refusals.invalid_api_key;

const organizationSuspended = refusal('organization_suspended');
const browserNotAllowed = refusal('browser_not_allowed');

const lacks = (permission: string): Refusal =>
  refusal('insufficient_permissions', {
    message: `The credential lacks the permission ${permission}.`,
    headers: { 'WWW-Authenticate': `${challenge}, error="insufficient_scope", scope="${permission}"` },
  });

export type BearerAccess = Extract<Access, { readonly permission: string }>;

const isFor = (access: BearerAccess, { kind }: BearerPrincipal): boolean =>
  access.credential === 'project'
    ? kind === 'project_key'
    : kind === 'admin_key' || (kind === 'oauth_client' && !access.adminKeyOnly);

const wantedBy = (access: BearerAccess): string => {
  if (access.credential === 'project') return 'a project API key';
  return access.adminKeyOnly ? 'an Admin API key' : 'an Admin API key or an OAuth access token';
};

export type Reason = keyof typeof refusals;

/** Undefined if it works. */
export const whyInactive = (found: BearerPrincipal | Inactive, clock: Clock): Reason | undefined => {
  if (found.inactive !== undefined) return found.inactive;
  if (found.expiresAt === null || found.expiresAt > clock.wall()) return undefined;
  return found.kind === 'oauth_client' ? 'access_token_expired' : 'api_key_expired';
};

/** Refusals of valid credentials. */
export const denial = (head: Head, access: BearerAccess, found: BearerPrincipal): Refusal | undefined => {
  if (!isFor(access, found)) {
    return refusal('credential_type_not_allowed', { message: `This route takes ${wantedBy(access)}.` });
  }
  if (access.adminKeyOnly && head.header('origin') !== undefined) return browserNotAllowed;
  if (!found.permissions.has(access.permission)) return lacks(access.permission);
  // A suspended organization may read, not spend or change (contract B.1, F.2).
  if (found.organizationStatus === 'suspended' && !access.permission.endsWith(':read')) return organizationSuspended;
  return undefined;
};
