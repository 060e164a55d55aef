import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { builtMain } from '../build.ts';
import { endProcess } from '../machine/child.ts';
import { pinned } from '../machine/pin.ts';
import { watch } from '../machine/server-process.ts';
import type { Inside, Target } from '../target.ts';

export interface WeirOptions {
  readonly dataDir: string;
  readonly core: number | null;
  /** What of the defaults is set otherwise. */
  readonly env?: Readonly<Record<string, string>>;
  /** The entry of a build; this one's by default. */
  readonly main?: string;
}

/** A gateway that was started on an empty folder, with what its first start has made. */
export interface Weir extends Target {
  readonly pid: number;
  readonly main: string;
  readonly dataDir: string;
  readonly organizationId: string;
  readonly adminKey: string;
  readonly projectId: string;
  end(): Promise<void>;
}

const startMs = 30_000;
const askMs = 5_000;

/** Starts the built gateway with the defaults, on a core where one is given. */
export const startWeir = async ({ dataDir, core, env, main = builtMain }: WeirOptions): Promise<Weir> => {
  const probe = new URL('./probe.mjs', import.meta.url).href;
  const [file = '', ...rest] = pinned(core, [process.execPath, '--import', probe, main, 'serve']);
  const child = spawn(file, rest, {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: true,
    // Nothing of the caller's own settings: a measurement is of the defaults.
    env: { PATH: process.env.PATH, DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'warn', DRAIN_MS: '500', ...env },
  });
  const { lost } = watch(child, 'The gateway');
  const end = () => endProcess(child);
  for (const until = performance.now() + startMs; performance.now() < until && lost() === undefined; await sleep(50)) {
    const made = await readFirstRun(join(dataDir, 'first-run.json'));
    if (!made) continue;
    return {
      name: 'weir',
      pid: child.pid!,
      main,
      dataDir,
      address: { host: '127.0.0.1', port: Number(new URL(made.base_url).port) },
      keys: { keys: [made.project_api_key], zipf: 0 },
      organizationId: made.organization_id,
      adminKey: made.admin_api_key,
      projectId: made.project_id,
      lost,
      forget: () => ask(child, 'reset'),
      inside: () => ask<Inside>(child, 'read'),
      end,
    };
  }
  await end();
  throw new Error(lost() ?? `The gateway did not listen within ${startMs / 1000} s.`);
};

const ask = <Answer>(child: ChildProcess, question: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      child.off('message', take);
      reject(new Error(`The gateway's probe was silent for ${askMs / 1000} s.`));
    }, askMs);
    const take = (message: unknown): void => {
      clearTimeout(late);
      resolve((message as { answered: Answer }).answered);
    };
    child.once('message', take);
    if (child.connected) child.send(question);
  });

interface FirstRun {
  /** Empty until the gateway listens. */
  readonly base_url: string;
  readonly organization_id: string;
  readonly admin_api_key: string;
  readonly project_id: string;
  readonly project_api_key: string;
}

const readFirstRun = async (file: string): Promise<FirstRun | null> => {
  try {
    const made = JSON.parse(await readFile(file, 'utf8')) as FirstRun;
    return made.base_url === '' ? null : made;
  } catch {
    return null;
  }
};
