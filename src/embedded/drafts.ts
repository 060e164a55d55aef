import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Prefix of the folder in which a compaction writes the new file. */
export const DRAFT = 'compacting-';

/** Removes the folders of interrupted compactions. The caller holds the lock. */
export function removeDrafts(dir: string): void {
  for (const name of readdirSync(dir)) {
    if (name.startsWith(DRAFT)) rmSync(join(dir, name), { recursive: true, force: true });
  }
}
