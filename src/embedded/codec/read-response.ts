import { positionFields, streamField } from './append-response.ts';
import { bytesField, emptyField, messageField, varintField } from './write.ts';

export function encodeConfirmation(subscriptionId: string): Buffer {
  return messageField(2, bytesField(1, subscriptionId));
}

export function encodeCheckpoint(position: number): Buffer {
  return messageField(3, positionFields(position));
}

export function encodeStreamNotFound(stream: Uint8Array): Buffer {
  return messageField(4, streamField(1, stream));
}

/** The first revision that a read from before it returns. */
export function encodeFirstPosition(revision: number): Buffer {
  return varintField(5, revision);
}

export function encodeLastPosition(revision: number): Buffer {
  return varintField(6, revision);
}

export const CAUGHT_UP = emptyField(8);
