import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { wideTiers } from '../support/test-windows.ts';
import {
  type Environment,
  eventually,
  exitOf,
  type Finished,
  freshDir,
  inTurn,
  patienceMs,
  type Spawned,
  spawnWeir,
  tail,
} from './process.ts';
import { atItsStore, makeStore } from './remote-store.ts';

export { eventually, exitOf, type Finished, freshDir } from './process.ts';

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

/** Runs `weir` with these arguments to its end. */
export const runWeir = (args: readonly string[], env: Environment, slowReaderMs = 0): Promise<Finished> =>
  inTurn(async () => {
    const spawned = spawnWeir(args, await atItsStore(env), slowReaderMs);
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
  /** What a command needs to find the same events. */
  readonly env: Environment;
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
export const spawnServer = async (
  dataDir: string,
  env: Environment = {},
  args: readonly string[] = [],
): Promise<Spawned> => {
  if (env.EVENTSTORE_URL === undefined) await makeStore(dataDir);
  return spawnWeir(['serve', ...args], await atItsStore({ PORT: '0', DATA_DIR: dataDir, ...withoutLimits, ...env }));
};

const organizations = new Map<string, FirstRun>();

/** What the first start has made; in a store that others have begun, an organization of its own for each data folder. */
const firstOf = async (dataDir: string, baseUrl: string, env: Environment): Promise<FirstRun> => {
  const file = join(dataDir, 'first-run.json');
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as FirstRun;
  const known = organizations.get(dataDir);
  if (known) return { ...known, base_url: baseUrl };
  const { stdout, stderr } = await runWeir(
    ['org', 'create', '--new-store', '--name', 'First organization', '--jsonl'],
    env,
  );
  if (stdout === '') throw new Error(`There is no organization: ${stderr}`);
  const made = JSON.parse(stdout) as Pick<FirstRun, 'organization_id' | 'admin_api_key' | 'admin_api_key_id'>;
  let asked = 0;
  // One key for both: they are of different paths.
  const post = (path: string, name: string) =>
    eventually(async () => {
      const headers = {
        // Until the server has learnt of the key from the log; one address may send few that are not known.
        'x-forwarded-for': `198.18.${(asked >> 8) & 255}.${asked++ & 255}`,
        authorization: `Bearer ${made.admin_api_key}`,
        'content-type': 'application/json',
        'idempotency-key': made.organization_id,
      };
      const response = await fetch(`${baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify({ name }) });
      return response.status === 201 ? ((await response.json()) as { id: string; value: string }) : undefined;
    });
  const project = await post('/v1/organization/projects', 'First project');
  const key = await post(`/v1/organization/projects/${project.id}/api_keys`, 'First key');
  const first: FirstRun = {
    ...made,
    base_url: baseUrl,
    project_id: project.id,
    project_api_key: key.value,
    project_api_key_id: key.id,
  };
  organizations.set(dataDir, first);
  return first;
};

/** Starts a server on a free port, in a new folder unless one is given, and waits until it listens. */
export const startServer = async (
  options: { dataDir?: string; env?: Environment; args?: readonly string[] } = {},
): Promise<Server> => {
  const dataDir = options.dataDir ?? freshDir();
  // Before its turn: it takes one of its own.
  if (options.env?.EVENTSTORE_URL === undefined) await makeStore(dataDir);
  const { spawned, baseUrl } = await inTurn(async () => {
    const started = await spawnServer(dataDir, options.env, options.args);
    return { spawned: started, baseUrl: await listening(started) };
  });
  const env = await atItsStore({ DATA_DIR: dataDir, ...options.env });
  const first = await firstOf(dataDir, baseUrl, env);
  return {
    dataDir,
    env,
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
