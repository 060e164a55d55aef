import { execFile, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { eventually, freshDir } from '../e2e/process.ts';
import { installedPackages, licences } from '../support/licences.ts';

vi.setConfig({ testTimeout: 180_000 });

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const { version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, string>;

/** What `npm pack` makes of the build that is there: `prepack` would take it away from under the other tests. */
const pack = async (to: string): Promise<string> => {
  mkdirSync(to, { recursive: true });
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', to], { cwd: root });
  const packed: unknown = JSON.parse(stdout);
  // A list up to npm 11, an object by name after it.
  const [{ filename }] = Object.values(packed as object) as [{ filename: string }];
  return join(to, filename);
};

const unreachable = /E?(?:NOTCACHED|NOTFOUND|CONNREFUSED|AI_AGAIN|TIMEDOUT|HOSTUNREACH|NETUNREACH|CONNRESET)/;
/** DEPLOY_LONG=1 installs it with npm, from the registry. */
const isLong = process.env.DEPLOY_LONG === '1';

/** As npm would, without asking anybody: the package beside the packages that it needs, and no others. */
const layOut = async (file: string, home: string): Promise<void> => {
  const modules = join(home, 'node_modules');
  for (const path of installedPackages()) {
    const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    if (name === undefined || !existsSync(join(root, path))) continue;
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, path), join(modules, name));
  }
  mkdirSync(join(modules, 'weir'));
  await run('tar', ['-xzf', file, '--strip-components=1', '-C', join(modules, 'weir')]);
  mkdirSync(join(modules, '.bin'));
  symlinkSync('../weir/dist/src/main.js', join(modules, '.bin/weir'));
  chmodSync(join(modules, '.bin/weir'), 0o755);
};

const install = async (file: string, home: string): Promise<void> => {
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--fetch-retries=0'];
  await run('npm', ['install', ...options, file], { cwd: home });
};

test('the package installs in an empty folder without a compiler, and serves', async (context) => {
  const dir = freshDir();
  const file = await pack(dir);
  const home = join(dir, 'empty');
  mkdirSync(home);
  try {
    await (isLong ? install : layOut)(file, home);
  } catch (error) {
    if (unreachable.test((error as { stderr: string }).stderr)) context.skip('the registry is not to be had');
    throw error;
  }
  const installed = readdirSync(join(home, 'node_modules'));
  expect(installed).toContain('weir');
  for (const tool of ['typescript', 'esbuild', 'tsx', 'vitest']) expect(installed).not.toContain(tool);
  const own = join(home, 'node_modules/weir');
  expect(readdirSync(own).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json', 'src']);
  const files = readdirSync(own, { recursive: true, encoding: 'utf8' });
  expect(files.filter((name) => /\.ts$|\.tsbuildinfo$|\.test\./.test(name))).toEqual([]);

  const { stdout } = await run('npx', ['--no-install', 'weir', '--version'], { cwd: home });
  expect(stdout).toBe(`${version}\n`);
  const verifier = await run('npx', ['--no-install', 'weir', 'audit', 'verifier'], { cwd: home });
  expect(verifier.stdout).toBe(readFileSync(join(root, 'src/audit/verify_export.py'), 'utf8'));
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn('node_modules/.bin/weir', ['serve'], { cwd: home, env: { PATH, HOME, PORT: '0' } });
  let log = '';
  child.stderr.on('data', (text) => {
    log += text;
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  try {
    const baseUrl = await eventually(
      () => /"base_url":"([^"]+)"[^\n]*"listening"/.exec(log)?.[1],
      () => log,
      60_000,
    );
    expect((await fetch(`${baseUrl}/v1/ready`)).status).toBe(200);
    const first = JSON.parse(readFileSync(join(home, 'data/first-run.json'), 'utf8')) as Record<string, string>;
    const answer = await fetch(`${baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${first.project_api_key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'weir-sim-1', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    expect(answer.status).toBe(200);
  } finally {
    child.kill('SIGTERM');
  }
  expect(await exited).toBe(0);
});

test('what Weir is made of may be passed on with it, and its licence is the one that it names', () => {
  expect(license).toBe('Apache-2.0');
  expect(readFileSync(join(root, 'LICENSE'), 'utf8')).toMatch(/^\s*Apache License\s+Version 2\.0, January 2004/);
  const permissive = new Set(['MIT', 'ISC', '0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'MIT-0', 'Zlib']);
  const others = [...licences()].filter(
    ([licence]) =>
      !licence
        .replace(/[()]/g, '')
        .split(/ (?:AND|OR) /)
        .every((each) => permissive.has(each)),
  );
  expect(others).toEqual([]);
});
