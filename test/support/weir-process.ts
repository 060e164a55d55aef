import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The `weir` command as a process of its own, from the build. */

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Longest wait for a process to listen or to end; a machine that is busy with other things takes its time. */
export const patienceMs = 60_000;

export type Environment = Readonly<Record<string, string>>;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const children = new Set<ChildProcess>();
const dirs = new Set<string>();
const killAll = (): void => {
  for (const child of children) child.kill('SIGKILL');
};
process.once('exit', killAll);

/** Ends every process that was started here and takes every folder away. */
export const leaveNothing = (): void => {
  killAll();
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  dirs.clear();
};

/** A new folder that goes away with all others; `name` is what its last part is called. */
export const freshDir = (name = 'weir'): string => {
  const dir = mkdtempSync(join(tmpdir(), 'weir-e2e-'));
  dirs.add(dir);
  return join(dir, name);
};

/** Nothing of the environment of the tests but what a process needs to find its way. */
const inherited = (): Record<string, string> => {
  const kept: Record<string, string> = {};
  for (const name of ['PATH', 'HOME', 'TMPDIR', 'LD_LIBRARY_PATH']) {
    const value = process.env[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
};

export interface Spawned {
  readonly child: ChildProcess;
  readonly exited: Promise<Exit>;
  stdout(): string;
  stderr(): string;
  /** Calls back with all of standard error whenever there is more. */
  onStderr(listener: (text: string) => void): void;
}

/** Starts `weir` with these arguments and does not wait for anything; a slow reader pauses after each piece of output. */
export const spawnWeir = (args: readonly string[], env: Environment, slowReaderMs = 0): Spawned => {
  const child = spawn(process.execPath, ['dist/src/main.js', ...args], {
    cwd: root,
    env: { ...inherited(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  let stdout = '';
  let stderr = '';
  const listeners: ((text: string) => void)[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (slowReaderMs === 0) return;
    child.stdout.pause();
    setTimeout(() => child.stdout.resume(), slowReaderMs);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    for (const listener of listeners) listener(stderr);
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => {
      children.delete(child);
      resolve({ code, signal });
    });
  });
  return {
    child,
    exited,
    stdout: () => stdout,
    stderr: () => stderr,
    onStderr: (listener) => void listeners.push(listener),
  };
};

/** The end of what a process wrote: failures show it. */
export const tail = (text: string): string => (text.length > 4000 ? `…${text.slice(-4000)}` : text);

/** The process's end, or a failure that shows what it wrote. */
export const exitOf = async (spawned: Spawned, withinMs = patienceMs): Promise<Exit> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const fail = () =>
      reject(new Error(`It has not ended within ${withinMs} ms. It wrote:\n${tail(spawned.stderr())}`));
    timer = setTimeout(fail, withinMs);
  });
  try {
    return await Promise.race([spawned.exited, late]);
  } finally {
    clearTimeout(timer);
    if (spawned.child.exitCode === null && spawned.child.signalCode === null) spawned.child.kill('SIGKILL');
  }
};

/** So many processes start at a time: a start is work for a whole core, and others want one too. */
const maxStarting = 2;
const waiting: (() => void)[] = [];
let starting = 0;
export const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
  if (starting === maxStarting) await new Promise<void>((resolve) => void waiting.push(resolve));
  else starting += 1;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else starting -= 1;
  }
};

export interface Finished extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}
