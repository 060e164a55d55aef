import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Terminal } from './terminal.ts';

/** The build puts this module into `cli/program.js`, at the same depth as its source. */
const source = fileURLToPath(new URL('../main.ts', import.meta.url));
const built = fileURLToPath(new URL('../main.js', import.meta.url));

export type End = { readonly code: number } | { readonly signal: NodeJS.Signals };

/** Runs a `weir` command in a child process with this one's output, so that damaged files cannot kill this process. */
export const runApart = async ({ out, err, env, screen, columns }: Terminal, args: readonly string[]): Promise<End> => {
  const entry = existsSync(source) ? ['--import', 'tsx', source] : [built];
  const child = spawn(process.execPath, [...entry, ...args], {
    env: { ...env, NODE_OPTIONS: '', COLUMNS: String(columns) },
    // The child draws its progress bar itself.
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

/** In the child: exits with the parent, so that the store is free again. */
export const endWithParent = (): void => {
  process.once('disconnect', () => process.exit(1));
};
