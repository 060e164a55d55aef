import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { afterEach } from 'vitest';
import { type LocalStore, runStore, type StoreOptions } from '../../src/embedded/run-store.ts';

const undo: (() => unknown)[] = [];

/** Everything that a test has opened is closed after it, newest first. */
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** A new directory that goes away with the test. */
export function freshDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'weir-store-'));
  undo.push(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  return dir;
}

/** A store on this thread, without lock; `faults` and `limits` as wanted. */
export async function openStore(
  options: Partial<StoreOptions> = {},
): Promise<LocalStore & { dir: string; client: EventStoreDBClient }> {
  const dir = options.dir ?? freshDir();
  mkdirSync(dir, { recursive: true });
  const store = await runStore({ dir, listen: { socket: join(dir, 's.sock') }, ...options });
  undo.push(() => store.close());
  return { ...store, dir, client: connect(store.endpoint) };
}

export function connect(endpoint: string): EventStoreDBClient {
  const client = new EventStoreDBClient({ endpoint }, { insecure: true });
  undo.push(() => client.dispose().catch(() => {}));
  return client;
}

/** An event with an id of its own and the given number in it. */
export function numbered(i: number, type = 'counted') {
  return jsonEvent({ type, data: { i } });
}

/** The events of a read, collected. */
export async function collect<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const event of events) all.push(event);
  return all;
}

/** Resolves with what the promise rejects with; a promise that resolves is the failure. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { type?: string; code?: number }> {
  try {
    await promise;
  } catch (error) {
    return error as Error & { type?: string };
  }
  throw new Error('expected a rejection');
}

/** Looks again and again until it holds; the time limit of the test bounds it. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await wait(10);
}

/** The error that a subscription ends with. */
export function errorOf(subscription: {
  on(event: 'error', listener: (error: Error) => void): unknown;
}): Promise<Error & { type?: string; code?: number }> {
  return new Promise((resolve) => {
    subscription.on('error', (error) => resolve(error));
  });
}

export interface ServingChild {
  readonly process: ChildProcess;
  readonly endpoint: string;
  /** Everything the child has written, growing. */
  readonly said: () => string;
  readonly exited: Promise<void>;
}

/** The built store in a process of its own; killed with the test. `settings` are StoreOptions without dir and listen. */
export async function serveInChild(dir: string, settings: object = {}, env: object = {}): Promise<ServingChild> {
  const entry = fileURLToPath(new URL('./serve.mjs', import.meta.url));
  const build = fileURLToPath(new URL('../../dist/src/embedded/', import.meta.url));
  const child = spawn(process.execPath, [entry, dir, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '', EMBEDDED_BUILD: build, ...env },
  });
  let text = '';
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  undo.push(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const endpoint = await new Promise<string>((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      text += chunk.toString();
      const ready = /ready (\S+)/.exec(text);
      if (ready) resolve(ready[1]!);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('exit', () => reject(new Error(`the child ended early: ${text}`)));
  });
  return { process: child, endpoint, said: () => text, exited };
}
