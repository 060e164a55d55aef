import { chownSync, statSync } from 'node:fs';

/**
 * What root makes in the folder of somebody else becomes that one's: a store that runs as another user has to be able to use
 * what was done to its files while it was closed.
 */
export function leaveToOwner(path: string, dir: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dir);
  if (uid !== 0) chownSync(path, uid, gid);
}
