import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Recorded } from '../kernel/store/store.ts';

/**
 * The input of the sealing of a new key's value (contract I). The data key is derived from the master key, the day's key, the
 * caller's secret and the Idempotency-Key: a stolen store and master key are not enough, and without the day's key nothing is.
 */
export interface Seal {
  readonly masterKey: Buffer;
  readonly dayKey: Buffer;
  /** The credential's own secret, or the id of an OAuth client. */
  readonly callerSecret: string;
  readonly idempotencyKey: string;
  readonly scope: string;
  /** Authenticated with the box, as is the fingerprint. */
  readonly resourceId: string;
  readonly fingerprint: string;
}

/** Base64url. */
export interface SealedBox {
  readonly day: string;
  readonly iv: string;
  readonly box: string;
  readonly tag: string;
}

const algorithm = 'aes-256-gcm';

/** Length-prefixed, so that different parts never give the same bytes. */
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

/** Null if anything differs from the sealing. */
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
