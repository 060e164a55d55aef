import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Organizations full of keys, all alike. */
export interface Crowd {
  readonly organizations: number;
  readonly projects: number;
  /** Of each organization. */
  readonly keys: number;
  /** 0 (Free) to 5. */
  readonly tier: number;
}

/** What is said of an organization that was made: a line of JSON. */
export interface Seeded {
  readonly organization_id: string;
  readonly admin_api_key_id: string;
  readonly admin_api_key: string;
  readonly keys: number;
  readonly seconds: number;
  readonly keys_per_second: number;
}

const run = promisify(execFile);
const seedMs = 3_600_000;
const cli = fileURLToPath(new URL('../cli.ts', import.meta.url));

/**
 * `bench seed` in a process of its own, beside a gateway of this environment.
 * @param out the file that the keys go into, a line each
 */
export const seedBeside = async (
  env: Readonly<Record<string, string>>,
  crowd: Crowd,
  out: string,
): Promise<readonly Seeded[]> => {
  const options = Object.entries({ ...crowd, out }).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const { stdout } = await run(process.execPath, ['--import', import.meta.resolve('tsx'), cli, 'seed', ...options], {
    env: { PATH: process.env.PATH, ...env },
    maxBuffer: 2 ** 26,
    timeout: seedMs,
  });
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Seeded);
};
