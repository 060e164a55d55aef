import { createHash, createHmac, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../folder.ts';
import { createSecretFile, replaceSecretFile } from './secret-file.ts';

/** Protect digests and idempotency scopes. Kept outside the store; if they are lost, no key works. */
export interface Secrets {
  /** 64 hexadecimal characters, part of the digest of every new token. */
  readonly pepper: string;
  /** Names the pepper in events. */
  readonly pepperId: string;
  /** The accepted ones, the current one first; two during a rotation. */
  readonly peppers: readonly string[];
  readonly masterKey: Buffer;
  /** For comparison in the log; reveal nothing else. The current pepper first. */
  readonly fingerprints: { readonly peppers: readonly string[]; readonly masterKey: string };
  /** HMAC-SHA-256 under the master key, hexadecimal. */
  mac(text: string): string;
}

export const secretForm = /^[0-9a-f]{64}$/;

const hex32 = z.string().regex(secretForm, { error: 'must be 64 hexadecimal characters' });
const fileSchema = z.strictObject({ master_key: hex32, pepper: hex32, previous_pepper: hex32.optional() });
type SecretValues = Readonly<z.infer<typeof fileSchema>>;

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

export const hasSecrets = (dir: string): boolean => existsSync(fileIn(dir));

/** Makes `secrets.json` on the first start (folder 0700, file 0600). @throws Error if it is damaged or unusable */
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

/** @throws Error if there is a previous pepper: its keys would stop working */
export const rotatePepper = (dir: string): Secrets => {
  const { master_key, pepper, previous_pepper: previous } = readSecretFile(dir);
  if (previous !== undefined) throw new Error(`The previous pepper, ${pepperIdOf(previous)}, is still accepted.`);
  return replaced(dir, { master_key, pepper: newSecret(), previous_pepper: pepper });
};

/** Keys made with the previous pepper stop working. */
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
