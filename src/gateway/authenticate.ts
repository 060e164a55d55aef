import type { Directory } from '../../projections/directory.ts';
import type { BearerPrincipal, Identity } from '../../projections/principal.ts';
import type { Clock } from '../clock.ts';
import { type Code, type Refusal, refusal } from '../errors.ts';
import type { Access, Gate, Head } from '../http/route.ts';
import { digest, tokenKind } from '../ids.ts';
import type { AccessLog, Aim } from './access-log.ts';

const challenge = 'Bearer realm="api"';
const missing = refusal('missing_credentials', { headers: { 'WWW-Authenticate': challenge } });
const bearer = /^bearer (.+)$/i;
/** The scheme as every SDK writes it, told apart without a regular expression. */
const usualScheme = 'Bearer ';

const badToken = (code: Code): Refusal => {
  const { message } = refusal(code);
  const header = `${challenge}, error="invalid_token", error_description="${message.replaceAll('"', "'")}"`;
  return refusal(code, { headers: { 'WWW-Authenticate': header } });
};
const refusals = {
  invalid_api_key: badToken('invalid_api_key'),
  api_key_revoked: badToken('api_key_revoked'),
  api_key_suspended: badToken('api_key_suspended'),
  api_key_expired: badToken('api_key_expired'),
  access_token_expired: badToken('access_token_expired'),
  invalid_access_token: badToken('invalid_access_token'),
};

/** The kind of principal that each form of token speaks for. An OAuth client's own secret opens no route. */
const principalOf = { p: 'project_key', a: 'admin_key', t: 'oauth_client' } as const;

const lacks = (permission: string): Refusal =>
  refusal('insufficient_permissions', {
    message: `The credential lacks the permission ${permission}.`,
    headers: { 'WWW-Authenticate': `${challenge}, error="insufficient_scope", scope="${permission}"` },
  });

type BearerAccess = Extract<Access, { readonly permission: string }>;

const isFor = (access: BearerAccess, { kind }: BearerPrincipal): boolean =>
  access.credential === 'project'
    ? kind === 'project_key'
    : kind === 'admin_key' || (kind === 'oauth_client' && !access.adminKeyOnly);

const wantedBy = (access: BearerAccess): string => {
  if (access.credential === 'project') return 'a project API key';
  return access.adminKeyOnly ? 'an Admin API key' : 'an Admin API key or an OAuth access token';
};

/** `Authorization` alone where it is present; `x-api-key` where the route reads it (decisions A.3). */
const presented = (head: Head, apiKeyHeader: boolean | undefined): string | undefined => {
  const authorization = head.header('authorization');
  if (authorization === undefined) return apiKeyHeader ? head.header('x-api-key') : undefined;
  if (authorization.startsWith(usualScheme)) return authorization.slice(usualScheme.length);
  return bearer.exec(authorization)?.[1];
};

/**
 * Judges API keys and access tokens at the headers of a request: form and checksum, then the directory, then expiry,
 * kind, permission and the organization's state. Never waits and never echoes what was sent. What known credentials do is noted.
 */
export const apiKeyGate = (options: {
  readonly directory: Directory;
  /** Live peppers, the current one first. */
  readonly peppers: readonly string[];
  readonly clock: Clock;
  readonly accessLog: AccessLog;
}): Gate<BearerPrincipal> => {
  const { directory, peppers, clock, accessLog } = options;

  const refuse = (who: Identity, refused: Refusal, head: Head, aim: Aim): Refusal => {
    accessLog.refused(who, aim, refused.code, head);
    return refused;
  };

  const identify = (token: string, head: Head, aim: Aim): BearerPrincipal | Refusal => {
    const kind = tokenKind(token);
    if (kind === null || kind === 's') return refusals.invalid_api_key;
    const isAccessToken = kind === 't';
    for (const pepper of peppers) {
      const found = directory.find(digest(pepper, token));
      if (found === null) continue;
      if ('inactive' in found) return refuse(found, refusals[found.inactive], head, aim);
      if (found.kind === 'client_secret' || found.kind !== principalOf[kind]) return refusals.invalid_api_key;
      if (found.expiresAt !== null && found.expiresAt <= clock.wall()) {
        const over = isAccessToken ? refusals.access_token_expired : refusals.api_key_expired;
        return refuse(found, over, head, aim);
      }
      accessLog.used(found);
      return found;
    }
    return isAccessToken ? refusals.invalid_access_token : refusals.invalid_api_key;
  };

  return {
    judge(head: Head, access: Access, aim: Aim) {
      if (!('permission' in access)) throw new Error('a route that takes no key and no token has no gate');
      const token = presented(head, access.apiKeyHeader);
      if (token === undefined) return missing;
      const found = identify(token, head, aim);
      if ('code' in found) return found;
      const refused = whyNot(found, head, access);
      return refused === undefined ? found : refuse(found, refused, head, aim);
    },
  };
};

/** What a good credential is refused for all the same. */
const whyNot = (found: BearerPrincipal, head: Head, access: BearerAccess): Refusal | undefined => {
  if (!isFor(access, found)) {
    return refusal('credential_type_not_allowed', { message: `This route takes ${wantedBy(access)}.` });
  }
  if (access.adminKeyOnly && head.header('origin') !== undefined) return refusal('browser_not_allowed');
  if (!found.permissions.has(access.permission)) return lacks(access.permission);
  // A suspended organization may still look, and neither spend nor change (decisions B.1, F.2).
  if (found.organizationStatus === 'suspended' && !access.permission.endsWith(':read')) {
    return refusal('organization_suspended');
  }
  return undefined;
};
