import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { testFiles } from './support/lanes.ts';

const root = new URL('..', import.meta.url);
const files = testFiles();

test('each file is in one lane', () => {
  expect(new Set(files.map(({ path }) => path)).size).toBe(files.length);
  expect(files).toEqual(
    expect.arrayContaining([
      { path: 'test/lanes.test.ts', lane: 'fast', alone: false, timed: false },
      { path: 'test/e2e/startup.test.ts', lane: 'middle', alone: false, timed: false },
      { path: 'test/torture/disk.test.ts', lane: 'rest', alone: true, timed: false },
      { path: 'test/deploy/package.test.ts', lane: 'daily', alone: false, timed: false },
      { path: 'test/threads/deadline.test.ts', lane: 'fast', alone: false, timed: true },
    ]),
  );
});

test('a fast test cannot start a process', () => {
  expect(() => spawnSync('true')).toThrow('no process');
});

/** A wait for a time and not for a state. */
const bareWait = /setTimeout\(resolve, (\d[\d_]*)\)|\bsleep\((\d[\d_]*)\)/g;

test('a fast test waits for no time that a person would notice', () => {
  const waits = files
    .filter(({ lane }) => lane === 'fast')
    .flatMap(({ path }) =>
      [...readFileSync(fileURLToPath(new URL(path, root)), 'utf8').matchAll(bareWait)]
        .map(([, timeout, sleep]) => Number((timeout ?? sleep)!.replaceAll('_', '')))
        .filter((ms) => ms >= 100)
        .map((ms) => `${path}: ${ms} ms`),
    );
  expect(waits).toEqual([]);
});
