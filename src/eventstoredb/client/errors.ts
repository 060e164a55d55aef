import {
  type Expected,
  NoSuchPosition,
  StoreDamaged,
  StoreRefuses,
  StoreUnavailable,
  StreamDeleted,
  WrongRevision,
} from '../../kernel/store/store.ts';
import type { Right } from './rights.ts';

/**
 * What the errors of `@eventstore/db-client` 6.2.1 mean. Some carry its `type`, some only a gRPC `code`, some neither,
 * so all three are looked at: type, code, text.
 */
interface ClientError {
  readonly message: string;
  readonly type?: unknown;
  readonly code?: unknown;
}

/** The call that failed: an append has an expected revision. */
export interface Call {
  readonly stream?: string;
  readonly expected?: Expected;
  /** Of an append: whether it has so many bytes that a store may find it too large. */
  readonly isLarge?: () => boolean;
  /** What it needs of the rights. */
  readonly right?: Right;
  /** How often this call has been tried, this time included. */
  readonly tries: number;
  /** Whether the store has ever answered this client. */
  readonly wasAnswered: boolean;
  /** The store may be so new that it does not know its users yet. */
  readonly awaitsUsers?: boolean;
}

const unauthenticated = 16;
const permissionDenied = 7;
const unimplemented = 12;
const unknown = 2;
const invalidArgument = 3;
const resourceExhausted = 8;
const dataLoss = 15;

/** The store takes no message or event as large as that. */
export class TooLarge extends Error {}

const shape = (error: unknown): ClientError =>
  error instanceof Error ? (error as ClientError) : { message: String(error) };

const revisionOf = (actual: unknown): number | null => (typeof actual === 'bigint' ? Number(actual) : null);

const unavailable = (sentence: string, cause: unknown): StoreUnavailable => new StoreUnavailable(sentence, { cause });

/**
 * The error to give up with, or undefined where the outcome is unknown and the same call is to be repeated: a lost
 * connection, `cancelled`, `deadline-exceeded` (also said of a twin in flight), `timeout`, `unknown` during an election
 * ("Server Is Not Ready", code 13), a failed discovery, and whatever nobody has seen yet.
 */
export const finalError = (error: unknown, call: Call): Error | undefined => {
  if (error instanceof StoreUnavailable || error instanceof TypeError || error instanceof RangeError) return error;
  const { type, code, message } = shape(error);
  if (code === dataLoss || /DATA_LOSS: /.test(message)) return damaged(error);
  if (call.stream !== undefined && call.expected !== undefined) {
    if (type === 'wrong-expected-version') {
      const { actualVersion } = error as { actualVersion?: unknown };
      return new WrongRevision(call.stream, call.expected, revisionOf(actualVersion));
    }
  }
  if (type === 'stream-deleted' && call.stream !== undefined) return new StreamDeleted(call.stream, error);
  if (type === 'maximum-append-size-exceeded') {
    const { maxAppendSize } = error as { maxAppendSize?: unknown };
    return new Error(`an append to ${call.stream} exceeds the store's limit of ${maxAppendSize} bytes`, {
      cause: error,
    });
  }
  if (code === resourceExhausted) return tooLarge(error, call);
  // Two that the client does not know and reports as unknown.
  if (
    /MaximumAppendEventSizeExceeded|BadRequest/.test(message) ||
    type === 'invalid-argument' ||
    code === invalidArgument
  ) {
    return new Error(`the store refuses the request: ${message}`, { cause: error });
  }
  // A position that is not the beginning of a record: it will not become one.
  if (call.stream === undefined && code === unknown && !/not ready/i.test(message)) {
    return new NoSuchPosition(`the store cannot read from there: ${message}`, { cause: error });
  }
  return refusedConnection({ type, code, message }, call, error);
};

/** A store refuses no append below its limit, and all that are known are at least as high. */
export const neverTooLarge = 1024 * 1024;

/**
 * A message above the store's limit ends the call, and with it what else is on the client's one stream of appends: whoever is
 * small was not meant. gRPC gives the code to a connection, too, that is closed because of too many calls.
 */
const tooLarge = (error: unknown, call: Call): Error | undefined => {
  const said = saysWhy(error).replace(/^8 RESOURCE_EXHAUSTED: /, '');
  if (said.startsWith('Bandwidth exhausted') || call.isLarge?.() === false) return undefined;
  const what = call.expected === undefined ? 'the request' : `an append to ${call.stream}`;
  return new TooLarge(`the store refuses ${what}: ${said}`, { cause: error });
};

/** The store names the event; what to do about it is the same wherever it comes up. */
const damaged = (error: unknown): StoreDamaged => {
  const what = saysWhy(error).replace(/^.*DATA_LOSS: /, '');
  return new StoreDamaged(`The event store is damaged: ${what}; weir store verify names all of it.`, {
    cause: error,
  });
};

const refusesUser = (cause: unknown): StoreRefuses =>
  new StoreRefuses('The event store refuses the user or password.', { cause });

/** What an operator has to mend, told apart, since the client says "unavailable" to most of it. */
const refusedConnection = ({ type, code, message }: ClientError, call: Call, cause: unknown): Error | undefined => {
  // A new database knows its users some seconds after it answers.
  if (code === unauthenticated) return call.awaitsUsers ? undefined : refusesUser(cause);
  if (type === 'access-denied' || code === permissionDenied) {
    const what = call.right === undefined ? 'access' : `the right to ${call.right}`;
    return new StoreRefuses(`The event store denies this user ${what}: an ACL, or no user in EVENTSTORE_URL.`, {
      cause,
    });
  }
  if (code === unimplemented) return unavailable('What answers at EVENTSTORE_URL is not an event store.', cause);
  if (/altname/i.test(message)) {
    return unavailable('The certificate of the event store is for another host name.', cause);
  }
  if (/certificate|CERT_|UNABLE_TO_/i.test(message)) {
    return unavailable(
      'The certificate of the event store is not trusted: name its authority with tlsCAFile in EVENTSTORE_URL.',
      cause,
    );
  }
  if (/wrong version number|SSL routines/i.test(message)) {
    return unavailable(
      'The event store does not speak TLS there: add tls=false to EVENTSTORE_URL, or use its TLS port.',
      cause,
    );
  }
  // A TLS port hangs up on plain text; a store that goes down does so too, but not again and again, and only once known.
  const hangsUp = call.tries >= 3 && /Last error: Failed to connect|hangs up on plain text/.test(message);
  if (!call.wasAnswered && (hangsUp || /by a TLS alert/.test(message))) {
    return unavailable(
      'The event store hangs up at once: perhaps it wants TLS, and EVENTSTORE_URL says tls=false.',
      cause,
    );
  }
  return undefined;
};

/** What an error says, in one line without the client's ornaments. */
export const saysWhy = (error: unknown): string => {
  const { message } = shape(error);
  const said = message
    .split('\n', 1)[0]!
    .trim()
    .replace(/\.?( Resolution note:)?$/, '');
  return said === '' ? 'it failed without saying why' : said;
};

/** What to say when the time is up and the outcome still unknown. */
export const outOfTime = (error: unknown, afterMs: number): StoreUnavailable => {
  const { message, code } = shape(error);
  if (code === unauthenticated) return refusesUser(error);
  const hint = /Failed to discover/.test(message)
    ? ' An untrusted certificate or a wrong tls setting looks the same.'
    : '';
  const seconds = (afterMs / 1000).toFixed(1);
  return unavailable(`The event store did not answer within ${seconds} s: ${saysWhy(error)}.${hint}`, error);
};
