import { spawn } from 'node:child_process';

const graceMs = 2_000;
const script = `const parent = process.ppid;
setTimeout(() => { if (process.ppid === parent) process.kill(parent, 'SIGKILL'); }, ${graceMs});`;

/**
 * Node's exit waits for all threads, and one may be stuck in a commit. Needs a child process, because no thread
 * outlives the start of the exit.
 */
export const endSoon = (): void => {
  const child = spawn(process.execPath, ['-e', script], { stdio: 'ignore', env: { ...process.env, NODE_OPTIONS: '' } });
  child.on('error', () => {});
  child.unref();
};
