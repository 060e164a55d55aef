import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dayMs, type Millis } from '../clock.ts';
import { fileFault, makeFolder } from '../folder.ts';
import { createSecretFile } from './secret-file.ts';

/** The message is for the operator, `why` for the client. */
export class DayKeysUnusable extends Error {
  override readonly name = 'DayKeysUnusable';
  readonly why: string;
  constructor(cause: Error) {
    super(cause.message, { cause });
    this.why = fileFault(cause) ?? 'a file in it is damaged';
  }
}

/**
 * Random keys in files beside the secrets, never in the store or a backup: once a key is destroyed, what it sealed
 * cannot be read, wherever its bytes remain.
 */
export interface DayKeys {
  /** Made on first use. @throws DayKeysUnusable */
  current(now: Millis): { readonly day: string; readonly key: Buffer };
  of(day: string): Buffer | null;
  /** Destroys the keys of days that began 48 hours ago or earlier. */
  destroyOld(now: Millis): void;
}

const name = /^(\d{4}-\d{2}-\d{2})\.key$/;

export const dayKeys = (dir: string): DayKeys => {
  makeFolder(dir);
  const fileOf = (day: string): string => join(dir, `${day}.key`);
  const read = (day: string): Buffer | null => {
    const file = fileOf(day);
    if (!existsSync(file)) return null;
    const key = readFileSync(file);
    return key.length === 32 ? key : null;
  };
  const readOrMade = (day: string): Buffer => {
    const known = read(day);
    if (known) return known;
    createSecretFile(fileOf(day), randomBytes(32));
    // Another gateway that shares the folder may have been first.
    const key = read(day);
    if (!key) throw new Error(`${fileOf(day)} is damaged: it is no key of 32 bytes`);
    return key;
  };
  return {
    current(now) {
      const day = new Date(now).toISOString().slice(0, 10);
      try {
        return { day, key: readOrMade(day) };
      } catch (error) {
        throw new DayKeysUnusable(error as Error);
      }
    },
    of: (day) => (name.test(`${day}.key`) ? read(day) : null),
    destroyOld(now) {
      for (const file of readdirSync(dir)) {
        const day = name.exec(file)?.[1];
        if (day === undefined || now - Date.parse(day) < 2 * dayMs) continue;
        // Overwritten first, because a file system may keep the blocks of a removed file.
        writeFileSync(join(dir, file), randomBytes(32), { flush: true });
        rmSync(join(dir, file));
      }
    },
  };
};
