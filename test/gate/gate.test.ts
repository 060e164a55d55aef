// Lane: rest: it runs vitest some forty times
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

/** `.ci/run --only` of a project that has the test files of this test, and all else from here. */

vi.setConfig({ testTimeout: 600_000 });

const root = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;
let project: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-gate-test-'));
  project = join(folder, 'project');
  mkdirSync(join(folder, 'state'));
  mkdirSync(project);
  for (const name of ['node_modules', 'src']) symlinkSync(join(root, name), join(project, name));
  for (const name of ['.ci', 'test/support', 'test/vitest.config.ts']) {
    cpSync(join(root, name), join(project, name), { recursive: true });
  }
  const isTest = (path: string): boolean => path.endsWith('.test.ts');
  cpSync(join(root, 'test/gate'), join(project, 'test/gate'), { recursive: true, filter: (path) => !isTest(path) });
  const { scripts, ...about } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  // No test here starts what would be built.
  writeFileSync(join(project, 'package.json'), JSON.stringify({ ...about, scripts: { ...scripts, build: 'true' } }));
});
afterEach(() => rmSync(folder, { recursive: true }));

const fast = '// Lane: fast: a fixture';
const wrong = "test('a value', () => expect(isRed ? 'wrong' : 'right').toBe('right'));";

