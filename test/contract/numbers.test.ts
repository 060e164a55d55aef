import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const folder = new URL('./', import.meta.url);

/** What was asked of a real node, and of foreign clients, has names of its own, and this file none of the numbers. */
const unnumbered = [
  'numbers.test.ts',
  'recorded.test.ts',
  'sizes.test.ts',
  'stream-positions.test.ts',
  'python.test.ts',
];

const start = /^ *((?:test|embeddedTest)(?:\.\w+(?:\([^)]*\))?)*)\(\s*(.{0,120})/gm;

/** The beginnings of all tests of a file: how they are called, and their titles. */
const testsOf = (text: string) => [...text.matchAll(start)].map(([, call = '', title = '']) => ({ call, title }));

const numberOf = (title: string): number => Number(/^['`](\d+) /.exec(title)?.[1] ?? Number.NaN);

const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !unnumbered.includes(name) && name !== 'target.ts')
  .map((name) => ({ name, tests: testsOf(readFileSync(new URL(name, folder), 'utf8')) }));

test('each of the 51 numbers of the contract has its test, and each test its number', () => {
  const all = files.flatMap(({ name, tests }) => tests.map((each) => ({ name, ...each })));
  expect(all.filter(({ title }) => Number.isNaN(numberOf(title)))).toEqual([]);
  const numbers = new Set(all.map(({ title }) => numberOf(title)));
  expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: 51 }, (_, i) => i + 1));
});

test('none is left out by a word in the source', () => {
  const called = files.flatMap(({ tests }) => tests.map(({ call }) => call));
  expect(called.filter((call) => /\.(skip|only|todo|fails)\b/.test(call))).toEqual([]);
});

test('the look at the titles sees what it looks for', () => {
  const text = `
  test('7 one', () => {});
  embeddedTest.skipIf(x)(
    '8 two', () => {});
  test.skip(\`9 three\`, { timeout: 1 }, () => {});
  test('none', () => {});`;
  expect(testsOf(text).map(({ call, title }) => [call, numberOf(title)])).toEqual([
    ['test', 7],
    ['embeddedTest.skipIf(x)', 8],
    ['test.skip', 9],
    ['test', Number.NaN],
  ]);
});
