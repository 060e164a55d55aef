import { createHmac, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder } from './folder.ts';

/** What protects digests and idempotency scopes. Lives outside the store; losing it makes every key useless. */
export interface Secrets {
  /** 64 hexadecimal characters; goes into the digest of every token made from now on. */
  readonly pepper: string;
  readonly pepperId: string;
  /** Every pepper whose digests are accepted, the current one first. */
  readonly peppers: readonly string[];
  readonly masterKey: Buffer;
  /** HMAC-SHA-256 under the master key, hexadecimal. */
  mac(text: string): string;
}

const hex32 = z.string().regex(/^[0-9a-f]{64}$/, { error: 'must be 64 hexadecimal characters' });
const fileSchema = z.strictObject({
  master_key: hex32,
  current_pepper: z.string(),
  peppers: z.record(z.string().regex(/^[a-z0-9]{1,16}$/), hex32),
});

/**
 * Reads `secrets.json` from the folder, or makes both on the first start (folder 0700, file 0600).
 * @throws Error with one clear sentence where the file is damaged
 */
export const loadSecrets = (dir: string): Secrets => {
  const file = join(dir, 'secrets.json');
  if (!existsSync(file)) {
    makeFolder(dir, 0o700);
    const fresh = { master_key: newSecret(), current_pepper: 'p1', peppers: { p1: newSecret() } };
    writeFileSync(file, `${JSON.stringify(fresh, null, 2)}\n`, { mode: 0o600, flag: 'wx', flush: true });
  }
  const parsed = fileSchema.safeParse(jsonOf(file));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`${file} is damaged: ${issue?.path.join('.')} ${issue?.message}`);
  }
  const { master_key: masterKey, current_pepper: pepperId, peppers } = parsed.data;
  const pepper = peppers[pepperId];
  if (pepper === undefined) throw new Error(`${file} is damaged: there is no pepper ${pepperId}`);
  const key = Buffer.from(masterKey, 'hex');
  return {
    pepper,
    pepperId,
    peppers: [pepper, ...Object.values(peppers).filter((other) => other !== pepper)],
    masterKey: key,
    mac: (text) => createHmac('sha256', key).update(text).digest('hex'),
  };
};

const newSecret = (): string => randomBytes(32).toString('hex');

const jsonOf = (file: string): unknown => {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${file} is damaged: it is not JSON`);
  }
};
