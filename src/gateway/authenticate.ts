import type { Directory } from '../../projections/directory.ts';
import type { Identity, Principal } from '../../projections/principal.ts';
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
};

const lacks = (permission: string): Refusal =>
  refusal('insufficient_permissions', {
    message: `The credential lacks the permission ${permission}.`,
    headers: { 'WWW-Authenticate': `${challenge}, error="insufficient_scope", scope="${permission}"` },
  });

/** `Authorization` alone where it is present; `x-api-key` where the route reads it (decisions A.3). */
const presented = (head: Head, apiKeyHeader: boolean | undefined): string | undefined => {
  const authorization = head.header('authorization');
  if (authorization === undefined) return apiKeyHeader ? head.header('x-api-key') : undefined;
  if (authorization.startsWith(usualScheme)) return authorization.slice(usualScheme.length);
  return bearer.exec(authorization)?.[1];
};

/**
 * Judges API keys at the headers of a request: form and checksum, then the directory, then expiry, kind, permission and
 * the organization's state. Never waits and never echoes what was sent. What known credentials do is noted.
 */
export const apiKeyGate = (options: {
  readonly directory: Directory;
  /** Live peppers, the current one first. */
  readonly peppers: readonly string[];
  readonly clock: Clock;
  readonly accessLog: AccessLog;
}): Gate<Principal> => {
  const { directory, peppers, clock, accessLog } = options;

  const refuse = (who: Identity, refused: Refusal, head: Head, aim: Aim): Refusal => {
    accessLog.refused(who, aim, refused.code, head);
    return refused;
  };

  const identify = (token: string, head: Head, aim: Aim): Principal | Refusal => {
    const kind = tokenKind(token);
    if (kind === null) return refusals.invalid_api_key;
    for (const pepper of peppers) {
      const found = directory.find(digest(pepper, token));
      if (found === null) continue;
      if ('inactive' in found) return refuse(found, refusals[found.inactive], head, aim);
      if ((found.kind === 'project_key') !== (kind === 'p')) return refusals.invalid_api_key;
      if (found.expiresAt !== null && found.expiresAt <= clock.wall()) {
        return refuse(found, refusals.api_key_expired, head, aim);
      }
      accessLog.used(found);
      return found;
    }
    return refusals.invalid_api_key;
  };

  return {
    judge(head: Head, access: Access, aim: Aim) {
      if (access.credential === 'none') throw new Error('a route without a credential has no gate');
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
const whyNot = (
  found: Principal,
  head: Head,
  access: Exclude<Access, { readonly credential: 'none' }>,
): Refusal | undefined => {
  if (found.kind !== `${access.credential}_key`) {
    return refusal('credential_type_not_allowed', {
      message: `This route takes ${access.credential === 'admin' ? 'an Admin API key' : 'a project API key'}.`,
    });
  }
  if (access.refuseBrowsers && head.header('origin') !== undefined) return refusal('browser_not_allowed');
  if (!found.permissions.has(access.permission)) return lacks(access.permission);
  // A suspended organization may still look, and neither spend nor change (decisions B.1, F.2).
  if (found.organizationStatus === 'suspended' && !access.permission.endsWith(':read')) {
    return refusal('organization_suspended');
  }
  return undefined;
};
