import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { projections } from '../../projections/all.ts';
import { createProject, use } from './calls.ts';
import { weirHere } from './here.ts';
import { freshDir } from './process.ts';
import { eventually, type Server, startServer } from './server.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server?.stop());

const main = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const env = () => ({ DATA_DIR: server.dataDir, ...server.env });

test('weir status tells how a running gateway does, and ends with 1 where none runs', async () => {
  expect(await use(server, server.first.project_api_key)).toBe('200');
  const asked = ['status', '--url', server.baseUrl, '--key', server.first.project_api_key, '--json'];
  const lines = await eventually(async () => {
    const { code, stdout } = await weirHere(asked, env());
    const found = JSON.parse(stdout) as Record<'part' | 'name' | 'state' | 'detail', string>[];
    const counted = found.find(({ part, name }) => part === 'windows' && name === 'inference');
    // What was counted is in the files within a second.
    return code === 0 && counted?.detail !== '0 records' ? found : undefined;
  });
  expect(lines.find(({ part }) => part === 'gateway')).toMatchObject({ name: server.baseUrl, state: 'ready' });
  expect(lines.filter(({ part }) => part === 'list').map(({ name }) => name)).toEqual(
    projections.map(({ name }) => name),
  );
  expect(lines.filter(({ part }) => part === 'windows').map(({ state }) => state)).not.toContain('damaged');
  expect(lines.filter(({ part }) => part === 'model').map(({ name }) => name)).toContain('weir-sim-1');
  const none = await weirHere(['status', '--url', 'http://127.0.0.1:1'], env());
  expect([none.code, none.stdout]).toEqual([1, expect.stringContaining('no answer')]);
});

test('weir events tail --follow ends when nobody reads on, as a pipe into head does', async () => {
  const child = spawn(process.execPath, [main, 'events', 'tail', '--follow', '--jsonl', '-n', '1'], {
    env: { PATH: process.env.PATH, ...env() },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const [first] = (await once(child.stdout, 'data')) as [Buffer];
  expect(JSON.parse(first.toString().split('\n')[0]!)).toMatchObject({ stream: expect.any(String) });
  child.stdout.destroy();
  // It finds out when it has something to tell.
  let isOver = false;
  void exited.then(() => {
    isOver = true;
  });
  await eventually(async () => {
    await createProject(server, 'unheard');
    return isOver || undefined;
  });
  expect(await exited).toEqual([0, null]);
});

describe.skipIf(!existsSync('/dev/full'))('where the disk of what it writes is full', () => {
  const full = openSync('/dev/full', 'w');
  afterAll(() => closeSync(full));

  test('a command says so in one sentence, and fails', async () => {
    const child = spawn(process.execPath, [main, 'key', 'list'], {
      env: { PATH: process.env.PATH, ...env() },
      stdio: ['ignore', full, 'pipe'],
    });
    const said = text(child.stderr!);
    const exited = once(child, 'exit');
    expect((await said).split('\n').at(-2)).toBe(
      'Standard output cannot be written: ENOSPC: no space left on device, write.',
    );
    expect(await exited).toEqual([1, null]);
  });

  /** A gateway whose log goes to the full disk, once it serves. */
  const gateway = async (env: Record<string, string> = {}) => {
    const child = spawn(process.execPath, [main, 'serve'], {
      env: { PATH: process.env.PATH, DATA_DIR: freshDir(), PORT: '0', ACCESS_LOG: 'on', ...env },
      stdio: ['ignore', 'pipe', full],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let said = '';
    child.stdout!.setEncoding('utf8').on('data', (piece: string) => (said += piece));
    const url = await eventually(() => /http\S+(?=\/v1\/messages)/.exec(said)?.[0], undefined, 60_000);
    return { child, url, exited: once(child, 'exit') };
  };

  test('a gateway goes on, since that is its log alone', async () => {
    const { child, url, exited } = await gateway();
    for (let n = 0; n < 3; n++) expect((await fetch(`${url}/v1/health`)).status).toBe(200);
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });

  test('a gateway that fails ends all the same', async () => {
    const failing = "data:text/javascript,process.on('SIGUSR2',()=>{throw new Error('failed')})";
    const { child, url, exited } = await gateway({ NODE_OPTIONS: `--import "${failing}"` });
    expect((await fetch(`${url}/v1/health`)).status).toBe(200);
    child.kill('SIGUSR2');
    expect(await exited).not.toEqual([0, null]);
  });
});
