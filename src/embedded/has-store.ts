import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DATA_FILE } from './store/database.ts';

/** Whether the folder has a store; an empty file does not count. @throws Error of the file system */
export const hasStore = (dir: string): boolean =>
  (statSync(join(dir, DATA_FILE), { throwIfNoEntry: false })?.size ?? 0) > 0;

export const whyNoStore = (dir: string): string =>
  existsSync(join(dir, DATA_FILE))
    ? `The event store in ${dir} is empty: its ${DATA_FILE} has 0 bytes, as where a restore broke off`
    : `There is no event store in ${dir}`;
