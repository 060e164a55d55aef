import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** Weir's UUIDv5 name space. Never to change, because the store recognises repeats by these ids. */
const nameSpace = Buffer.from('6f1c7a2e9b7d4c53a0e48d15f3b2c961', 'hex');

/**
 * A UUIDv5 (RFC 9562): the same command with the same event on the same stream gets the same id. Stream, type and data are
 * included because the store compares ids only.
 */
export const eventId = (command: string, index: number, stream: string, type: string, data: object): string => {
  const digest = createHash('sha256')
    .update(`${stream}\n${type}\n${canonicalize(data)}`)
    .digest('hex');
  const bytes = createHash('sha1').update(nameSpace).update(`${command}\n${index}\n${digest}`).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};

export type EventId = typeof eventId;
