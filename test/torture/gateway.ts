import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { atSharedStore } from '../support/shared-store.ts';
import type { Scene } from './scene.ts';

/** A whole gateway in a process of its own. */
export interface Gateway {
  readonly baseUrl: string;
  /** Undefined without METRICS_PORT. */
  readonly metricsUrl: string | undefined;
  readonly pid: number;
  readonly child: ChildProcess;
  /** From its start until it listened, milliseconds. */
  readonly readyMs: number;
  /** Told with what it wrote last where it ends and nobody has killed it. */
  onEnd(listener: (words: string) => void): void;
  kill(): Promise<void>;
  /** As an operator ends it: what is in flight comes to its end. */
  stop(): Promise<void>;
}

interface Listening {
  readonly base_url: string;
  readonly metrics_url?: string;
}

const main = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const patienceMs = 60_000;
const lastWords = 2_000;
const listens = /^\{.*"msg":"listening".*\}$/m;

/** What gateways and commands need to keep their events in the store that was named, if any was. */
export const inStore = (url: string | undefined): Readonly<Record<string, string>> => (url ? atSharedStore(url) : {});

const run = promisify(execFile);

/** Runs a `weir` command to its end, beside the gateway whose environment this is. Returns what it wrote. */
const weir = async (args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> =>
  (await run(process.execPath, [main, ...args], { env: { PATH: process.env.PATH, ...env } })).stdout;

/** A new organization, in whichever store that is, and its Admin key. */
export const newAdminKey = async (env: Readonly<Record<string, string>>): Promise<string> => {
  const made = await weir(['org', 'create', '--name', 'Tortured', '--jsonl'], env);
  return (JSON.parse(made) as { readonly admin_api_key: string }).admin_api_key;
};

/** The gateway learns from the log: waits until it knows this key, which is nobody's else. */
export const untilKnown = async ({ baseUrl }: Pick<Gateway, 'baseUrl'>, path: string, key: string): Promise<void> => {
  for (let patience = 60; patience > 0; patience--) {
    const response = await fetch(`${baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } });
    await response.arrayBuffer();
    if (response.status === 200) return;
    // Slowly: one address may send sixty keys a minute that nobody knows.
    await wait(1_100);
  }
  throw new Error('the gateway does not know the key');
};

/** Rate limits out of the way: nothing else is to refuse anybody. */
export const withoutLimits = {
  ADMIN_CREDENTIAL_RPM: '60000',
  ADMIN_ORGANIZATION_RPM: '60000',
  ADMIN_CREDENTIAL_CONCURRENT: '1000',
  ADMIN_ORGANIZATION_CONCURRENT: '1000',
  TIERS_FILE: fileURLToPath(new URL('../support/wide-tiers.json', import.meta.url)),
};

/**
 * Starts a gateway on a folder and waits until it listens.
 * @param command what Node runs, by default the gateway as it ships
 * @throws Error with what it wrote where it does not
 */
export const startGateway = async (
  scene: Scene,
  dataDir: string,
  env: Readonly<Record<string, string>>,
  command: readonly string[] = [main],
): Promise<Gateway> => {
  const began = performance.now();
  const child = spawn(process.execPath, [...command, 'serve'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH, DATA_DIR: dataDir, PORT: '0', ...env },
  });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let isKilled = false;
  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    isKilled = true;
    child.kill(signal);
    await gone;
  };
  const kill = () => end('SIGKILL');
  scene.later(kill);
  let text = '';
  let isThere = false;
  const { base_url: baseUrl, metrics_url: metricsUrl } = await new Promise<Listening>((resolve, reject) => {
    const fail = () => reject(new Error(`the gateway did not listen: ${text.slice(-2000)}`));
    const late = setTimeout(fail, patienceMs);
    void gone.then(fail);
    child.stderr.on('data', (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(isThere ? -lastWords : 0);
      if (isThere) return;
      const [line] = listens.exec(text) ?? [];
      if (line === undefined) return;
      isThere = true;
      clearTimeout(late);
      resolve(JSON.parse(line) as Listening);
    });
  });
  return {
    baseUrl,
    metricsUrl,
    pid: child.pid!,
    child,
    readyMs: performance.now() - began,
    onEnd: (listener) => void gone.then(() => isKilled || listener(text)),
    kill,
    stop: () => end('SIGTERM'),
  };
};
