import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { exitOf, spawnWeir } from '../e2e/process.ts';
import { workbench } from './run.ts';

const bench = workbench();
afterAll(bench.clean);

const root = new URL('../../', import.meta.url);
const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { version: string };

describe('a command line that is wrong ends with status 64', () => {
  test.each([
    [['serv'], /unknown command 'serv'/],
    [['serve', 'now'], /too many arguments/],
    [['org', 'lost'], /unknown command 'lost'/],
    [['org', 'list', '--jsno'], /unknown option '--jsno'/],
    [['org', 'create'], /required option '--name <name>'/],
    [['org', 'create', '--name', ' '], /has 1 to 120 characters/],
    [['org', 'show'], /missing required argument 'id'/],
    [['oauth-client', 'create', 'org_1', '--name', 'x', '--permissions', 'nonsense'], /Give some of /],
    [['oauth-client', 'create', 'org_1', '--name', 'x'.repeat(121)], /has 1 to 120 characters/],
    [['billing', 'grant', 'org_1', '--amount', '5', '--reference', 'x'.repeat(201)], /has 1 to 200 characters/],
    [['eventstore', '--port', 'x'], /Give a number from 0 to 65535/],
    [['eventstore', '--user', 'jo'], /needs both --user and --password-file/],
    [['org'], /Usage: weir org /],
    [[], /Usage: weir /],
  ])('%j', async (argv, complaint) => {
    const { code, out, err } = await bench.weir(argv);
    expect(err).toMatch(complaint);
    expect([code, out]).toEqual([64, '']);
  });

  test('also where it is a process', async () => {
    const spawned = spawnWeir(['serv'], { DATA_DIR: join(bench.dir, 'none') });
    expect(await exitOf(spawned)).toEqual({ code: 64, signal: null });
  });
});

describe('a reader that leaves before the end is no error', () => {
  /** Runs it with an output that nobody reads, and one for errors that we do. */
  const unread = async (argv: readonly string[]) => {
    const child = spawn(process.execPath, argv, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    return { code, signal, errors };
  };
  const quiet = { code: 0, signal: null, errors: '' };

  test.each([
    ['weir', ['dist/src/main.js', 'completion', 'bash']],
    ['weir --help', ['dist/src/main.js', '--help']],
    ['bench', ['--import', import.meta.resolve('tsx'), 'bench/cli.ts', 'report', '--help']],
  ])('%s', async (_, argv) => {
    expect(await unread(argv)).toEqual(quiet);
  });

  test('without that a write of it ends the process', async () => {
    const late = 'setTimeout(() => process.stdout.write("x"), 100)';
    expect((await unread(['-e', late])).errors).toContain('EPIPE');
  });
});

test('what is asked for rightly and cannot be done still ends with 1', async () => {
  expect((await bench.weir(['model', 'check', join(bench.dir, 'nowhere.json')])).code).toBe(1);
});

test.each([['--version'], ['-V']])('weir %s tells the version of the package', async (option) => {
  expect(await bench.weir([option])).toEqual({ code: 0, out: `${version}\n`, err: '' });
});

test('weir help and --help are answers, not errors', async () => {
  for (const argv of [['--help'], ['help'], ['org', '--help'], ['help', 'org']]) {
    expect(await bench.weir(argv)).toMatchObject({ code: 0, err: '' });
  }
});
