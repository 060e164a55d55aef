// Lane: middle, alone: it runs the compiler
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const root = fileURLToPath(new URL('..', import.meta.url));
const copy = mkdtempSync(join(tmpdir(), 'weir-build-'));

/** What the build needs to find, with nothing in it. */
const sources = {
  'src/audit/verify_export.py': '',
  'src/cli/program.ts': "import { one } from '../one.ts';\nexport const program = one;\n",
  'src/data/large/none.ts': 'export {};\n',
  'src/embedded/worker.ts': 'export const worker = 2;\n',
  'src/kernel/plain.mjs': 'export const plain = 3;\n',
  'src/one.ts': 'export const one = 1;\n',
  'src/rules/none.ts': 'export {};\n',
  'projections/none.ts': 'export {};\n',
};

const read = (file: string): string => readFileSync(join(copy, file), 'utf8');

/** Whether anything was built. */
const build = (): boolean => {
  const output = execFileSync('sh', ['-c', 'node .build.mjs 2>&1'], { cwd: copy, encoding: 'utf8' });
  expect(output).toMatch(/^(Building Weir, which takes some seconds\n)?$/);
  return output !== '';
};

const options = {
  target: 'es2023',
  module: 'nodenext',
  types: [],
  skipLibCheck: true,
  rewriteRelativeImportExtensions: true,
};

beforeAll(() => {
  for (const [file, text] of Object.entries(sources)) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    writeFileSync(join(copy, file), text);
  }
  writeFileSync(join(copy, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }));
  for (const name of ['.build.mjs', '.tsconfig.build.json', 'package.json']) cpSync(join(root, name), join(copy, name));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  expect(build()).toBe(true);
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

test.each([
  ['a source', 'src/one.ts'],
  ['a source that is taken as it is', 'src/kernel/plain.mjs'],
])('%s that has changed is built, and once', (_, file) => {
  expect(build()).toBe(false);
  appendFileSync(join(copy, file), 'export const more = 4;\n');
  expect(build()).toBe(true);
  expect(read(`dist/${file.replace(/\.ts$/, '.js')}`)).toContain('more = 4');
});

test('what was built and is changed or gone is built again', () => {
  const files = ['dist/src/one.js', 'dist/src/kernel/plain.mjs', 'dist/src/cli/program.js'];
  const before = files.map(read);
  appendFileSync(join(copy, files[0]!), 'throw new Error();\n');
  for (const file of files.slice(1)) rmSync(join(copy, file));
  expect(build()).toBe(true);
  expect(files.map(read)).toEqual(before);
});

test('a build that failed is tried again', () => {
  appendFileSync(join(copy, 'src/one.ts'), 'export const wrong: string = 5;\n');
  for (const _ of [1, 2]) expect(() => build()).toThrow(/Command failed/);
  writeFileSync(join(copy, 'src/one.ts'), sources['src/one.ts']);
  expect(build()).toBe(true);
});
