import { parentPort, workerData } from 'node:worker_threads';
import { type RunningStore, runStore, type StoreOptions } from './run-store.ts';

export type Report =
  | ({ readonly is: 'ready' } & Pick<RunningStore, 'endpoint' | 'shortage'>)
  | { readonly is: 'refused'; readonly name: string; readonly message: string }
  | { readonly is: 'failed'; readonly message: string };

const report = (message: Report) => parentPort?.postMessage(message);
const text = (error: unknown) => (error instanceof Error ? error.message : String(error));

let store: RunningStore | undefined;

// After an unhandled error nothing is certain, so nothing more is acknowledged. The parent sees the exit.
const die = (error: unknown) => {
  report({ is: 'failed', message: text(error) });
  process.exit(1);
};
process.on('uncaughtException', die);
process.on('unhandledRejection', die);

parentPort?.on('message', async () => {
  await store?.close();
  parentPort?.close();
});

try {
  store = await runStore(workerData as StoreOptions);
  report({ is: 'ready', endpoint: store.endpoint, shortage: store.shortage });
  void store.failed.then(die);
} catch (error) {
  report({ is: 'refused', name: error instanceof Error ? error.name : '', message: text(error) });
  parentPort?.close();
}
