import { fileFault } from '../folder.ts';
import { BadConfig } from './config.ts';

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
