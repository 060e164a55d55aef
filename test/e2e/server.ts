import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { wideTiers } from '../support/test-windows.ts';

/** The `weir` command as a process of its own, from the build. */

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Longest wait for a process to listen or to end; a machine that is busy with other things takes its time. */
const patienceMs = 60_000;

type Environment = Readonly<Record<string, string>>;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What `first-run.json` holds. */
export interface FirstRun {
  readonly base_url: string;
  readonly organization_id: string;
  readonly admin_api_key: string;
  readonly admin_api_key_id: string;
  readonly project_id: string;
  readonly project_api_key: string;
  readonly project_api_key_id: string;
}

const children = new Set<ChildProcess>();
const dirs = new Set<string>();
const killAll = (): void => {
  for (const child of children) child.kill('SIGKILL');
};
process.once('exit', killAll);
// Whoever imports this file leaves nothing behind.
afterAll(() => {
  killAll();
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
});

/** A new folder that goes away with the test file; `name` is what its last part is called. */
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
const spawnWeir = (args: readonly string[], env: Environment, slowReaderMs = 0): Spawned => {
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
const tail = (text: string): string => (text.length > 4000 ? `…${text.slice(-4000)}` : text);

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
const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
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

/** Runs `weir` with these arguments to its end. */
export const runWeir = (args: readonly string[], env: Environment, slowReaderMs = 0): Promise<Finished> =>
  inTurn(async () => {
    const spawned = spawnWeir(args, env, slowReaderMs);
    const exit = await exitOf(spawned);
    return { ...exit, stdout: spawned.stdout(), stderr: spawned.stderr() };
  });

/** One line of the log. */
export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

const linesOf = (text: string): LogLine[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as LogLine);

export interface Server {
  readonly dataDir: string;
  readonly baseUrl: string;
  readonly port: number;
  readonly first: FirstRun;
  readonly spawned: Spawned;
  log(): LogLine[];
  /** SIGTERM, and an end with status 0. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

/** Rate limits out of the way: these tests ask for more than any administrator or free key. */
const withoutLimits = {
  ADMIN_CREDENTIAL_RPM: '60000',
  ADMIN_CREDENTIAL_CONCURRENT: '1000',
  ADMIN_ORGANIZATION_RPM: '60000',
  ADMIN_ORGANIZATION_CONCURRENT: '1000',
  TIERS_FILE: fileURLToPath(wideTiers),
  TRUSTED_PROXIES: '127.0.0.1',
};

/** Starts a server and does not wait until it listens. */
export const spawnServer = (dataDir: string, env: Environment = {}): Spawned =>
  spawnWeir(['serve'], { PORT: '0', DATA_DIR: dataDir, ...withoutLimits, ...env });

/** Starts a server on a free port, in a new folder unless one is given, and waits until it listens. */
export const startServer = async (options: { dataDir?: string; env?: Environment } = {}): Promise<Server> => {
  const dataDir = options.dataDir ?? freshDir();
  const { spawned, baseUrl } = await inTurn(async () => {
    const started = spawnServer(dataDir, options.env);
    return { spawned: started, baseUrl: await listening(started) };
  });
  const first = JSON.parse(readFileSync(join(dataDir, 'first-run.json'), 'utf8')) as FirstRun;
  return {
    dataDir,
    baseUrl,
    port: Number(new URL(baseUrl).port),
    first,
    spawned,
    log: () => linesOf(spawned.stderr()),
    async stop() {
      spawned.child.kill('SIGTERM');
      const { code, signal } = await exitOf(spawned);
      if (code !== 0)
        throw new Error(`It ended with ${code ?? signal} on SIGTERM. It wrote:\n${tail(spawned.stderr())}`);
    },
    async kill() {
      spawned.child.kill('SIGKILL');
      await exitOf(spawned);
    },
  };
};

/** The base URL, once the server has logged that it listens. */
const listening = (spawned: Spawned): Promise<string> =>
  new Promise((resolve, reject) => {
    const fail = (what: string) =>
      reject(new Error(`${what}. It wrote:\n${tail(spawned.stderr())}${spawned.stdout()}`));
    const timer = setTimeout(() => {
      spawned.child.kill('SIGKILL');
      fail(`The server does not listen after ${patienceMs} ms`);
    }, patienceMs);
    spawned.onStderr((text) => {
      const whole = text.slice(0, text.lastIndexOf('\n') + 1);
      if (!whole.includes('"listening"')) return;
      const line = linesOf(whole).find(({ msg }) => msg === 'listening');
      if (!line) return;
      clearTimeout(timer);
      resolve(String(line.base_url));
    });
    void spawned.exited.then(({ code, signal }) => {
      clearTimeout(timer);
      fail(`The server has ended with ${code ?? signal} before it listened`);
    });
  });

/** Tries until `holds` returns something that is not undefined, or fails with what `describe` says. */
export const eventually = async <T>(
  holds: () => T | undefined | Promise<T | undefined>,
  describe: () => string = () => 'it did not come to pass',
  withinMs = 15_000,
): Promise<T> => {
  const end = performance.now() + withinMs;
  for (;;) {
    const value = await holds();
    if (value !== undefined) return value;
    if (performance.now() > end) throw new Error(`Within ${withinMs} ms: ${describe()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
