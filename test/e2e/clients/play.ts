import { execFile } from 'node:child_process';
import { copyFileSync, readdirSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { fromNpm, fromPyPI } from '../../support/kept.ts';
import { tail } from '../process.ts';
import { type Client, npmPackages, type Scenario } from './clients.ts';

/** Runs the script of a client: a process that prints a line of JSON of what came of each scenario. */

const run = promisify(execFile);
const scripts = fileURLToPath(new URL('scripts', import.meta.url));

export interface Stage {
  readonly baseUrl: string;
  readonly key: string;
  /** The ids of models, by what each stands for. */
  readonly models: Readonly<Record<string, string>>;
}

/** What a scenario gave, or how it was refused. */
export type Outcome =
  | { readonly result: unknown }
  | { readonly refused: { readonly status: number | null; readonly message: string } };

interface Line {
  readonly mode: string;
  readonly scenario: Scenario;
}

export interface Played {
  of(mode: string, scenario: Scenario): Outcome;
}

/** Packages that are installed together. */
export interface NpmSet {
  readonly name: string;
  readonly packages: Readonly<Record<string, string>>;
}

/** Of a process that has ended badly, or been ended because it took too long. */
interface Failed {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Installs the client where that has not been done yet, and has it play every scenario. */
export const play = async (
  client: Client,
  stage: Stage,
  npm: NpmSet = { name: 'clients', packages: npmPackages },
): Promise<Played | { readonly missing: string }> => {
  const program = await programOf(client, npm);
  if ('missing' in program) return program;
  const { baseUrl, key, models } = stage;
  const args = [...program.args, baseUrl, key, JSON.stringify(models), client.argument];
  const options = { timeout: 180_000, env: { ...process.env, ...surroundings } };
  const once = () => run(program.command, args, options);
  // Some hang in threads of their own on a busy machine, once in many runs: what they are asked is asked once more.
  const again = (error: Failed) => (error.signal === 'SIGTERM' ? once() : Promise.reject(error));
  const { stdout } = await once()
    .catch(again)
    .catch((error: Failed) => {
      const { code, signal, stdout: said, stderr } = error;
      const last = said.trim().split('\n').at(-1);
      throw new Error(
        `${client.name} has ended with ${signal ?? code} after ${last || 'nothing'}. It wrote:\n${tail(stderr)}`,
      );
    });
  const lines = stdout.split('\n').filter((line) => line.startsWith('{"mode"'));
  const outcomes = new Map(lines.map((line) => JSON.parse(line) as Line & Outcome).map((each) => [keyOf(each), each]));
  return {
    of: (mode, scenario) => {
      const outcome = outcomes.get(keyOf({ mode, scenario }));
      if (outcome === undefined)
        throw new Error(`${client.name} has not played ${scenario} with the model that is ${mode}`);
      return outcome;
    },
  };
};

const keyOf = ({ mode, scenario }: Line): string => `${mode} ${scenario}`;

/** LiteLLM reads lists from the network where nothing tells it not to. */
const surroundings = {
  PYTHONWARNINGS: 'ignore',
  // Not beside the scripts.
  PYTHONPYCACHEPREFIX: join(tmpdir(), `weir-clients-bytecode-${userInfo().uid}`),
  LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS: 'True',
};

type Program = { readonly command: string; readonly args: readonly string[] } | { readonly missing: string };

const programOf = async ({ from, script, packages }: Client, npm: NpmSet): Promise<Program> => {
  if (from === 'here') return { command: process.execPath, args: [join(scripts, script)] };
  if (from === 'npm') {
    const kept = await fromNpm(npm.name, npm.packages);
    if ('missing' in kept) return kept;
    // Beside its packages, since a module looks for them where it is.
    for (const name of readdirSync(scripts)) copyFileSync(join(scripts, name), join(kept.dir, name));
    return { command: process.execPath, args: [join(kept.dir, script)] };
  }
  const [name] = Object.keys(packages);
  const kept = await fromPyPI(
    `client-${name}`,
    Object.entries(packages).map(([each, version]) => `${each}==${version}`),
  );
  return 'missing' in kept ? kept : { command: join(kept.dir, 'bin', 'python'), args: [join(scripts, script)] };
};
