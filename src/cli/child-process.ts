import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Terminal } from './terminal.ts';

/** By the folder above: in the build this module is a part of `cli/program.js`, a folder beside that of its source. */
const source = fileURLToPath(new URL('../main.ts', import.meta.url));
const built = fileURLToPath(new URL('../main.js', import.meta.url));

/** How a process has ended: with a status, or by a signal. */
export type End = { readonly code: number } | { readonly signal: NodeJS.Signals };

/**
 * Runs a `weir` command in a process of its own, which says what it has to say by way of this one and ends with it. Damaged files
 * that kill it kill nothing else.
 */
export const runApart = async ({ out, err, env, screen, columns }: Terminal, args: readonly string[]): Promise<End> => {
  const entry = existsSync(source) ? ['--import', 'tsx', source] : [built];
  const child = spawn(process.execPath, [...entry, ...args], {
    env: { ...env, NODE_OPTIONS: '', COLUMNS: String(columns) },
    // A bar is drawn by whoever knows how far it is.
    stdio: ['ignore', 'pipe', screen === undefined ? 'pipe' : 'inherit', 'ipc'],
  });
  child.stdout?.setEncoding('utf8').on('data', out);
  child.stderr?.setEncoding('utf8').on('data', err);
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exit, by) => resolve([exit, by]));
  });
  return signal === null ? { code: code ?? 1 } : { signal };
};

/** Of the process that is run: nobody waits for it once the other has gone, and the store is to be free. */
export const endWithParent = (): void => {
  process.once('disconnect', () => process.exit(1));
};
