import { Worker } from 'node:worker_threads';
import type { RunningStore, StoreOptions } from './run-store.ts';
import { StoreCorrupt } from './store/records/corrupt.ts';
import type { Report } from './worker.ts';

// By the folder above, because this module also runs as a part of `cli/program.js`.
const workerEntry = new URL('../embedded/worker-entry.mjs', import.meta.url);

/** Runs a store on its own thread. */
export function runInWorker(options: StoreOptions): Promise<RunningStore> {
  const worker = new Worker(workerEntry, {
    workerData: options,
    // The parent's loaders, such as vitest's, do not work in the worker.
    execArgv: [],
  });
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  return new Promise((resolve, reject) => {
    let closing = false;
    let reason = new Error('The thread of the event store has ended.');
    let fail: (error: Error) => void = () => {};
    const failed = new Promise<Error>((resolve) => {
      fail = resolve;
    });
    void exited.then(() => {
      if (!closing) fail(reason);
    });
    worker.on('error', (error) => {
      reason = error;
      reject(error);
    });
    worker.on('message', (message: Report) => {
      if (message.is === 'failed') {
        reason = new Error(message.message);
        // The thread may never end while a commit is stuck.
        if (!closing) fail(reason);
      } else if (message.is === 'refused') {
        closing = true;
        const Kind = message.name === 'StoreCorrupt' ? StoreCorrupt : Error;
        reason = new Kind(message.message);
      } else if (message.is === 'ready') {
        const close = async () => {
          closing = true;
          worker.postMessage('close');
          await exited;
        };
        const abandon = async () => {
          closing = true;
          await worker.terminate();
        };
        resolve({ endpoint: message.endpoint, shortage: message.shortage, failed, close, abandon });
      }
    });
    void exited.then(() => reject(reason));
  });
}
