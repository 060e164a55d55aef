import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** The embedded store in a process of its own, which can be frozen and killed. */
export interface StoreProcess {
  readonly endpoint: string;
  freeze(): void;
  thaw(): void;
  /** Kills it without warning. */
  kill(): Promise<void>;
}

const main = fileURLToPath(new URL('./store-process-main.ts', import.meta.url));

/** Those alive; none outlives the process that started it. */
const alive = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

export const storeProcess = async (dir: string): Promise<StoreProcess> => {
  const child = spawn(process.execPath, ['--import', 'tsx', main, dir], { stdio: ['pipe', 'pipe', 'inherit'] });
  alive.add(child);
  const gone = once(child, 'exit').then(() => void alive.delete(child));
  const first = await Promise.race([
    once(child.stdout, 'data').then(([chunk]) => String(chunk).trim()),
    gone.then(() => {
      throw new Error('the store process ended before it was ready');
    }),
  ]);
  return {
    endpoint: first,
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    async kill() {
      child.kill('SIGKILL');
      await gone;
    },
  };
};
