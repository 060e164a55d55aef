import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import { eventually, freshDir } from './process.ts';

vi.setConfig({ testTimeout: 120_000 });

const root = fileURLToPath(new URL('../..', import.meta.url));
/** util-linux's: runs a program in a terminal of its own. */
const script = '/usr/bin/script';

const isThere = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test.skipIf(!existsSync(script))(
  'on a terminal the first keys are shown, SIGHUP reloads, and a terminal that is closed ends the gateway',
  async () => {
    const dataDir = freshDir();
    const models = { id: 'one', context_length: 99, max_output_length: 9, upstream: { kind: 'simulated' } };
    const file = `${dataDir}.models.json`;
    writeFileSync(file, JSON.stringify({ models: [models] }));
    const env = { ...process.env, DATA_DIR: dataDir, PORT: '0', MODELS_FILE: file, LOG_FORMAT: 'json', COLUMNS: '200' };
    const child = spawn(script, ['-qec', `${process.execPath} dist/src/main.js serve`, '/dev/null'], {
      cwd: root,
      env,
    });
    let text = '';
    child.stdout.on('data', (piece: Buffer) => {
      text += piece.toString();
    });
    const pid = await eventually(
      () => {
        const [, found] = /"pid":(\d+).*"listening"/.exec(text) ?? [];
        return found === undefined ? undefined : Number(found);
      },
      () => text,
      60_000,
    );
    const { admin_api_key } = JSON.parse(readFileSync(join(dataDir, 'first-run.json'), 'utf8')) as Record<
      string,
      string
    >;
    await eventually(() => text.includes(`Admin key    ${admin_api_key}`) || undefined);
    // Pasted, an answer ends its line.
    await eventually(() => text.split(`curl -w '\\n' http`).length === 3 || undefined);
    process.kill(pid, 'SIGHUP');
    await eventually(
      () => text.includes('"models.reloaded"') || undefined,
      () => text,
    );
    child.kill('SIGKILL');
    await eventually(() => !isThere(pid) || undefined);
    expect(existsSync(join(dataDir, 'eventstore'))).toBe(true);
  },
);
