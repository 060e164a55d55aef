import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { leaveToOwner } from '../../lock/owner.ts';
import { syncToDisk } from '../../sync-to-disk.ts';
import { checkMeta } from '../check/check-file.ts';
import { DATA_FILE } from '../database.ts';
import { StoreCorrupt } from '../records/corrupt.ts';

// A meta page that is whole, and one commit too old, opens that commit without a word: nothing in the file says that it
// was not the last. So a proper stop leaves the number of the last transaction in a file beside it, which the next
// start compares and removes. It costs nothing while the store runs. After kill -9 there is none, and need not be:
// then the last commit was on the disk or had not been acknowledged.
// Beside it are the file's size and time of change: where they are still the same, nobody has written to it since.
const SEAL = 'closed';

/**
 * Puts down what the data file's last transaction is. For whoever has just closed it. Where that cannot be done, on a
 * full disk for example, there is no seal, and the next start knows less but nothing wrong.
 */
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
 * Compares the seal, where there is one.
 * @returns whether nobody has written to the file since it was closed
 * @throws StoreCorrupt when the file is not what was closed
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

/** To be called, and to have come to its end, before anything is written. */
export async function breakSeal(dir: string): Promise<void> {
  const path = join(dir, SEAL);
  if (!existsSync(path)) return;
  rmSync(path);
  // A seal that came back with a power cut would be a false one.
  await syncToDisk(dir);
}
