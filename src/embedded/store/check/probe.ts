import { spawn } from 'node:child_process';
import { probeEntry } from '../../entries.ts';
import { StoreCorrupt } from '../records/corrupt.ts';

/** Signals by which a damaged file kills a process. */
export const CORRUPT_SIGNALS = new Set(['SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV']);

/** Opens the file in a child process; `all` reads every page, otherwise the ends of the tables. @throws StoreCorrupt when it dies */
export async function probe(file: string, all: boolean): Promise<void> {
  const child = spawn(process.execPath, [probeEntry, file, all ? 'all' : 'ends'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-4000);
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exit, by) => resolve([exit, by]));
  });
  if (signal !== null && CORRUPT_SIGNALS.has(signal)) {
    throw new StoreCorrupt(`Reading ${file} kills the process (${signal}): the file is damaged.`);
  }
  if (code !== 0) throw new StoreCorrupt(`${file} cannot be read: ${reason(said)}`);
}

function reason(said: string): string {
  return /Error: (.*)/.exec(said)?.[1] ?? 'the check ended without saying why.';
}
