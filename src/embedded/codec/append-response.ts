import type { Expected } from './expected.ts';
import { bytesField, emptyField, messageField, putVarint, varintField, varintSize } from './write.ts';

const typeUrl = 'type.googleapis.com/event_store.client.';

/** Refusals of a batch append, named after the protocol's detail messages. */
export type BatchRefusal =
  | { readonly detail: 'WrongExpectedVersion'; readonly current: number; readonly expected: Expected }
  | { readonly detail: 'StreamDeleted' | 'AccessDenied' | 'Timeout' }
  | { readonly detail: 'MaximumAppendSizeExceeded'; readonly limit: number }
  | { readonly detail: 'BadRequest' | 'Unknown'; readonly message: string }
  /** Not in the protocol: clients show the message of an unknown detail. */
  | { readonly detail: 'DataLoss'; readonly message: string };

const rpcCode = {
  WrongExpectedVersion: 9,
  StreamDeleted: 9,
  AccessDenied: 7,
  Timeout: 4,
  MaximumAppendSizeExceeded: 3,
  BadRequest: 3,
  Unknown: 2,
  DataLoss: 15,
} as const;

/** `StreamIdentifier` in the given field. */
export function streamField(field: number, stream: Uint8Array): Buffer {
  return messageField(field, bytesField(3, stream));
}

/** Commit and prepare position, which are equal for everything written over gRPC. */
export function positionFields(position: number | bigint): Buffer {
  return Buffer.concat([varintField(1, position), varintField(2, position)]);
}

function expectedField(expected: Expected, fields: { revision: number; any: number; exists: number; none: number }) {
  if (expected === 'any') return emptyField(fields.any);
  if (expected === 'stream_exists') return emptyField(fields.exists);
  if (expected === 'no_stream') return emptyField(fields.none);
  return varintField(fields.revision, expected);
}

/** BatchAppendResp of an accepted append, in one buffer for speed. `revision` is -1 for an empty stream. */
export function encodeBatchSuccess(
  correlation: Uint8Array,
  stream: Uint8Array,
  expected: Expected,
  revision: number,
  position: number,
): Buffer {
  const positionSize = varintSize(position);
  const revisionSize = revision < 0 ? 2 : 1 + varintSize(revision);
  const successSize = revisionSize + 2 + 2 + 2 * positionSize;
  const nameSize = 1 + varintSize(stream.length) + stream.length;
  const tail = expectedField(expected, { revision: 5, none: 6, any: 7, exists: 8 });
  const size =
    1 +
    varintSize(correlation.length) +
    correlation.length +
    2 +
    successSize +
    1 +
    varintSize(nameSize) +
    nameSize +
    tail.length;
  const out = Buffer.allocUnsafe(size);
  out[0] = 0x0a;
  let at = putVarint(out, 1, correlation.length);
  out.set(correlation, at);
  at += correlation.length;
  out[at++] = 0x1a;
  out[at++] = successSize;
  if (revision < 0) {
    out[at++] = 0x12;
    out[at++] = 0;
  } else {
    out[at++] = 0x08;
    at = putVarint(out, at, revision);
  }
  out[at++] = 0x1a;
  out[at++] = 2 + 2 * positionSize;
  out[at++] = 0x08;
  at = putVarint(out, at, position);
  out[at++] = 0x10;
  at = putVarint(out, at, position);
  out[at++] = 0x22;
  at = putVarint(out, at, nameSize);
  out[at++] = 0x1a;
  at = putVarint(out, at, stream.length);
  out.set(stream, at);
  out.set(tail, at + stream.length);
  return out;
}

/** BatchAppendResp of a refused append. Names the stream always, because the client dereferences it. */
export function encodeBatchRefusal(correlation: Uint8Array, stream: Uint8Array, refusal: BatchRefusal): Buffer {
  const status = Buffer.concat([
    varintField(1, rpcCode[refusal.detail]),
    bytesField(2, 'message' in refusal ? refusal.message : refusal.detail),
    messageField(3, bytesField(1, typeUrl + refusal.detail), bytesField(2, detailBytes(stream, refusal))),
  ]);
  return Buffer.concat([bytesField(1, correlation), bytesField(2, status), streamField(4, stream)]);
}

function detailBytes(stream: Uint8Array, refusal: BatchRefusal): Buffer {
  switch (refusal.detail) {
    case 'WrongExpectedVersion':
      return Buffer.concat([
        refusal.current < 0 ? emptyField(2) : varintField(1, refusal.current),
        expectedField(refusal.expected, { revision: 3, any: 4, exists: 5, none: 6 }),
      ]);
    case 'StreamDeleted':
      return streamField(1, stream);
    case 'MaximumAppendSizeExceeded':
      return varintField(1, refusal.limit);
    case 'BadRequest':
      return bytesField(1, refusal.message);
    default:
      return Buffer.alloc(0);
  }
}

export function encodeAppendSuccess(revision: number, position: number): Buffer {
  const current = revision < 0 ? emptyField(2) : varintField(1, revision);
  return messageField(1, current, messageField(3, positionFields(position)));
}

/** AppendResp for a wrong revision: a normal answer, not an error status. */
export function encodeAppendWrongVersion(current: number, expected: Expected): Buffer {
  return messageField(
    2,
    current < 0 ? emptyField(7) : varintField(6, current),
    expectedField(expected, { revision: 8, any: 9, exists: 10, none: 11 }),
  );
}

export function encodeDeleted(position: number): Buffer {
  return messageField(1, positionFields(position));
}
