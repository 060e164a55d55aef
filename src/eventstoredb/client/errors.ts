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

/** An error of `@eventstore/db-client` 6.2.1. Some have a `type`, some a gRPC `code`, some only a message. */
interface ClientError {
  readonly message: string;
  readonly type?: unknown;
  readonly code?: unknown;
}

export interface Call {
  readonly stream?: string;
  readonly expected?: Expected;
  /** Of an append: whether a store may find it too large. */
  readonly isLarge?: () => boolean;
  readonly right?: Right;
  readonly tries: number;
  readonly wasAnswered: boolean;
  /** The store may be too new to know its users. */
  readonly awaitsUsers?: boolean;
}

const unauthenticated = 16;
const permissionDenied = 7;
const unimplemented = 12;
const unknown = 2;
const invalidArgument = 3;
const resourceExhausted = 8;
const dataLoss = 15;

/** The store accepts no message or event of this size. */
export class TooLarge extends Error {}

const shape = (error: unknown): ClientError =>
  error instanceof Error ? (error as ClientError) : { message: String(error) };

const revisionOf = (actual: unknown): number | null => (typeof actual === 'bigint' ? Number(actual) : null);

const unavailable = (sentence: string, cause: unknown): StoreUnavailable => new StoreUnavailable(sentence, { cause });

/**
 * The error to give up with; undefined where the outcome is unknown and the call is repeated: a lost connection, `cancelled`,
 * `deadline-exceeded`, `timeout`, `unknown` during an election ("Server Is Not Ready", code 13), a failed discovery, unknown
 * errors.
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
  // The client does not know these two, and reports them as unknown.
  if (
    /MaximumAppendEventSizeExceeded|BadRequest/.test(message) ||
    type === 'invalid-argument' ||
    code === invalidArgument
  ) {
    return new Error(`the store refuses the request: ${message}`, { cause: error });
  }
  // No record begins at the position, and none ever will.
  if (call.stream === undefined && code === unknown && !/not ready/i.test(message)) {
    return new NoSuchPosition(`the store cannot read from there: ${message}`, { cause: error });
  }
  return refusedConnection({ type, code, message }, call, error);
};

/** The smallest limit of all known stores. */
export const neverTooLarge = 1024 * 1024;

/** A too large message ends the shared stream, so small appends are repeated. gRPC also uses the code for too many calls. */
const tooLarge = (error: unknown, call: Call): Error | undefined => {
  const said = saysWhy(error).replace(/^8 RESOURCE_EXHAUSTED: /, '');
  if (said.startsWith('Bandwidth exhausted') || call.isLarge?.() === false) return undefined;
  const what = call.expected === undefined ? 'the request' : `an append to ${call.stream}`;
  return new TooLarge(`the store refuses ${what}: ${said}`, { cause: error });
};

const damaged = (error: unknown): StoreDamaged => {
  const what = saysWhy(error).replace(/^.*DATA_LOSS: /, '');
  return new StoreDamaged(`The event store is damaged: ${what}; weir store verify names all of it.`, {
    cause: error,
  });
};

const refusesUser = (cause: unknown): StoreRefuses =>
  new StoreRefuses('The event store refuses the user or password.', { cause });

/** Faults that an operator has to mend; the client says "unavailable" for most. */
const refusedConnection = ({ type, code, message }: ClientError, call: Call, cause: unknown): Error | undefined => {
  // A new database knows its users only some seconds after its first answer.
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
  // A TLS port hangs up on plain text each time; a store that stops does so only once, and after it was known.
  const hangsUp = call.tries >= 3 && /Last error: Failed to connect|hangs up on plain text/.test(message);
  if (!call.wasAnswered && (hangsUp || /by a TLS alert/.test(message))) {
    return unavailable(
      'The event store hangs up at once: perhaps it wants TLS, and EVENTSTORE_URL says tls=false.',
      cause,
    );
  }
  return undefined;
};

export const saysWhy = (error: unknown): string => {
  const { message } = shape(error);
  const said = message
    .split('\n', 1)[0]!
    .trim()
    .replace(/\.?( Resolution note:)?$/, '');
  return said === '' ? 'it failed without saying why' : said;
};

export const outOfTime = (error: unknown, afterMs: number): StoreUnavailable => {
  const { message, code } = shape(error);
  if (code === unauthenticated) return refusesUser(error);
  const hint = /Failed to discover/.test(message)
    ? ' An untrusted certificate or a wrong tls setting looks the same.'
    : '';
  const seconds = (afterMs / 1000).toFixed(1);
  return unavailable(`The event store did not answer within ${seconds} s: ${saysWhy(error)}.${hint}`, error);
};
