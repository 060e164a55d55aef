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

/** Writes a temporary file with mode 0600, which `name` puts in place: the file is whole or absent. */
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

export const replaceSecretFile = (file: string, data: Buffer | string): void =>
  write(file, data, (made) => renameSync(made, file));

/** Does nothing if the file exists: of two processes the first wins. */
export const createSecretFile = (file: string, data: Buffer | string): void =>
  write(file, data, (made) => {
    try {
      linkSync(made, file);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') return;
      // File systems without hard links.
      if (code === 'EPERM' || code === 'ENOTSUP' || code === 'EOPNOTSUPP') renameSync(made, file);
      else throw error;
    }
  });
