import { BadConfig } from '../config.ts';

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

/** Why the file system refuses a path, in words; null for an error that is not the file system's. */
export const fileFault = (error: unknown): string | null => {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (typeof code !== 'string' || typeof syscall !== 'string') return null;
  return reasons[code] ?? `the system says ${code}`;
};

/** What an error says; where the file system refuses a path, in words, and what to do where a right is missing. */
export const inWords = (error: Error): string => {
  // Of a read the system tells no path.
  const { code, path = code === 'EISDIR' ? 'What was named' : undefined } = error as NodeJS.ErrnoException;
  const reason = fileFault(error);
  if (reason === null || path === undefined) return error.message;
  const advice = code === 'EACCES' ? ' Run this as the user that the gateway runs as.' : '';
  return `${path} cannot be used: ${reason}.${advice}`;
};

/** Does something with the path that a variable names. @throws BadConfig, in one sentence, where the path cannot be used */
export const atPathOf = async <T>(variable: string, path: string, work: () => T | Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    const reason = fileFault(error);
    if (reason === null) throw error;
    throw new BadConfig([`${variable}: ${path} cannot be used: ${reason}`], error);
  }
};
