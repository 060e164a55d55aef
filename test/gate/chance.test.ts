import { expect, test } from 'vitest';
import { readGuide } from '../support/guides.ts';
import { testFiles } from '../support/lanes.ts';
import { mayBeChance } from './chance.ts';

const wrong = { name: 'a test', said: 'expected 1 to be 2', isTimeout: false };
const late = { name: 'a test', said: 'Test timed out in 30000ms.', isTimeout: true };
const files = testFiles().map(({ path }) => path);

test.each([
  'test/limits/windows.test.ts',
  'test/e2e/own-limits.test.ts',
  'test/access/authenticate.test.ts',
  'test/matrix/tenants.test.ts',
  'test/usage/journal.test.ts',
  'test/domain/charge.test.ts',
  'test/inference/accounts.test.ts',
  'test/policies/naive-judge.test.ts',
  'test/rules/fuzz.test.ts',
  'test/domain/policy.test.ts',
  'test/audit/log/proof.test.ts',
  'test/e2e/audit-log.test.ts',
  'test/contract/append.test.ts',
  'test/torture/disk.test.ts',
  'test/e2e/credit-kills.test.ts',
  'test/e2e/killed-reader.test.ts',
  'test/admin/policies-race.test.ts',
  'test/e2e/archive-races.test.ts',
])('a wrong value is never chance in %s, a timeout may be', (path) => {
  expect(files).toContain(path);
  expect(mayBeChance({ path, troubles: [wrong] })).toBe(false);
  expect(mayBeChance({ path, troubles: [late, wrong] })).toBe(false);
  expect(mayBeChance({ path, troubles: [] })).toBe(false);
  expect(mayBeChance({ path, troubles: [late, late] })).toBe(true);
});

test.each([
  'test/http/abort.test.ts',
  'test/e2e/startup.test.ts',
  'test/kernel/followers.test.ts',
  'test/http/trace-context.test.ts',
])('anything may be chance in %s', (path) => {
  expect(files).toContain(path);
  expect(mayBeChance({ path, troubles: [wrong] })).toBe(true);
});

test('at most five unsteady files are listed, each of which there is', () => {
  const rows = readGuide('test/unsteady.md')
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  const named = rows.map((row) => /^\| `([^` ]+)/.exec(row)?.[1]);
  expect(rows.length).toBeLessThanOrEqual(5);
  expect(files).toEqual(expect.arrayContaining(named));
});
