import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { builtMain } from '../build.ts';
import { endProcess } from '../machine/child.ts';
import { pinned } from '../machine/pin.ts';

export interface Weir {
  readonly pid: number;
  readonly port: number;
  readonly projectKey: string;
  /** Why it has ended by itself, where it has. */
  lost(): string | undefined;
  end(): Promise<void>;
}

const startMs = 30_000;
/** Runs before the gateway: it ends with the harness, also when the harness is killed. */
const endWithHarness = 'data:text/javascript,process.on("disconnect",()=>process.exit(1))';

/** Starts the built gateway on an empty folder with the defaults, on a core where one is given. */
export const startWeir = async (dataDir: string, core: number | null): Promise<Weir> => {
  const [file = '', ...rest] = pinned(core, [process.execPath, '--import', endWithHarness, builtMain, 'serve']);
  const child = spawn(file, rest, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // Nothing of the caller's own settings: a measurement is of the defaults.
    env: { PATH: process.env.PATH, DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'warn', DRAIN_MS: '500' },
  });
  const end = () => endProcess(child);
  let lost: string | undefined;
  child.once('exit', (code, signal) => {
    lost = `The gateway has ended (${signal ?? code}).`;
  });
  child.once('error', (error) => {
    lost = `The gateway could not be run: ${error.message}`;
  });
  for (const until = performance.now() + startMs; performance.now() < until && lost === undefined; await sleep(50)) {
    const made = await readFirstRun(join(dataDir, 'first-run.json'));
    if (made)
      return {
        pid: child.pid!,
        port: Number(new URL(made.base_url).port),
        projectKey: made.project_api_key,
        lost: () => lost,
        end,
      };
  }
  await end();
  throw new Error(lost ?? `The gateway did not listen within ${startMs / 1000} s.`);
};

interface FirstRun {
  /** Empty until the gateway listens. */
  readonly base_url: string;
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
