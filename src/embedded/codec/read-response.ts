import { positionFields, streamField } from './append-response.ts';
import { bytesField, emptyField, messageField, varintField } from './write.ts';

/** ReadResp that opens a subscription. */
export function encodeConfirmation(subscriptionId: string): Buffer {
  return messageField(2, bytesField(1, subscriptionId));
}

/** ReadResp with the position up to which a filtered subscription has looked. */
export function encodeCheckpoint(position: number): Buffer {
  return messageField(3, positionFields(position));
}

/** ReadResp in place of events of a stream that does not exist. */
export function encodeStreamNotFound(stream: Uint8Array): Buffer {
  return messageField(4, streamField(1, stream));
}

/** ReadResp with the first revision that a read from before it can give. */
export function encodeFirstPosition(revision: number): Buffer {
  return varintField(5, revision);
}

/** ReadResp with the last revision of the stream that is read. */
export function encodeLastPosition(revision: number): Buffer {
  return varintField(6, revision);
}

/** ReadResp each time a subscription goes live. */
export const CAUGHT_UP = emptyField(8);
