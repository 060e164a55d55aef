import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Administration } from '../admin/command.ts';
import { carryOut, type FirstRun, firstRunFile, isFirstRun, planFirstRun } from '../admin/first-run.ts';

export interface FirstRunReport extends FirstRun {
  readonly file: string;
}

/**
 * Gives an empty store an organization, an Admin key, a project and a project key, and writes them to
 * `first-run.json` (mode 0600) before they are made. Later starts only keep its `base_url` current while it is there.
 */
export const firstRun = async (
  admin: Administration,
  dataDir: string,
): Promise<{ listening(baseUrl: string): Promise<FirstRunReport | null> }> => {
  const file = join(dataDir, 'first-run.json');
  const kept = await read(file);
  const mine = isFirstRun(admin, kept);
  const plan = mine ? (kept ?? planFirstRun(admin)) : kept;
  const isNew = mine && kept === null;
  if (mine && plan) {
    if (isNew) await write(file, plan);
    await carryOut(admin, plan);
  }
  return {
    async listening(baseUrl) {
      if (!plan || !mine) return null;
      if (plan.base_url !== baseUrl) await write(file, { ...plan, base_url: baseUrl }).catch(unlessFull);
      return plan.base_url === '' ? { ...plan, base_url: baseUrl, file } : null;
    },
  };
};

const read = async (file: string): Promise<FirstRun | null> => {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  try {
    return firstRunFile.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${file} is damaged: delete it, or put back what was in it.`, { cause });
  }
};

const write = async (file: string, plan: FirstRun): Promise<void> => {
  const next = `${file}.next`;
  try {
    await writeFile(next, `${JSON.stringify(plan, null, 2)}\n`, { mode: 0o600, flush: true });
    await rename(next, file);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
};

/** A server on a full disk serves what is there: for an address that is out of date it need not be refused. */
const unlessFull = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'ENOSPC') throw error;
};
