import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { leaveToOwner } from '../../lock/owner.ts';
import { syncToDisk } from '../../sync-to-disk.ts';
import { checkMeta } from '../check/check-file.ts';
import { DATA_FILE } from '../database.ts';
import { StoreCorrupt } from '../records/corrupt.ts';

// A file that lost its last commit opens without an error. So a proper stop writes the last transaction's number to `closed`,
// which the next start compares and removes. After kill -9 the last commit was on disk or not acknowledged.
// Size and time of change follow; if both are equal, nobody has written since.
const SEAL = 'closed';

/** Writes the seal of a file that was just closed. Without it, as on a full disk, the next start checks less. */
export async function seal(dir: string): Promise<void> {
  const path = join(dir, SEAL);
  const draft = `${path}.new`;
  try {
    const { transaction } = checkMeta(join(dir, DATA_FILE));
    await writeFile(draft, `${transaction} ${traceOf(dir)}\n`, { mode: 0o600 });
    leaveToOwner(draft, dir);
    await syncToDisk(draft);
    await rename(draft, path);
    await syncToDisk(dir);
  } catch {
    rmSync(draft, { force: true });
  }
}

const traceOf = (dir: string): string => {
  const { size, mtimeNs } = statSync(join(dir, DATA_FILE), { bigint: true });
  return `${size} ${mtimeNs}`;
};

/**
 * Compares the seal, if there is one.
 * @returns whether nobody has written to the file since it was closed
 * @throws StoreCorrupt
 */
export function checkSeal(dir: string, transaction: bigint): boolean {
  const path = join(dir, SEAL);
  if (!existsSync(path)) return false;
  const [sealed = '', ...trace] = readFileSync(path, 'utf8').trim().split(' ');
  if (sealed === String(transaction)) return trace.join(' ') === traceOf(dir);
  throw new StoreCorrupt(
    `${join(dir, DATA_FILE)} ends with transaction ${transaction} and was closed after ${sealed}: it is not the file ` +
      `that was closed. A backup is restored as a whole folder, without ${path}; remove that file if this one is meant.`,
  );
}

/** Must finish before anything is written. */
export async function breakSeal(dir: string): Promise<void> {
  const path = join(dir, SEAL);
  if (!existsSync(path)) return;
  rmSync(path);
  // A seal that a power cut restored would be wrong.
  await syncToDisk(dir);
}
