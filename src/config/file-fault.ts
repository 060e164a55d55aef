import { fileFault } from '../folder.ts';
import { BadConfig } from './config.ts';

/** The message of an error; for a refused path, the reason in words. */
export const inWords = (error: Error): string => {
  // For a failed read the system gives no path.
  const { code, path = code === 'EISDIR' ? 'What was named' : undefined } = error as NodeJS.ErrnoException;
  const reason = fileFault(error);
  if (reason === null || path === undefined) return error.message;
  const advice = code === 'EACCES' ? ' Run this as the user that the gateway runs as.' : '';
  return `${path} cannot be used: ${reason}.${advice}`;
};

/** @throws BadConfig if the path that the variable names cannot be used */
export const atPathOf = async <T>(variable: string, path: string, work: () => T | Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    const reason = fileFault(error);
    if (reason === null) throw error;
    throw new BadConfig([`${variable}: ${path} cannot be used: ${reason}`], error);
  }
};
