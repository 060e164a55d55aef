import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DATA_FILE } from './store/database.ts';

/**
 * Whether there is a store in a folder, in use or not; an empty file is none yet.
 * @throws Error of the file system where this user may not look
 */
export const hasStore = (dir: string): boolean =>
  (statSync(join(dir, DATA_FILE), { throwIfNoEntry: false })?.size ?? 0) > 0;
