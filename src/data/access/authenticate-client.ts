import type { Clock, Millis } from '../../clock.ts';
import { Fault, fault } from '../../errors.ts';
import type { Head } from '../../http/route.ts';
import { digest, tokenKind } from '../../ids.ts';
import type { FailedAttempts } from '../../limits/failed-attempts.ts';
import type { AccessLog } from './access-log.ts';
import { behind, tooOld } from './credential-refusals.ts';
import type { Directory } from './directory.ts';
import type { Knowledge } from './knowledge.ts';
import type { ClientPrincipal } from './principal.ts';

export interface ClientFields {
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
}

interface Presented {
  readonly id: string;
  readonly secret: string;
}

const basic = /^basic +([A-Za-z0-9+/]+={0,2})$/i;

const unknownClient = (message?: string) =>
  fault('invalid_client', {
    headers: { 'WWW-Authenticate': 'Basic realm="api"' },
    ...(message !== undefined && { message }),
  });

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part.replaceAll('+', ' '));
  } catch {
    throw unknownClient();
  }
};

/** RFC 6749, 2.3.1: both halves are form-encoded. */
const fromHeader = (authorization: string): Presented => {
  const encoded = basic.exec(authorization)?.[1];
  if (encoded === undefined) throw unknownClient('The client must authenticate by HTTP Basic or in the body.');
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) throw unknownClient();
  return { id: decoded(pair.slice(0, colon)), secret: decoded(pair.slice(colon + 1)) };
};

/** RFC 6749, 2.3: one way to authenticate at a time. */
const presented = (head: Head, { client_id: id, client_secret: secret }: ClientFields): Presented => {
  const authorization = head.header('authorization');
  if (authorization === undefined) {
    if (id === undefined || secret === undefined)
      throw unknownClient('The client must authenticate by HTTP Basic or by client_id and client_secret in the body.');
    return { id, secret };
  }
  if (secret !== undefined)
    throw fault('invalid_request', { message: 'The client authenticated in the header and in the body.' });
  const client = fromHeader(authorization);
  if (id !== undefined && id !== client.id)
    throw fault('invalid_request', { message: 'client_id is not the client of the Authorization header.' });
  return client;
};

const guess = (failed: FailedAttempts, now: Millis, { ip }: Head) => {
  const seconds = failed.count(ip, now);
  if (seconds === 0) return unknownClient();
  const message = `Too many requests of unknown clients came from this address. Come back in ${seconds} seconds.`;
  return fault('rate_limit_exceeded', { message, headers: { 'Retry-After': String(seconds) } });
};

interface ClientLookup {
  readonly directory: Directory;
  /** The current one first. */
  readonly secrets: { readonly peppers: readonly string[] };
  readonly accessLog: Pick<AccessLog, 'refused'>;
  readonly clock: Clock;
}

/** Known clients and failed attempts. */
export interface Acquaintance {
  readonly failed: FailedAttempts;
  readonly knowledge: Knowledge;
}

/**
 * By HTTP Basic or body fields (contract C.3). @throws Fault 401 `invalid_client`, 400 if given twice, 429 after too
 * many attempts of an address, 503 if the client may be known elsewhere or the knowledge is too old (contract K.1)
 */
export const authenticateClient = (
  { accessLog, clock, directory, secrets }: ClientLookup,
  { failed, knowledge }: Acquaintance,
  head: Head,
  fields: ClientFields,
): ClientPrincipal => {
  const { id, secret } = presented(head, fields);
  const now = clock.monotonic();
  if (tokenKind(secret) !== 's') throw guess(failed, now, head);
  let isKnown = false;
  for (const pepper of secrets.peppers) {
    const found = directory.find(digest(pepper, secret));
    if (found === null) continue;
    if (knowledge.isTooOld) throw new Fault(tooOld);
    isKnown = true;
    if (found.id !== id) continue;
    if (found.inactive !== undefined)
      accessLog.refused(found, { method: 'POST', path: head.path }, 'invalid_client', head);
    else if (found.kind === 'client_secret') return found;
  }
  // May be known elsewhere, so it is no failed attempt.
  if (!isKnown && knowledge.isBehind) throw new Fault(behind);
  throw guess(failed, now, head);
};
