import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { EventStoreDBClient } from '@eventstore/db-client';

/** A store in a process of its own. */
export interface Store {
  readonly endpoint: string;
  readonly process: ChildProcess;
  /** From its start until it said that it was ready, milliseconds. */
  readonly readyMs: number;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  /** Everything it has written so far. */
  said(): string;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** The store did not get as far as serving. */
export class DidNotStart extends Error {
  readonly signal: NodeJS.Signals | null;
  constructor(text: string, signal: NodeJS.Signals | null) {
    super(`the store did not start: ${text.trim().slice(0, 500)}${signal ? ` (${signal})` : ''}`);
    this.signal = signal;
  }
}

export interface Start {
  /** StoreOptions without dir and listen, or `embedded: true` for startEmbedded with its lock and thread. */
  readonly settings?: object;
  readonly env?: object;
  /** A command that runs the process, such as strace and its options. */
  readonly under?: readonly string[];
}

/** The store as it ships: what compiles itself while it starts takes four times as long, and hundreds are started. */
export const build = fileURLToPath(new URL('../../dist/src/embedded', import.meta.url));

const entry = fileURLToPath(new URL('../embedded/serve.mjs', import.meta.url));
const alive = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/** Everything that one torture leaves behind; `end` undoes it, newest first. */
export class Scene {
  private static readonly open = new Set<Scene>();
  private static isInterrupted = false;
  private readonly undo: (() => unknown)[] = [];

  constructor() {
    Scene.open.add(this);
  }

  /** For whoever is interrupted: disks must not stay mounted. What is under way comes to an error. */
  static async endAll(): Promise<void> {
    Scene.isInterrupted = true;
    for (const scene of [...Scene.open].reverse()) await scene.end().catch(() => {});
  }

  later(step: () => unknown): void {
    this.undo.push(step);
  }

  /** @throws Error when nothing may be begun any more */
  goOn(): void {
    if (Scene.isInterrupted) throw new Error('interrupted');
  }

  /** Does every step, and throws what the first of those threw that failed. */
  async end(): Promise<void> {
    const failures: unknown[] = [];
    for (let step = this.undo.pop(); step; step = this.undo.pop()) {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    }
    Scene.open.delete(this);
    if (failures.length > 0) throw failures[0];
  }

  /** A new directory that goes away at the end. */
  dir(): string {
    const dir = mkdtempSync(join(tmpdir(), 'weir-torture-'));
    this.later(() => rmSync(dir, { recursive: true, force: true }));
    return dir;
  }

  /** @param target an endpoint of ours, or a connection string */
  connect(target: string): EventStoreDBClient {
    const isUrl = target.includes('://');
    const client = isUrl
      ? EventStoreDBClient.connectionString(target)
      : new EventStoreDBClient({ endpoint: target }, { insecure: true });
    this.later(() => client.dispose().catch(() => {}));
    return client;
  }

  /** Starts a process that will serve `dir`, without waiting until it does. */
  spawn(dir: string, { settings = { embedded: true }, env = {}, under = [] }: Start = {}): ChildProcess {
    this.goOn();
    const [command, ...rest] = [...under, process.execPath, entry, dir, JSON.stringify(settings)];
    const child = spawn(command!, rest, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '', EMBEDDED_BUILD: build, ...env },
    });
    alive.add(child);
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    void gone.then(() => alive.delete(child));
    this.later(async () => {
      child.kill('SIGKILL');
      await gone;
    });
    return child;
  }

  /** @throws DidNotStart */
  async start(dir: string, options: Start = {}): Promise<Store> {
    const began = performance.now();
    const child = this.spawn(dir, options);
    let text = '';
    const exited: Store['exited'] = new Promise((resolve) =>
      child.once('exit', (code, signal) => resolve({ code, signal })),
    );
    const endpoint = await new Promise<string>((resolve, reject) => {
      const hear = (chunk: Buffer) => {
        text += chunk.toString();
        const ready = /ready (\S+)/.exec(text);
        if (ready) resolve(ready[1]!);
      };
      child.stdout!.on('data', hear);
      child.stderr!.on('data', hear);
      child.once('close', (_, signal) => reject(new DidNotStart(text, signal)));
    });
    const end = async (signal: NodeJS.Signals) => {
      child.kill(signal);
      await exited;
    };
    return {
      endpoint,
      process: child,
      readyMs: performance.now() - began,
      exited,
      said: () => text,
      kill: () => end('SIGKILL'),
      stop: () => end('SIGTERM'),
    };
  }
}

const compiler = ['/usr/bin/cc', '/usr/local/bin/cc'].find((path) => existsSync(path));

/** Why C cannot be compiled and preloaded here; undefined where it can. */
export const noCompiler =
  compiler === undefined || process.platform !== 'linux' ? 'there is no C compiler, or this is not Linux' : undefined;

/** Compiles a C file, named from this folder, into `dir`: a library to preload, or a program. Returns its path. */
export function compile(file: string, dir: string, kind: 'library' | 'program' = 'library'): string {
  const source = fileURLToPath(new URL(file, import.meta.url));
  const out = join(dir, `${basename(file, '.c')}${kind === 'library' ? '.so' : ''}`);
  const flags = kind === 'library' ? ['-shared', '-fPIC'] : [];
  execFileSync(compiler!, [...flags, '-O1', '-Wall', '-o', out, source, '-ldl', '-lpthread']);
  return out;
}

/** Runs a program of the machine to its end. @throws Error when it fails */
export function tool(...[command, ...args]: [string, ...string[]]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Whether a program answers at all. */
export function has(...command: [string, ...string[]]): boolean {
  try {
    tool(...command);
    return true;
  } catch {
    return false;
  }
}

/** A module of the store as it ships. */
export const fromBuild = async <M>(module: string): Promise<M> =>
  (await import(pathToFileURL(join(build, `${module}.js`)).href)) as M;
