import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** What the folder begins with in which a compaction writes the new file. */
export const DRAFT = 'compacting-';

/** Removes what compactions have left that were killed. The caller holds the lock. */
export function removeDrafts(dir: string): void {
  for (const name of readdirSync(dir)) {
    if (name.startsWith(DRAFT)) rmSync(join(dir, name), { recursive: true, force: true });
  }
}
