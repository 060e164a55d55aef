import { createHash, createHmac, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../folder.ts';
import { createSecretFile, replaceSecretFile } from './secret-file.ts';

/** What protects digests and idempotency scopes. Lives outside the store; losing it makes every key useless. */
export interface Secrets {
  /** 64 hexadecimal characters; goes into the digest of every token made from now on. */
  readonly pepper: string;
  /** Names the pepper in events without telling it. */
  readonly pepperId: string;
  /** Every pepper whose digests are accepted, the current one first: two while one takes over from the other. */
  readonly peppers: readonly string[];
  readonly masterKey: Buffer;
  /** What the log may know of them: tells the same from others and nothing else. The current pepper first. */
  readonly fingerprints: { readonly peppers: readonly string[]; readonly masterKey: string };
  /** HMAC-SHA-256 under the master key, hexadecimal. */
  mac(text: string): string;
}

/** The secrets themselves, each 64 hexadecimal characters. */
export interface SecretValues {
  readonly master_key: string;
  readonly pepper: string;
  /** The previous pepper; keys made under it still work. */
  readonly previous_pepper?: string | undefined;
}

/** What a secret looks like, in the file and in the environment. */
export const secretForm = /^[0-9a-f]{64}$/;

const hex32 = z.string().regex(secretForm, { error: 'must be 64 hexadecimal characters' });
const fileSchema = z.strictObject({ master_key: hex32, pepper: hex32, previous_pepper: hex32.optional() });

/** The same for the same pepper wherever it comes from. */
export const pepperIdOf = (pepper: string): string =>
  createHash('sha256').update(`pepper id ${pepper}`).digest('hex').slice(0, 8);

const fingerprintOf = (kind: 'pepper' | 'master key', secret: string): string =>
  createHmac('sha256', Buffer.from(secret, 'hex')).update(`fingerprint of the ${kind}`).digest('hex').slice(0, 16);

export const secretsFrom = (values: SecretValues): Secrets => {
  const { pepper, previous_pepper: previous } = values;
  const key = Buffer.from(values.master_key, 'hex');
  const peppers = previous === undefined || previous === pepper ? [pepper] : [pepper, previous];
  return {
    pepper,
    pepperId: pepperIdOf(pepper),
    peppers,
    fingerprints: {
      peppers: peppers.map((each) => fingerprintOf('pepper', each)),
      masterKey: fingerprintOf('master key', values.master_key),
    },
    masterKey: key,
    mac: (text) => createHmac('sha256', key).update(text).digest('hex'),
  };
};

const fileIn = (dir: string): string => join(dir, 'secrets.json');

/** Whether the folder holds secrets already. */
export const hasSecrets = (dir: string): boolean => existsSync(fileIn(dir));

/**
 * Reads `secrets.json` from the folder, or makes both on the first start (folder 0700, file 0600).
 * @throws Error with one clear sentence where the file is damaged; the file system's own where it cannot be used
 */
export const loadSecrets = (dir: string): Secrets => secretsFrom(readSecretFile(dir));

const readSecretFile = (dir: string): SecretValues => {
  const file = fileIn(dir);
  if (!hasSecrets(dir)) {
    makeFolder(dir);
    createSecretFile(file, textOf({ master_key: newSecret(), pepper: newSecret() }));
  }
  const parsed = fileSchema.safeParse(jsonOf(file));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`${file} is damaged: ${[...(issue?.path ?? []), issue?.message].join(' ')}`);
  }
  return parsed.data;
};

/**
 * Makes a new pepper for every key from now on. The previous one still counts.
 * @throws Error where there is a previous one already: with three, the first one's keys would end unnoticed
 */
export const rotatePepper = (dir: string): Secrets => {
  const { master_key, pepper, previous_pepper: previous } = readSecretFile(dir);
  if (previous !== undefined) throw new Error(`The previous pepper, ${pepperIdOf(previous)}, is still accepted.`);
  return replaced(dir, { master_key, pepper: newSecret(), previous_pepper: pepper });
};

/** Ends the previous pepper, and with it every key that was made under it. */
export const dropPreviousPepper = (dir: string): Secrets => {
  const { master_key, pepper } = readSecretFile(dir);
  return replaced(dir, { master_key, pepper });
};

const replaced = (dir: string, values: SecretValues): Secrets => {
  replaceSecretFile(fileIn(dir), textOf(values));
  return secretsFrom(values);
};

const newSecret = (): string => randomBytes(32).toString('hex');

const textOf = (values: SecretValues): string => `${JSON.stringify(values, null, 2)}\n`;

const jsonOf = (file: string): unknown => {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${file} is damaged: it is not JSON`);
  }
};
