import { Worker } from 'node:worker_threads';
import type { Look } from './rows/row-file.ts';

/** By the folder above: this module also runs as a part of `cli/program.js`, a folder beside this one. */
const entry = new URL('../kernel/look-entry.mjs', import.meta.url);

/**
 * Looks at the file of the rows in a thread, while this one waits for the store: after a crash that takes a second for 200,000 keys.
 * @returns undefined where it could not be done; then whoever opens the rows looks himself
 */
export const lookAhead = (dir: string): Promise<Look | undefined> =>
  new Promise((resolve) => {
    const worker = new Worker(entry, { workerData: dir, execArgv: [] });
    worker.unref();
    worker.once('message', resolve);
    worker.once('error', () => resolve(undefined));
    worker.once('exit', () => resolve(undefined));
  });
