import { Worker } from 'node:worker_threads';
import type { Look } from './rows/row-file.ts';

// By the folder above, because this module also runs as a part of `cli/program.js`.
const entry = new URL('../kernel/look-entry.mjs', import.meta.url);

/** Checks the row file in a thread (a second for 200,000 keys after a crash). @returns undefined where that failed */
export const lookAhead = (dir: string): Promise<Look | undefined> =>
  new Promise((resolve) => {
    const worker = new Worker(entry, { workerData: dir, execArgv: [] });
    worker.unref();
    worker.once('message', resolve);
    worker.once('error', () => resolve(undefined));
    worker.once('exit', () => resolve(undefined));
  });
