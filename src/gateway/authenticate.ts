import type { Directory, Inactive } from '../../projections/directory.ts';
import type { Identity, Principal } from '../../projections/principal.ts';
import type { Clock } from '../clock.ts';
import { type Code, type Refusal, refusal } from '../errors.ts';
import type { Access, Gate, Head } from '../http/route.ts';
import { digest, tokenKind } from '../ids.ts';
import { countInactive } from '../limits/admit.ts';
import { waitOfInactive } from '../limits/retry-after.ts';
import { type Counted, counted } from '../limits/window-store.ts';
import type { Windows } from '../limits/windows.ts';
import type { AccessLog, Aim } from './access-log.ts';
import { type KnownToken, KnownTokens } from './known-tokens.ts';
import { addressRefusal, limitRefusal } from './limit-refusal.ts';
import { AdministrationPass, type CountedPass, CreditsPass, InferencePass } from './passes.ts';

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

const organizationSuspended = refusal('organization_suspended');
const browserNotAllowed = refusal('browser_not_allowed');
const wrongKind = {
  admin: refusal('credential_type_not_allowed', { message: 'This route takes an Admin API key.' }),
  project: refusal('credential_type_not_allowed', { message: 'This route takes a project API key.' }),
};

type Protected = Exclude<Access, { readonly credential: 'none' }>;

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
 * Judges API keys at the headers of a request (decisions F.2, F.3): form and checksum, then the directory, then expiry;
 * then the limits count the attempt, whatever follows; then kind, permission and the organization's state. Never waits and
 * never echoes what was sent. What known credentials do is noted; that a limit refused them the windows themselves tell.
 */
export const apiKeyGate = (options: {
  readonly directory: Directory;
  /** Live peppers, the current one first. */
  readonly peppers: readonly string[];
  readonly clock: Clock;
  readonly accessLog: AccessLog;
  readonly windows: Windows;
}): Gate<Principal> => {
  const { directory, peppers, clock, accessLog, windows } = options;
  const tokens = new KnownTokens();

  const recognize = (token: string): KnownToken | undefined => {
    const kind = tokenKind(token);
    if (kind === null) return undefined;
    for (const pepper of peppers) {
      const hashed = digest(pepper, token);
      const found = directory.find(hashed);
      if (found === null) continue;
      return (found.kind === 'project_key') === (kind === 'p') ? tokens.add(token, hashed) : undefined;
    }
    return undefined;
  };

  /**
   * Who sends what nobody knows is told so sixty times a minute and address (decisions F.3). Who sends nothing is not
   * guessing.
   */
  const stranger = (head: Head): Refusal => {
    const seconds = windows.failed.count(head.ip, clock.monotonic());
    return seconds === 0 ? refusals.invalid_api_key : addressRefusal(seconds);
  };

  const seatOf = (known: KnownToken, family: Family, { id, projectId, organizationId }: Identity): Counted => {
    known[family] ??= counted(id, family === 'inference' ? (projectId ?? '') : null, organizationId);
    return known[family];
  };

  /** A key that does not work any more is counted in its own windows and nobody else's (decisions F.3). */
  const inactive = (known: KnownToken, access: Protected, who: Identity, refused: Refusal): Refusal => {
    const family = familyOf(access, who);
    const seat = seatOf(known, family, who);
    const now = clock.monotonic();
    const why = countInactive(windows[family], seat, now);
    return why === 0 ? refused : limitRefusal(waitOfInactive(windows[family], seat, why, now));
  };

  const passOf = (known: KnownToken, access: Protected, found: Principal): CountedPass => {
    if (found.kind === 'admin_key') {
      const seat = known.administration ?? seatOf(known, 'administration', found);
      return new AdministrationPass(found, clock, windows.administration, seat);
    }
    const seat = known.inference ?? seatOf(known, 'inference', found);
    if (access.limits !== 'credits') return new InferencePass(found, clock, windows.inference, seat);
    const own = seatOf(known, 'credits', found);
    return new CreditsPass(found, clock, [windows.credits, own], [windows.inference, seat]);
  };

  return {
    judge(head: Head, access: Access, aim: Aim) {
      if (access.credential === 'none') throw new Error('a route without a credential has no gate');
      const token = presented(head, access.apiKeyHeader);
      if (token === undefined) return missing;
      const known = tokens.get(token) ?? recognize(token);
      const found = known === undefined ? null : directory.find(known.digest);
      if (known === undefined || found === null) return stranger(head);
      const reason = whyInactive(found, clock);
      if (reason !== undefined) {
        const refused =
          reason === 'invalid_api_key' ? stranger(head) : inactive(known, access, found, refusals[reason]);
        if (refused.code !== 'rate_limit_exceeded') accessLog.refused(found, aim, refused.code, head);
        return refused;
      }
      const active = found as Principal;
      accessLog.used(active);
      const pass = passOf(known, access, active);
      pass.silent = active.kind !== `${access.credential}_key`;
      if (!pass.limited) {
        pass.denied = denial(head, access, active);
        if (pass.denied !== undefined) accessLog.refused(active, aim, pass.denied.code, head);
      }
      return pass;
    },
  };
};

/** Why a known credential does not work now; undefined where it does. */
const whyInactive = (found: Principal | Inactive, clock: Clock): Inactive['inactive'] | undefined => {
  if ('inactive' in found) return found.inactive;
  return found.expiresAt !== null && found.expiresAt <= clock.wall() ? 'api_key_expired' : undefined;
};

type Family = 'inference' | 'credits' | 'administration';

/** Which windows count: the route's own, or those of the credential's kind, also on a route of another (decisions F.2). */
const familyOf = (access: Protected, { kind }: Pick<Identity, 'kind'>): Family =>
  kind === 'admin_key' ? 'administration' : (access.limits ?? 'inference');

/** Why an active credential may not do this; undefined where it may. */
const denial = (head: Head, access: Protected, found: Principal): Refusal | undefined => {
  if (found.kind !== `${access.credential}_key`) return wrongKind[access.credential];
  if (access.refuseBrowsers && head.header('origin') !== undefined) return browserNotAllowed;
  if (!found.permissions.has(access.permission)) return lacks(access.permission);
  // A suspended organization may still look, and neither spend nor change (decisions B.1, F.2).
  if (found.organizationStatus === 'suspended' && !access.permission.endsWith(':read')) return organizationSuspended;
  return undefined;
};
