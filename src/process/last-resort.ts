import { spawn } from 'node:child_process';

const graceMs = 2_000;
const script = `const parent = process.ppid;
setTimeout(() => { if (process.ppid === parent) process.kill(parent, 'SIGKILL'); }, ${graceMs});`;

/**
 * Sees to it that this process is gone in two seconds, for one that is about to exit: Node waits for all of its threads
 * before it does, and one that is stuck in a commit never comes back. Another process does it, since no thread of this one
 * outlives the beginning of its exit.
 */
export const endSoon = (): void => {
  const child = spawn(process.execPath, ['-e', script], { stdio: 'ignore', env: { ...process.env, NODE_OPTIONS: '' } });
  child.on('error', () => {});
  child.unref();
};
