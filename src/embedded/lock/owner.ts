import { chownSync, statSync } from 'node:fs';

/** Gives what root creates to the owner of the folder, so that a store of another user can still use its files. */
export function leaveToOwner(path: string, dir: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dir);
  if (uid !== 0) chownSync(path, uid, gid);
}
