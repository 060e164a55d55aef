import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tiers } from '../../src/domain/tiers.ts';
import { builtMain } from '../build.ts';
import { endProcess } from '../machine/child.ts';
import { pinned } from '../machine/pin.ts';
import { makeProjectKeys } from './project-keys.ts';

export interface Weir {
  readonly pid: number;
  readonly port: number;
  /** Of as many organizations, so that no limit refuses the load. */
  readonly projectKeys: readonly string[];
  /** Why it has ended by itself, where it has. */
  lost(): string | undefined;
  end(): Promise<void>;
}

const startMs = 30_000;
/** Runs before the gateway: it ends with the harness, also when the harness is killed. */
const endWithHarness = 'data:text/javascript,process.on("disconnect",()=>process.exit(1))';

/**
 * Keys of the load: the largest limit there can be is 30,000 requests a minute and key, and the fastest load is some
 * 100,000 a second.
 */
const keyCount = 512;
/** Every limit as large as can be; the work of checking it is the same. */
const widest = { rpm: 30_000, tpm: 90_000_000, rpd: 4_000_000, tpd: 1_000_000_000_000 };
const tiersFile = {
  tiers: tiers.map(({ paid, subscription }) => ({
    paid,
    subscription,
    ...widest,
    concurrent: { key: 1_000, project: 1_000, organization: 1_000 },
  })),
};

/** Starts the built gateway on an empty folder with the defaults but for the limits, on a core where one is given. */
export const startWeir = async (dataDir: string, core: number | null): Promise<Weir> => {
  mkdirSync(dataDir, { recursive: true });
  const tiersPath = join(dataDir, 'tiers.json');
  writeFileSync(tiersPath, JSON.stringify(tiersFile));
  const [file = '', ...rest] = pinned(core, [process.execPath, '--import', endWithHarness, builtMain, 'serve']);
  const child = spawn(file, rest, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // Nothing of the caller's own settings: a measurement is of the defaults.
    env: {
      PATH: process.env.PATH,
      DATA_DIR: dataDir,
      PORT: '0',
      LOG_LEVEL: 'warn',
      DRAIN_MS: '500',
      TIERS_FILE: tiersPath,
    },
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
    if (!made) continue;
    try {
      const port = Number(new URL(made.base_url).port);
      return { pid: child.pid!, port, projectKeys: await makeProjectKeys(dataDir, keyCount), lost: () => lost, end };
    } catch (error) {
      await end();
      throw error;
    }
  }
  await end();
  throw new Error(lost ?? `The gateway did not listen within ${startMs / 1000} s.`);
};

interface FirstRun {
  /** Empty until the gateway listens. */
  readonly base_url: string;
}

const readFirstRun = async (file: string): Promise<FirstRun | null> => {
  try {
    const made = JSON.parse(await readFile(file, 'utf8')) as FirstRun;
    return made.base_url === '' ? null : made;
  } catch {
    return null;
  }
};
