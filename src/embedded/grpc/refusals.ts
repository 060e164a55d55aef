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

// Clients select the error class by the trailer `exception`.

/** Trailers are ASCII. For other stream names a real node answers a bare UNKNOWN, too. */
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

/** For delete and tombstone. Clients match this exact sentence. */
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

/** @param stream empty for all streams */
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

/** No record begins at the position, or a backward read begins after the end. */
export function noBoundary(): RpcError {
  return new RpcError(UNKNOWN, 'The position is not the beginning of a record.');
}

/** The options of a read exclude every event. A real node answers UNKNOWN, too. */
export function nothingToRead(why: string): RpcError {
  return new RpcError(UNKNOWN, why);
}

export function unavailable(reason: string): RpcError {
  return new RpcError(UNAVAILABLE, reason);
}

/** Without the trailer of `accessDenied`, which .NET's clients would match first. */
export function badCredentials(): RpcError {
  return new RpcError(UNAUTHENTICATED, 'Unauthenticated.');
}

export function accessDenied(): RpcError {
  return new RpcError(PERMISSION_DENIED, 'Access Denied.', { exception: 'access-denied' });
}
