import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** Signals by which a damaged file kills a process. */
export const CORRUPT_SIGNALS = new Set(['SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV']);

export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The signal, where it indicates damaged files. */
  readonly killedBy: NodeJS.Signals | undefined;
  /** The last error on stderr. */
  readonly error: string | undefined;
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** Runs `<entry>-entry.mjs` in its own process. @throws Error when it cannot be started, or `aborted` ends it */
export async function runChild(
  entry: 'probe' | 'maintenance',
  args: readonly string[],
  started: (child: Child) => void = () => {},
  aborted?: AbortSignal,
): Promise<ChildEnd> {
  // By the folder above, because this module also runs as a part of `cli/program.js`.
  const path = fileURLToPath(new URL(`../embedded/${entry}-entry.mjs`, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' },
    ...(aborted && { signal: aborted }),
  });
  started(child);
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-4000);
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exit, by) => resolve([exit, by]));
  });
  const killedBy = signal !== null && CORRUPT_SIGNALS.has(signal) ? signal : undefined;
  return { code, signal, killedBy, error: /Error: (.*)/.exec(said)?.[1] };
}
