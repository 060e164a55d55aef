import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Recorded } from '../kernel/store/store.ts';

/**
 * The value of a new key, sealed so that it can be repeated to whoever made it (contract I). The data key comes from the
 * master key, the day's key, the secret of the calling credential and the Idempotency-Key, so neither a stolen store nor
 * one with the master key opens it, and nobody does once the day's key is destroyed.
 */
export interface Seal {
  readonly masterKey: Buffer;
  readonly dayKey: Buffer;
  /** The calling credential's own secret, or the id of an OAuth client. */
  readonly callerSecret: string;
  readonly idempotencyKey: string;
  /** The scope of the Idempotency-Key, as text. */
  readonly scope: string;
  /** What the box is bound to. */
  readonly resourceId: string;
  readonly fingerprint: string;
}

/** Base64url throughout. */
export interface SealedBox {
  readonly day: string;
  readonly iv: string;
  readonly box: string;
  readonly tag: string;
}

const algorithm = 'aes-256-gcm';

/** Each part in front of its own length: no two sets of parts make the same input. */
const joined = (parts: readonly (Buffer | string)[]): Buffer =>
  Buffer.concat(
    parts.flatMap((part) => {
      const bytes = Buffer.from(part as string);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return [length, bytes];
    }),
  );

const dataKey = ({ masterKey, dayKey, callerSecret, idempotencyKey, scope }: Seal): Buffer =>
  Buffer.from(hkdfSync('sha256', joined([masterKey, dayKey, callerSecret, idempotencyKey]), '', scope, 32));

const boundTo = ({ resourceId, fingerprint }: Seal): Buffer => joined([resourceId, fingerprint]);

export const sealSecret = (seal: Seal, day: string, value: string): SealedBox => {
  const iv = randomBytes(12);
  const cipher = createCipheriv(algorithm, dataKey(seal), iv).setAAD(boundTo(seal));
  const box = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
  const text = (bytes: Buffer): string => bytes.toString('base64url');
  return { day, iv: text(iv), box: text(box), tag: text(cipher.getAuthTag()) };
};

/** The value, or null where anything that went into the key, or the box itself, is not what it was. */
export const openSecret = (seal: Seal, { iv, box, tag }: SealedBox): string | null => {
  const bytes = (text: string): Buffer => Buffer.from(text, 'base64url');
  try {
    const decipher = createDecipheriv(algorithm, dataKey(seal), bytes(iv), { authTagLength: 16 }).setAAD(boundTo(seal));
    decipher.setAuthTag(bytes(tag));
    return Buffer.concat([decipher.update(bytes(box)), decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
};

export const boxOf = (event: Recorded): SealedBox => event.data as unknown as SealedBox;
