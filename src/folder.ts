import { chownSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Mode 0700, one level after the other: Node's recursive form never returns on file systems such as /proc. */
export const makeFolder = (dir: string): void => {
  if (existsSync(dir)) return;
  makeFolder(dirname(dir));
  mkdirSync(dir, { mode: 0o700 });
};

/** A file that root makes gets the owner of its folder, because the gateway may run as that user. */
export const leaveToOwner = (path: string): void => {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(path));
  if (uid !== 0) chownSync(path, uid, gid);
};

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'it is not there',
  ENOTDIR: 'a part of its path is no folder',
  EISDIR: 'it is a folder',
  EACCES: 'this user may not use it',
  EPERM: 'this user may not use it',
  EROFS: 'its file system is read-only',
  ENOSPC: 'its disk is full',
  ELOOP: 'its links lead in a circle',
  ENAMETOOLONG: 'its name is too long',
};

/** Why the file system refuses a path; null for any other error. */
export const fileFault = (error: unknown): string | null => {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (typeof code !== 'string' || typeof syscall !== 'string') return null;
  return reasons[code] ?? `the system says ${code}`;
};
