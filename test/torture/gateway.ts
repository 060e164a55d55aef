import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Scene } from './scene.ts';

/** A whole gateway in a process of its own. */
export interface Gateway {
  readonly baseUrl: string;
  readonly pid: number;
  /** From its start until it listened, milliseconds. */
  readonly readyMs: number;
  kill(): Promise<void>;
}

const main = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const patienceMs = 60_000;

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
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await gone;
  };
  scene.later(kill);
  let text = '';
  await new Promise<void>((resolve, reject) => {
    const fail = () => reject(new Error(`the gateway did not listen: ${text.slice(-2000)}`));
    const late = setTimeout(fail, patienceMs);
    void gone.then(fail);
    child.stderr.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (!text.includes('"msg":"listening"')) return;
      clearTimeout(late);
      resolve();
    });
  });
  const { base_url: baseUrl } = JSON.parse(readFileSync(join(dataDir, 'first-run.json'), 'utf8')) as {
    base_url: string;
  };
  return { baseUrl, pid: child.pid!, readyMs: performance.now() - began, kill };
};
