import type { Clock } from '../../clock.ts';
import { isRefusal, type Refusal } from '../../errors.ts';
import type { Access, Gate, Head } from '../../http/route.ts';
import { digest, tokenKind } from '../../ids.ts';
import { administrationLines } from '../../limits/http/administration-headers.ts';
import { creditLines, quotaLines } from '../../limits/http/headers.ts';
import { type LimitSubject, limitSubject } from '../../limits/window/window-store.ts';
import type { Windows } from '../../limits/windows.ts';
import type { AccessLog, Aim } from './access-log.ts';
import {
  type BearerAccess,
  behind,
  denial,
  malformed,
  missing,
  type Reason,
  refusals,
  tooOld,
  unknown,
  whyInactive,
} from './credential-refusals.ts';
import type { Directory, Inactive } from './directory.ts';
import type { Knowledge } from './knowledge.ts';
import { KnownToken, KnownTokens } from './known-tokens.ts';
import {
  type Accounts,
  AdministrationLease,
  type CountedLease,
  CreditsLease,
  InactiveLease,
  InferenceLease,
} from './leases.ts';
import { addressRefusal } from './limit-refusal.ts';
import type { BearerPrincipal, Identity } from './principal.ts';

const bearer = /^bearer (.+)$/i;
/** RFC 6750, 2.1. */
const tokenBytes = /^[\x21-\x7e]+$/;
/** Compared without a regular expression. */
const usualScheme = 'Bearer ';

/** An OAuth client's own secret opens no route. */
const principalOf = { p: 'project_key', a: 'admin_key', t: 'oauth_client' } as const;

/** `Authorization`, else `x-api-key` if the route reads it (contract A.5); as `Bearer` and the token. */
const presented = (head: Head, apiKeyHeader: boolean | undefined): string | Refusal => {
  const authorization = head.header('authorization');
  if (authorization?.startsWith(usualScheme)) return authorization;
  if (authorization === undefined) {
    const key = apiKeyHeader ? head.header('x-api-key') : undefined;
    return key ? usualScheme + key : missing;
  }
  const token = bearer.exec(authorization)?.[1];
  return token === undefined ? malformed : usualScheme + token;
};

export interface GateOptions {
  readonly directory: Directory;
  /** The current one first. */
  readonly peppers: readonly string[];
  readonly clock: Clock;
  readonly accessLog: AccessLog;
  readonly windows: Windows;
  readonly knowledge: Knowledge;
  readonly accounts: Accounts;
}

/**
 * In this order (contract F.2, F.3): form and checksum, directory, expiry; the limits count the attempt whatever
 * follows; then kind, permission and the organization's state. Synchronous; never echoes what was sent.
 */
class ApiKeyGate implements Gate<BearerPrincipal> {
  readonly #given: GateOptions;
  readonly #tokens = new KnownTokens();

  constructor(given: GateOptions) {
    this.#given = given;
  }

