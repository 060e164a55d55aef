import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/** Makes a folder and those above it, one after the other: Node's recursive form never returns on file systems such as /proc. */
export const makeFolder = (dir: string, mode = 0o777): void => {
  if (existsSync(dir)) return;
  makeFolder(dirname(dir), mode);
  mkdirSync(dir, { mode });
};
