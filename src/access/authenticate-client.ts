import type { Clock, Millis } from '../clock.ts';
import { Fault, fault } from '../errors.ts';
import type { Head } from '../http/route.ts';
import { digest, tokenKind } from '../ids.ts';
import type { FailedAttempts } from '../limits/failed-attempts.ts';
import type { AccessLog } from './access-log.ts';
import { behind, tooOld } from './credential-refusals.ts';
import type { Directory } from './directory.ts';
import type { Knowledge } from './knowledge.ts';
import type { ClientPrincipal } from './principal.ts';

/** What of a form can prove a client. */
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

/** Both halves are form-encoded before they are joined (RFC 6749, 2.3.1). */
const fromHeader = (authorization: string): Presented => {
  const encoded = basic.exec(authorization)?.[1];
  if (encoded === undefined) throw unknownClient('The client must authenticate by HTTP Basic or in the body.');
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) throw unknownClient();
  return { id: decoded(pair.slice(0, colon)), secret: decoded(pair.slice(colon + 1)) };
};

/** One way to authenticate, never two at once (RFC 6749, 2.3). */
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

/** The client is not who it says: 401, until too many such requests have come from its address (contract F.3). */
const guess = (failed: FailedAttempts, now: Millis, { ip }: Head) => {
  const seconds = failed.count(ip, now);
  if (seconds === 0) return unknownClient();
  const message = `Too many requests of unknown clients came from this address. Come back in ${seconds} seconds.`;
  return fault('rate_limit_exceeded', { message, headers: { 'Retry-After': String(seconds) } });
};

/** Where clients are looked up, and where a refused one is noted. */
interface ClientLookup {
  readonly directory: Directory;
  /** Live peppers, the current one first. */
  readonly secrets: { readonly peppers: readonly string[] };
  readonly accessLog: Pick<AccessLog, 'refused'>;
  readonly clock: Clock;
}

/** What is known of clients here, and of those who are none. */
export interface Acquaintance {
  /** Failures to authenticate, by address. */
  readonly failed: FailedAttempts;
  readonly knowledge: Knowledge;
}

/**
 * The OAuth client that a request comes from, by HTTP Basic or by fields of the body (contract C.3).
 * @throws Fault 401 `invalid_client` whatever about the client is not right, 400 where it is said twice, 429 where one
 *   address has tried too often, 503 where the secret is not known here and may be elsewhere, and where what is known is
 *   too old (contract K.1)
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
  // As a token that may be known elsewhere: nobody's fault, so it does not count either.
  if (!isKnown && knowledge.isBehind) throw new Fault(behind);
  throw guess(failed, now, head);
};