/** A test file that is red in those of its runs that a condition on `n`, their number from 1 on, names. */
const fixture = (path: string, red: string, body = wrong, first = '// Lane: fast, alone: a fixture'): string => {
  const file = join(project, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(
    file,
    `${first}
import { appendFileSync, statSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
const state = process.env.FIXTURES + '/${path.replaceAll('/', '-')}';
appendFileSync(state, '.');
const n = statSync(state).size;
const isRed = ${red};
${body}
`,
  );
  return path;
};

const runsOf = (path: string): number => {
  const file = join(folder, 'state', path.replaceAll('/', '-'));
  return existsSync(file) ? readFileSync(file).length : 0;
};

interface Ended {
  readonly status: number;
  /** The lines behind the slowest files and before the last one; how long steps took is replaced. */
  readonly closing: string[];
  readonly counts: string;
}

/** @param shims commands that are found before those of this machine, each a line of a shell */
const ciRun = (args: readonly string[], shims: Readonly<Record<string, string>> = {}): Promise<Ended> => {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  for (const [name, line] of Object.entries(shims))
    writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  // What this runner tells its own processes is not for those of another.
  const { PATH, HOME } = process.env;
  const env = { PATH: `${bin}:${PATH}`, HOME, FIXTURES: join(folder, 'state') };
  return new Promise((resolve) => {
    execFile('bash', ['.ci/run', ...args], { cwd: project, env, maxBuffer: 2 ** 26 }, (error, stdout) => {
      const lines = stdout
        .trimEnd()
        .replace(/ \d+ s(?=,|\n|$)/g, ' N s')
        .split('\n');
      const closing = lines.slice(lines.findLastIndex((line) => line.startsWith('slowest files: ')) + 1, -1);
      resolve({ status: error ? Number(error.code) : 0, closing, counts: lines.at(-1)! });
    });
  });
};

/** The lines about tests of a run of some files. */
const only = async (...files: string[]): Promise<Ended> => {
  const ended = await ciRun(['--only', ...files]);
  return { ...ended, closing: ended.closing.filter((line) => !line.startsWith('steps: ')).toSorted() };
};

const said = "expected 'wrong' to be 'right' // Object.is equality";
const fault = 'a wrong value is a fault here, whatever a second look says';

test('a file that is red once is unsteady, and one that is red again or whose room knows no chance has failed', async () => {
  const once = fixture('test/http/once.test.ts', 'n === 1');
  const slow = "test('slow', { timeout: 500 }, () => (isRed ? new Promise(() => {}) : undefined));";
  const late = fixture('test/limits/late.test.ts', 'n === 1', slow);
  // As `eventually` says it.
  const waiting = "test('a wait', () => { if (isRed) throw new Error('Within 25000 ms: nothing came'); });";
  const waited = fixture('test/audit/waited.test.ts', 'n === 1', waiting);
  const always = fixture('test/http/always.test.ts', 'true');
  const third = fixture('test/http/third.test.ts', 'n % 3 === 1');
  const limits = fixture('test/limits/once.test.ts', 'n === 1');
  const { status, closing, counts } = await only(once, late, waited, always, third, limits);
  expect(closing).toEqual([
    `failed: ${always} › a value: ${said} (look 1 of 5: ${said})`,
    `failed: ${third} › a value: ${said} (look 3 of 5: ${said})`,
    `failed: ${limits} › a value: ${said} (${fault})`,
    `unsteady: ${waited} › a wait: Within 25000 ms: nothing came`,
    `unsteady: ${once} › a value: ${said}`,
    `unsteady: ${late} › slow: Test timed out in 500ms.`,
  ]);
  expect([status, counts]).toEqual([1, '3 passed, 3 failed, 0 skipped']);
  expect([once, late, waited, always, third, limits].map(runsOf)).toEqual([6, 6, 6, 2, 4, 1]);
});

test('a run passes in which fast files were unsteady: a hook, the loading of a file, a test', async () => {
  const body = "beforeAll(() => { if (isRed) throw new Error('no stage\\nfor it'); }); test('one', () => {});";
  const hook = fixture('test/http/hook.test.ts', 'n === 1', `describe('those', () => { ${body} });`, fast);
  const loading = fixture(
    'test/http/loading.test.ts',
    'n === 1',
    "if (isRed) throw new Error('no module');\ntest('one', () => {});",
    fast,
  );
  const shared = fixture('test/http/shared.test.ts', 'n === 1', wrong, fast);
  const { status, closing, counts } = await only(hook, loading, shared);
  expect(closing).toEqual([
    `unsteady: ${hook} › those › (hook): no stage`,
    `unsteady: ${loading} › (import or hook): no module`,
    `unsteady: ${shared} › a value: ${said}`,
  ]);
  expect([status, counts]).toEqual([0, '3 passed, 0 failed, 0 skipped']);
  // The whole lane is run once for all of them.
  expect([hook, loading, shared].map(runsOf)).toEqual([4, 4, 4]);
});

test('a fast file that is red again in its whole lane alone has failed', async () => {
  const leaking = fixture('test/http/leaking.test.ts', '[1, 4].includes(n)', wrong, fast);
  const { status, closing } = await only(leaking);
  expect(closing).toEqual([`failed: ${leaking} › a value: ${said} (look 3 of 3, with its whole lane: ${said})`]);
  expect([status, runsOf(leaking)]).toEqual([1, 4]);
});

test('six files that are red once have failed', async () => {
  const six = Array.from({ length: 6 }, (_, i) => fixture(`test/http/once-${i}.test.ts`, 'n === 1'));
  const { status, closing, counts } = await only(...six);
  expect(closing).toEqual(six.map((path) => `failed: ${path} › a value: ${said} (more than 5 files failed)`));
  expect([status, counts]).toEqual([1, '0 passed, 6 failed, 0 skipped']);
  expect(six.map(runsOf)).toEqual([1, 1, 1, 1, 1, 1]);
});

test.each([
  [
    'an unhandled error',
    "if (isRed) Promise.reject(new Error('nobody waits'));",
    /unhandled error: Error: nobody waits$/,
  ],
  ['a crash of the process', "if (isRed) process.kill(process.pid, 'SIGKILL');", /unhandled error: /],
])('%s is no chance, also beside a failed test', async (_, line, message) => {
  const path = fixture(
    'test/http/loose.test.ts',
    'n === 1',
    `${wrong}\ntest('other', async () => { ${line} await new Promise((resolve) => setTimeout(resolve, 50)); });`,
  );
  const { status, closing, counts } = await only(path);
  expect(closing).toEqual(expect.arrayContaining([expect.stringMatching(message), 'failed step: npm test']));
  expect(status).toBe(1);
  expect(counts).not.toMatch(/ 0 failed/);
});

test('the second look has the environment of the first', async () => {
  const archive = fixture(
    'test/e2e/archive.test.ts',
    "process.env.WEIR_EVENTSTORE === 'tls' && n === 2",
    `${wrong}\nappendFileSync(process.env.FIXTURES + '/seen', process.env.WEIR_EVENTSTORE + ' ');`,
    '// Lane: middle: a fixture',
  );
  const { status, closing } = await only(archive);
  expect(closing).toEqual([`unsteady: ${archive} › a value: ${said}`]);
  expect([status, readFileSync(join(folder, 'state/seen'), 'utf8')]).toEqual([0, ` ${'tls '.repeat(6)}`]);
});

test('a name of no test file ends it', async () => {
  expect((await only('test/none.test.ts')).status).toBe(2);
});

test('files that measure time run one at a time, when the others are over', async () => {
  const log = "process.env.FIXTURES + '/log'";
  const body = (name: string): string =>
    `test('waits', async () => { appendFileSync(${log}, '${name} '); await new Promise((resolve) => setTimeout(resolve, 500)); appendFileSync(${log}, '${name} '); });`;
  const timed = ['a', 'b', 'c'].map((name) =>
    fixture(`test/http/${name}.test.ts`, 'false', body(name), '// Lane: fast, timed: a fixture'),
  );
  const others = ['y', 'z'].map((name) => fixture(`test/http/${name}.test.ts`, 'false', body(name)));
  expect((await only(...timed, ...others)).counts).toBe('5 passed, 0 failed, 0 skipped');
  const order = readFileSync(join(folder, 'state/log'), 'utf8').trimEnd().split(' ');
  expect(order.slice(0, 4).toSorted()).toEqual(['y', 'y', 'z', 'z']);
  const pairs = [0, 2, 4].map((i) =>
    order
      .slice(4)
      .slice(i, i + 2)
      .join(''),
  );
  expect(pairs.toSorted()).toEqual(['aa', 'bb', 'cc']);
});

describe('a whole run', () => {
  const installing = (line: string): string => {
    const npm = process.env
      .PATH!.split(':')
      .map((dir) => join(dir, 'npm'))
      .find(existsSync);
    return `if [ "$1" = install ]; then ${line}; else exec ${npm} "$@"; fi`;
  };
  const rewriteScripts = (over: Readonly<Record<string, string>>): void => {
    const file = join(project, 'package.json');
    const { scripts, ...about } = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...about, scripts: { ...scripts, ...over } }));
  };
  const whole = (...args: string[]): Promise<Ended> => ciRun(args, { npm: installing('true'), uname: 'echo Plan 9' });

  test('names at its end what has failed, was unsteady or could not be judged, and has the daily lane with --all', async () => {
    rewriteScripts({ check: 'false', bench: "echo 'NOT JUDGED: the machine is uneven.' #" });
    mkdirSync(join(project, 'bench'));
    writeFileSync(join(project, 'bench/baseline.json'), '{}');
    const once = fixture('test/http/once.test.ts', 'n === 1', wrong, fast);
    const limits = fixture('test/limits/once.test.ts', 'n === 1', wrong, '// Lane: rest: a fixture');
    const daily = fixture('test/deploy/daily.test.ts', 'false', wrong, '// Lane: daily: a fixture');
    const notJudged = [
      'bench gate: NOT JUDGED: the machine is uneven.',
      'end to end on Node 22: NOT JUDGED: it needs Linux on x64',
    ];
    const plain = await whole();
    expect(plain.closing).toEqual([
      `failed: ${limits} › a value: ${said} (${fault})`,
      `unsteady: ${once} › a value: ${said}`,
      'failed step: check',
      ...notJudged,
      'steps: install N s, check N s, npm test N s, npm run test:rest N s, bench gate N s, second look N s',
    ]);
    expect([plain.status, plain.counts]).toEqual([1, '1 passed, 2 failed, 0 skipped']);
    rewriteScripts({ check: 'true' });
    const all = await whole('--all');
    expect(all.closing).toEqual([
      ...notJudged,
      'steps: install N s, check N s, npm test N s, npm run test:rest N s, npm run test:daily N s, bench gate N s, second look N s',
    ]);
    expect([all.status, all.counts]).toEqual([0, '3 passed, 0 failed, 0 skipped']);
    expect(runsOf(daily)).toBe(1);
  });

  test('fails where a lane has no tests', async () => {
    rewriteScripts({ check: 'true' });
    fixture('test/http/one.test.ts', 'false');
    const { status, closing } = await whole();
    expect([status, closing]).toEqual([1, expect.arrayContaining(['failed step: npm run test:rest'])]);
  });

  test('ends where nothing could be installed', async () => {
    const { status, counts } = await ciRun([], { npm: installing('false') });
    expect([status, counts]).toEqual([1, '0 passed, 1 failed, 0 skipped']);
  });
});
