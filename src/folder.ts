import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it, for the owner alone, one after the other: Node's recursive form never returns on file
 * systems such as /proc.
 */
export const makeFolder = (dir: string): void => {
  if (existsSync(dir)) return;
  makeFolder(dirname(dir));
  mkdirSync(dir, { mode: 0o700 });
};
