import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { hasStore } from '../has-store.ts';
import { isInUse, takeLock } from '../lock/lock.ts';
import { DATA_FILE } from '../store/database.ts';
import { syncToDisk } from '../sync-to-disk.ts';
import { inChild } from './in-child.ts';
import type { VerifyReport } from './report.ts';
import { metaPages, NoStore, type VerifyOptions, verifyStore } from './verify.ts';

export class CannotCopy extends Error {
  override readonly name = 'CannotCopy';
}

/**
 * Copies a store, even in use, from one read transaction of LMDB, without free pages. The copy is verified before it gets its
 * name.
 * @throws NoStore, CannotCopy
 */
export async function backupStore(dir: string, out: string, options: VerifyOptions = {}): Promise<VerifyReport> {
  if (!hasStore(dir)) throw new NoStore(dir);
  const target = resolve(out);
  if (existsSync(target) && !(statSync(target).isDirectory() && readdirSync(target).length === 0)) {
    throw new CannotCopy(`${out} exists already: a backup goes into a folder of its own.`);
  }
  const bad = await metaPages(dir);
  if (bad !== undefined) throw new CannotCopy(`The store in ${dir} is damaged, and there is no copy: ${bad}`);
  // Beside the target, so that an interrupted backup does not look like one.
  const draft = join(dirname(target), `.${basename(target)}.${process.pid}.partial`);
  try {
    await removePartials(target);
    mkdirSync(draft, { recursive: true, mode: 0o700 });
    const lock = await takeLock(draft);
    const report = await copyStore(dir, draft, options).finally(lock.release);
    rmSync(target, { recursive: true, force: true });
    renameSync(draft, target);
    await syncToDisk(dirname(target));
    return report;
  } catch (error) {
    if (error instanceof CannotCopy || error instanceof NoStore) throw error;
    throw new CannotCopy(`The backup to ${out} has failed: ${error instanceof Error ? error.message : error}`);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Removes the remains of killed backups; a running one has its draft locked. */
async function removePartials(target: string): Promise<void> {
  const folder = dirname(target);
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(`.${basename(target)}.`) || !name.endsWith('.partial')) continue;
    const path = join(folder, name);
    if (!(await isInUse(path))) rmSync(path, { recursive: true, force: true });
  }
}

/** Copies and compacts the file into an empty folder, verifies the copy and syncs it to disk. */
export async function copyStore(dir: string, folder: string, options: VerifyOptions): Promise<VerifyReport> {
  const from = join(dir, DATA_FILE);
  const to = join(folder, DATA_FILE);
  if (!existsSync(from)) throw new NoStore(dir);
  checkRoom(from, folder);
  const { killedBy, error } = await inChild(['copy', dir, folder]);
  if (killedBy !== undefined) {
    throw new CannotCopy(`The store in ${dir} is damaged: copying it kills the process (${killedBy}).`);
  }
  if (error !== undefined) throw new CannotCopy(`The store in ${dir} cannot be copied: ${error}.`);
  const report = await verifyStore(folder, options);
  rmSync(`${to}-lock`, { force: true });
  if (report.verdict === 'corrupt') {
    throw new CannotCopy(`The store in ${dir} is damaged; weir store verify says where. There is no copy.`);
  }
  await syncToDisk(to);
  await syncToDisk(folder);
  return report;
}

function checkRoom(from: string, folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  const { size } = statSync(from);
  if (bavail * bsize < size) {
    throw new CannotCopy(`There is not enough room beside ${folder}: ${Math.ceil(size / 2 ** 20)} MiB are needed.`);
  }
}
