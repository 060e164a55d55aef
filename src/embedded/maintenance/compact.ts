import { mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DRAFT, removeDrafts } from '../drafts.ts';
import { hasStore } from '../has-store.ts';
import { takeLock } from '../lock/lock.ts';
import { leaveToOwner } from '../lock/owner.ts';
import { breakSeal, seal } from '../store/commit/seal.ts';
import { DATA_FILE } from '../store/database.ts';
import { syncToDisk } from '../sync-to-disk.ts';
import { CannotCopy, copyStore } from './backup.ts';
import { NoStore, type VerifyOptions, verifyStore } from './verify.ts';

export interface Compaction {
  readonly before: number;
  readonly after: number;
}

/**
 * Rewrites a closed store without its free pages. The verified and synced file replaces the old one in one step, so an
 * interruption leaves one of the two.
 * @throws StoreLocked, NoStore, CannotCopy
 */
export async function compactStore(dir: string, options: VerifyOptions = {}): Promise<Compaction> {
  const file = join(dir, DATA_FILE);
  if (!hasStore(dir)) throw new NoStore(dir);
  const lock = await takeLock(dir);
  try {
    removeDrafts(dir);
    const old = await verifyStore(dir, { ...options, isLocked: true });
    if (old.verdict === 'corrupt') {
      throw new CannotCopy(`The store in ${dir} is damaged; weir store verify says where. It is left as it is.`);
    }
    const before = statSync(file).size;
    const draft = mkdtempSync(join(dir, DRAFT));
    try {
      const copy = await copyStore(dir, draft, {});
      if (copy.events !== old.events || copy.lastPosition !== old.lastPosition) {
        throw new CannotCopy(`The copy of the store in ${dir} is not complete. The store is left as it is.`);
      }
      // LMDB's lock file belongs to the old file.
      rmSync(`${file}-lock`, { force: true });
      await breakSeal(dir);
      leaveToOwner(join(draft, DATA_FILE), dir);
      renameSync(join(draft, DATA_FILE), file);
      await syncToDisk(dir);
      await seal(dir);
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
    return { before, after: statSync(file).size };
  } finally {
    lock.release();
  }
}
