import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { leaveToOwner } from '../folder.ts';

const syncFolder = (dir: string): void => {
  const folder = openSync(dir, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
};

/** Writes the data under another name, for the owner alone, and lets `name` give it its own: it is there whole or not at all. */
const write = (file: string, data: Buffer | string, name: (made: string) => void): void => {
  const made = `${file}.${randomBytes(6).toString('hex')}.new`;
  const descriptor = openSync(made, 'wx', 0o600);
  try {
    leaveToOwner(made);
    writeSync(descriptor, Buffer.from(data as string));
    fsyncSync(descriptor);
    closeSync(descriptor);
    name(made);
  } finally {
    rmSync(made, { force: true });
  }
  syncFolder(dirname(file));
};

/** Puts a secret in the place of another. */
export const replaceSecretFile = (file: string, data: Buffer | string): void =>
  write(file, data, (made) => renameSync(made, file));

/** Makes a secret unless there is one: where two processes do so at once, the first one's stays. */
export const createSecretFile = (file: string, data: Buffer | string): void =>
  write(file, data, (made) => {
    try {
      linkSync(made, file);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') return;
      // A file system without hard links.
      if (code === 'EPERM' || code === 'ENOTSUP' || code === 'EOPNOTSUPP') renameSync(made, file);
      else throw error;
    }
  });
