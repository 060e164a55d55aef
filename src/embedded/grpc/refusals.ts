import { type Expected, expectedNumber } from '../codec/expected.ts';
import {
  FAILED_PRECONDITION,
  INVALID_ARGUMENT,
  isAscii,
  NOT_FOUND,
  PERMISSION_DENIED,
  RpcError,
  UNAUTHENTICATED,
  UNAVAILABLE,
  UNKNOWN,
} from './status.ts';

// The client picks the error by the trailer `exception` and reads the others into the error's fields.

/** Trailers are ASCII. Where a stream name is not, the real server ends up with a bare UNKNOWN, and so does this one. */
function named(stream: string, error: () => RpcError): RpcError {
  return isAscii(stream) ? error() : new RpcError(UNKNOWN, 'Exception was thrown by handler.');
}

export function streamDeleted(stream: string): RpcError {
  return named(
    stream,
    () =>
      new RpcError(FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
        exception: 'stream-deleted',
        'stream-name': stream,
      }),
  );
}

/** A delete or tombstone of a stream that is elsewhere. Clients look for this very sentence, which is the same for both. */
export function deleteAtWrongVersion(stream: string, expected: Expected, current: number): RpcError {
  const [wanted, actual] = [expectedNumber(expected), String(current)];
  return named(
    stream,
    () =>
      new RpcError(
        FAILED_PRECONDITION,
        `Delete failed due to WrongExpectedVersion. Stream: ${stream}, Expected version: ${wanted}, Actual version: ${actual}`,
        {
          exception: 'wrong-expected-version',
          'stream-name': stream,
          'expected-version': wanted,
          'actual-version': actual,
        },
      ),
  );
}

export function appendTooLarge(limit: number): RpcError {
  return new RpcError(INVALID_ARGUMENT, `Maximum Append Size of ${limit} Exceeded.`, {
    exception: 'maximum-append-size-exceeded',
    'maximum-append-size': String(limit),
  });
}

export function missingMetadata(names: string): RpcError {
  return new RpcError(INVALID_ARGUMENT, `Required metadata properties are missing: ${names}.`, {
    exception: 'missing-required-metadata-property',
    'required-metadata-properties': names,
  });
}

/** @param stream whose persistent subscriptions were asked for: there are none. Empty for those of all streams */
export function noSuchGroup(stream: string): RpcError {
  return named(
    stream,
    () =>
      new RpcError(NOT_FOUND, `Subscription group  on stream ${stream} does not exist.`, {
        exception: 'persistent-subscription-does-not-exist',
        'stream-name': stream,
        'group-name': '',
      }),
  );
}

/** A position that a record does not begin at, or behind the end where a read goes backwards. */
export function noBoundary(): RpcError {
  return new RpcError(UNKNOWN, 'The position is not the beginning of a record.');
}

/** A read that can give nothing, by its options alone. The real server fails on it, and says no more than this. */
export function nothingToRead(why: string): RpcError {
  return new RpcError(UNKNOWN, why);
}

export function unavailable(reason: string): RpcError {
  return new RpcError(UNAVAILABLE, reason);
}

/** A user who is not the one, or a wrong password. With the trailer of `accessDenied` .NET's clients would take it for that. */
export function badCredentials(): RpcError {
  return new RpcError(UNAUTHENTICATED, 'Unauthenticated.');
}

/** Nobody in particular, where somebody is wanted. */
export function accessDenied(): RpcError {
  return new RpcError(PERMISSION_DENIED, 'Access Denied.', { exception: 'access-denied' });
}