  #recognize(text: string): KnownToken | undefined {
    const token = text.slice(usualScheme.length);
    const kind = tokenKind(token);
    if (kind === null || kind === 's') return undefined;
    for (const pepper of this.#given.peppers) {
      const hashed = digest(pepper, token);
      const found = this.#given.directory.find(hashed);
      if (found === null) continue;
      if (found.kind !== principalOf[kind]) return undefined;
      const known = new KnownToken(text, hashed, found as BearerPrincipal | Inactive);
      this.#tokens.add(known);
      return known;
    }
    return undefined;
  }

  /** As the directory has it now; undefined if unknown. */
  #identify(text: string): KnownToken | undefined {
    const known = this.#tokens.get(text) ?? this.#recognize(text);
    if (known?.found.stale !== true) return known;
    const found = this.#given.directory.find(known.digest);
    if (found === null || found.kind === 'client_secret') return undefined;
    known.found = found;
    return known;
  }

  /** Sixty refusals a minute and address, then a 429 (contract F.3). A request without a credential does not count. */
  #rejectUnknownCredential(head: Head, refused: Refusal): Refusal {
    const seconds = this.#given.windows.failed.count(head.ip, this.#given.clock.monotonic());
    return seconds === 0 ? refused : addressRefusal(seconds);
  }

  /** It may be known elsewhere. */
  #mayBeKnown(token: string): boolean {
    return this.#given.knowledge.isBehind && tokenKind(token) !== null;
  }

  /** What cannot be a token does not count as a guess. */
  #unidentified(head: Head, text: string): Refusal {
    const token = text.slice(usualScheme.length);
    if (!tokenBytes.test(token)) return malformed;
    return this.#mayBeKnown(token) ? behind : this.#rejectUnknownCredential(head, unknown(token));
  }

  #subjectOf(known: KnownToken, family: Family, found: Identity): LimitSubject {
    const { id, projectId, organizationId, windowsOf } = found;
    known[family] ??= limitSubject(windowsOf || id, family === 'inference' ? (projectId ?? '') : null, organizationId);
    return known[family];
  }

  /**
   * An inactive key counts in its own windows only (contract F.3). Unspecified: deleted keys and access tokens count
   * for the address. A leaked token must not use up its client's windows, nor a rotated key those of its line.
   */
  #inactive(known: KnownToken, head: Head, limits: LimitFamily, code: Reason): InactiveLease | Refusal {
    const { clock, windows } = this.#given;
    const { found } = known;
    const refused = refusals[code];
    if (code === 'invalid_api_key' || found.kind === 'oauth_client' || found.sharesWindows === true)
      return this.#rejectUnknownCredential(head, refused);
    if (found.kind !== 'project_key') {
      const who = this.#subjectOf(known, 'administration', found);
      const { administration } = windows;
      return new InactiveLease(found, refused, clock, [administration, who], (why) =>
        administrationLines(administration, who, why, clock.monotonic(), clock.wall(), true),
      );
    }
    const { credits, inference } = windows;
    const subject = this.#subjectOf(known, 'inference', found);
    if (limits !== 'credits') {
      const tell = () => quotaLines(inference, subject, clock.monotonic(), true);
      return new InactiveLease(found, refused, clock, [inference, subject], tell);
    }
    const own = this.#subjectOf(known, 'credits', found);
    const tell = () => creditLines(credits, own, inference, subject, clock.monotonic(), true);
    return new InactiveLease(found, refused, clock, [credits, own], tell);
  }

  #leaseOf(known: KnownToken, limits: LimitFamily, found: BearerPrincipal): CountedLease {
    const { clock, windows, accounts } = this.#given;
    if (found.kind !== 'project_key') {
      const subject = known.administration ?? this.#subjectOf(known, 'administration', found);
      return new AdministrationLease(found, clock, windows.administration, subject);
    }
    const subject = known.inference ?? this.#subjectOf(known, 'inference', found);
    if (limits !== 'credits') return new InferenceLease(found, clock, windows.inference, subject, accounts);
    const own = this.#subjectOf(known, 'credits', found);
    return new CreditsLease(found, clock, [windows.credits, own], [windows.inference, subject]);
  }

  get isTooOld() {
    return this.#given.knowledge.isTooOld;
  }

  judge(head: Head, access: Access, aim: Aim) {
    const { knowledge, clock, accessLog } = this.#given;
    if (!('permission' in access)) throw new Error('a route that takes no key and no token has no gate');
    const text = presented(head, access.apiKeyHeader);
    if (typeof text !== 'string') return text;
    const known = this.#identify(text);
    if (known === undefined) return this.#unidentified(head, text);
    if (knowledge.isTooOld) return tooOld;
    const { found } = known;
    const reason = whyInactive(found, clock);
    if (reason !== undefined) {
      const met = this.#inactive(known, head, access.limits, reason);
      const isNoted = isRefusal(met) ? met.code !== 'rate_limit_exceeded' : !met.limited;
      if (isNoted) accessLog.refused(found, aim, reason, head);
      return met;
    }
    const active = found as BearerPrincipal;
    accessLog.used(active);
    const pass = this.#leaseOf(known, access.limits, active);
    if (!pass.limited) {
      pass.denied = denial(head, access, active);
      if (pass.denied !== undefined) accessLog.refused(active, aim, pass.denied.code, head);
    }
    return pass;
  }

  meet(head: Head, access: Access | undefined) {
    if (access !== undefined && !('permission' in access)) return undefined;
    const text = presented(head, access?.apiKeyHeader);
    if (typeof text !== 'string') return undefined;
    const known = this.#identify(text);
    const reason = known && whyInactive(known.found, this.#given.clock);
    if (known && reason === undefined) {
      const active = known.found as BearerPrincipal;
      this.#given.accessLog.used(active);
      return this.#leaseOf(known, access?.limits, active);
    }
    const met = known && reason ? this.#inactive(known, head, access?.limits, reason) : this.#unidentified(head, text);
    // An unrouted request is not refused for a bad credential, only for too many.
    return isRefusal(met) && met.code !== 'rate_limit_exceeded' ? undefined : met;
  }

  judgeAgain(head: Head, access: Access, aim: Aim) {
    if (!('permission' in access)) throw new Error('a route that takes no key and no token has no gate');
    const text = presented(head, access.apiKeyHeader);
    if (typeof text !== 'string') return text;
    const found = this.#identify(text)?.found;
    if (found === undefined) {
      const token = text.slice(usualScheme.length);
      return this.#mayBeKnown(token) ? behind : unknown(token);
    }
    if (this.#given.knowledge.isTooOld) return tooOld;
    const reason = whyInactive(found, this.#given.clock);
    const refused = reason === undefined ? denial(head, access, found as BearerPrincipal) : refusals[reason];
    if (refused === undefined) return { principal: found as BearerPrincipal };
    this.#given.accessLog.refused(found, aim, refused.code, head);
    return refused;
  }
}

export const apiKeyGate = (options: GateOptions): Gate<BearerPrincipal> => new ApiKeyGate(options);

type Family = 'inference' | 'credits' | 'administration';
/** The route's own, else by the kind of credential (contract F.2). */
type LimitFamily = BearerAccess['limits'];
