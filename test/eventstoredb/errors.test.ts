import { describe, expect, test } from 'vitest';
import { type Call, finalError, outOfTime, TooLarge } from '../../src/eventstoredb/client/errors.ts';
import { StoreRefuses, StoreUnavailable, StreamDeleted, WrongRevision } from '../../src/kernel/store/store.ts';
import { clientError } from '../support/fake-client.ts';

const call: Call = { stream: 's-1', expected: 3, tries: 1, wasAnswered: true };

/** Texts as the client said them to a real node or to a server that stood in for one. */
describe('repeated', () => {
  test.each([
    ['a node that died', clientError('14 UNAVAILABLE: read ECONNRESET', { code: 14 })],
    ['a node that stopped', clientError('14 UNAVAILABLE: Server is shutting down', { type: 'unavailable', code: 14 })],
    [
      'nobody there',
      clientError('14 UNAVAILABLE: No connection established. Last error: connect ECONNREFUSED', { code: 14 }),
    ],
    ['a cut call', clientError('1 CANCELLED: stream', { type: 'cancelled', code: 1 })],
    ['a twin in flight', clientError('4 DEADLINE_EXCEEDED', { type: 'deadline-exceeded', code: 4 })],
    ['a write that took too long', clientError('10 ABORTED', { type: 'timeout', code: 10 })],
    ['an election', clientError('Server Is Not Ready', { type: 'unknown' })],
    ['a reset stream', clientError('13 INTERNAL: Received RST_STREAM', { type: 'unknown', code: 13 })],
    ['another leader', clientError('not leader', { type: 'not-leader', code: 5 })],
    ['a cluster not found', clientError('Failed to discover after 10 attempts.')],
    ['what nobody has seen yet', clientError('hm')],
    [
      'a connection that is closed because of too many calls',
      clientError('8 RESOURCE_EXHAUSTED: Bandwidth exhausted or memory limit exceeded', { type: 'unknown', code: 8 }),
    ],
    ['no error at all', 'text'],
  ])('%s', (_, error) => {
    expect(finalError(error, call)).toBeUndefined();
  });

  test('a refused user, as long as the store may be too new to know its users', () => {
    const refused = clientError('16 UNAUTHENTICATED', { type: 'access-denied', code: 16 });
    expect(finalError(refused, { ...call, wasAnswered: false, awaitsUsers: true, tries: 9 })).toBeUndefined();
    expect(finalError(refused, { ...call, wasAnswered: false })).toBeInstanceOf(StoreRefuses);
    expect(finalError(refused, call)).toBeInstanceOf(StoreRefuses);
  });

  test('a store that hangs up, once it has answered before, or at the first tries', () => {
    const error = clientError('14 UNAVAILABLE: No connection established. Last error: Failed to connect (now)', {
      code: 14,
    });
    expect(finalError(error, { ...call, tries: 9 })).toBeUndefined();
    expect(finalError(error, { ...call, wasAnswered: false, tries: 2 })).toBeUndefined();
    expect(finalError(error, { ...call, wasAnswered: false, tries: 3 })?.message).toMatch(/TLS/);
  });
});

describe('a read of the global order', () => {
  const read: Call = { tries: 1, wasAnswered: true };
  const insideARecord = clientError('2 UNKNOWN: Exception was thrown by handler.', { type: 'unknown', code: 2 });

  test('from inside a record is given up: it never becomes the beginning of one', () => {
    const final = finalError(insideARecord, read);
    expect(final?.message).toMatch(/cannot read from there/);
    expect(final).not.toBeInstanceOf(StoreUnavailable);
    expect(final?.cause).toBe(insideARecord);
  });

  test('is repeated where the store says the same for another reason, and so is the same said of a stream', () => {
    const election = clientError('2 UNKNOWN: Server Is Not Ready', { type: 'unknown', code: 2 });
    expect(finalError(election, read)).toBeUndefined();
    expect(finalError(clientError('13 INTERNAL', { type: 'unknown', code: 13 }), read)).toBeUndefined();
    expect(finalError(insideARecord, { ...read, stream: 's-1' })).toBeUndefined();
    expect(finalError(insideARecord, call)).toBeUndefined();
  });
});

describe('given up with', () => {
  test('a wrong revision, with where the stream is', () => {
    const error = (actualVersion: unknown) => clientError('wrong', { type: 'wrong-expected-version', actualVersion });
    expect(finalError(error(7n), call)).toEqual(new WrongRevision('s-1', 3, 7));
    expect(finalError(error('no_stream'), call)).toEqual(new WrongRevision('s-1', 3, null));
  });

  test.each([
    [
      'a bad password',
      clientError('16 UNAUTHENTICATED', { type: 'access-denied', code: 16 }),
      StoreRefuses,
      /user or password/,
    ],
    ['an ACL on a read', clientError('7 PERMISSION_DENIED', { type: 'access-denied', code: 7 }), StoreRefuses, /ACL/],
    ['an ACL on an append', clientError('', { type: 'access-denied' }), StoreRefuses, /ACL/],
    ['a tombstone', clientError('', { type: 'stream-deleted' }), StreamDeleted, /deleted the stream s-1 .* for good/],
    [
      'a missing authority',
      clientError('14 UNAVAILABLE: No connection established. Last error: Error: self-signed certificate.', {
        code: 14,
      }),
      StoreUnavailable,
      /tlsCAFile/,
    ],
    [
      'a certificate for another host',
      clientError("14 UNAVAILABLE: Last error: Error: Hostname/IP does not match certificate's altnames", { code: 14 }),
      StoreUnavailable,
      /host name/,
    ],
    [
      'TLS to a plain port',
      clientError('14 UNAVAILABLE: Last error: SSL routines:ssl3_get_record:wrong version number', { code: 14 }),
      StoreUnavailable,
      /tls=false/,
    ],
    [
      'something else there',
      clientError('12 UNIMPLEMENTED', { type: 'unknown', code: 12 }),
      StoreUnavailable,
      /not an event store/,
    ],
    [
      'too large an append',
      clientError('', { type: 'maximum-append-size-exceeded', maxAppendSize: 1024 }),
      Error,
      /1024 bytes/,
    ],
    [
      'too large an event',
      clientError('Could not recognize MaximumAppendEventSizeExceeded', { type: 'unknown' }),
      Error,
      /refuses/,
    ],
    [
      'an event above the greatest message',
      clientError('8 RESOURCE_EXHAUSTED: Received message exceeds the maximum', { type: 'unknown', code: 8 }),
      TooLarge,
      /^the store refuses an append to s-1: Received message exceeds the maximum$/,
    ],
    ['a bad request', clientError('Could not recognize BadRequest', { type: 'unknown' }), Error, /refuses/],
    ['our own mistake', new TypeError('no'), TypeError, /no/],
  ])('%s', (_, error, kind, sentence) => {
    const final = finalError(error, call);
    expect(final).toBeInstanceOf(kind);
    expect(final?.message).toMatch(sentence);
  });

  test('the last error where the time is up', () => {
    const error = clientError('14 UNAVAILABLE: read ECONNRESET', { code: 14 });
    expect(outOfTime(error, 15_000.4)).toMatchObject({ name: 'StoreUnavailable', cause: error });
    expect(outOfTime(error, 15_040).message).toMatch(/15\.0 s: .*ECONNRESET\.$/);
    expect(outOfTime(clientError('Failed to discover after 10 attempts.'), 1).message).toMatch(/certificate/);
  });
});
