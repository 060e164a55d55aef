import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { dayKeys } from '../../src/secrets/day-keys.ts';
import { dropPreviousPepper, loadSecrets, pepperIdOf, rotatePepper } from '../../src/secrets/master-secrets.ts';

let dir = '';
const fresh = (): string => {
  dir = mkdtempSync(join(tmpdir(), 'weir-secrets-'));
  return join(dir, 'secrets');
};
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('are made on the first start, for the owner alone, and stay the same', () => {
  const folder = fresh();
  const made = loadSecrets(folder);
  expect(made.pepper).toMatch(/^[0-9a-f]{64}$/);
  expect(made.pepperId).toMatch(/^[0-9a-f]{8}$/);
  expect(made.pepper).not.toContain(made.pepperId);
  expect(made.mac('a')).toMatch(/^[0-9a-f]{64}$/);
  expect(made.peppers).toEqual([made.pepper]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, 'secrets.json')).mode & 0o777).toBe(0o600);
  const again = loadSecrets(folder);
  expect(again.pepper).toBe(made.pepper);
  expect(again.mac('a')).toBe(made.mac('a'));
  expect(made.mac('a')).not.toBe(made.mac('b'));
});

test('leave no other file behind, and no file that is not the owner’s alone', () => {
  const folder = fresh();
  loadSecrets(folder);
  rotatePepper(folder);
  dropPreviousPepper(folder);
  const keys = join(folder, 'day-keys');
  dayKeys(keys).current(Date.parse('2026-11-20T12:00:00Z'));
  expect(readdirSync(folder).toSorted()).toEqual(['day-keys', 'secrets.json']);
  expect(readdirSync(keys)).toEqual(['2026-11-20.key']);
  for (const file of [join(folder, 'secrets.json'), join(keys, '2026-11-20.key')])
    expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('a pepper is replaced by another, the previous one still counts, and goes when it is told to', () => {
  const folder = fresh();
  const first = loadSecrets(folder);
  const second = rotatePepper(folder);
  expect(second.peppers).toEqual([second.pepper, first.pepper]);
  expect(second.pepper).not.toBe(first.pepper);
  expect([first.pepperId, second.pepperId]).toEqual([first.pepper, second.pepper].map(pepperIdOf));
  expect(second.masterKey).toEqual(first.masterKey);
  expect(loadSecrets(folder).peppers).toEqual(second.peppers);
  expect(() => rotatePepper(folder)).toThrow(`The previous pepper, ${first.pepperId}, is still accepted.`);
  expect(dropPreviousPepper(folder).peppers).toEqual([second.pepper]);
  expect(loadSecrets(folder).peppers).toEqual([second.pepper]);
});

test('a start that finds another’s secrets while it makes its own uses those', () => {
  const folder = fresh();
  const [one, other] = [loadSecrets(folder), loadSecrets(folder)];
  expect(other.pepper).toBe(one.pepper);
  const keys = join(folder, 'day-keys');
  const at = Date.parse('2026-11-20T12:00:00Z');
  mkdirSync(keys);
  writeFileSync(join(keys, '2026-11-20.key'), 'short');
  // Somebody else's, and never overwritten: what it sealed could not be opened any more.
  expect(() => dayKeys(keys).current(at)).toThrow(/2026-11-20\.key is damaged/);
  writeFileSync(join(keys, '2026-11-20.key'), Buffer.alloc(32, 7));
  expect(dayKeys(keys).current(at).key).toEqual(Buffer.alloc(32, 7));
});

test('are refused when damaged, with the file’s name and without its contents', () => {
  const folder = fresh();
  loadSecrets(folder);
  const file = join(folder, 'secrets.json');
  const kept = JSON.parse(readFileSync(file, 'utf8'));
  for (const text of [
    '{',
    JSON.stringify({ ...kept, master_key: 'short' }),
    JSON.stringify({ ...kept, previous_pepper: 7 }),
    JSON.stringify({ ...kept, surplus: kept.pepper }),
  ]) {
    writeFileSync(file, text);
    let message = '';
    try {
      loadSecrets(folder);
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toContain('secrets.json is damaged');
    expect(message).not.toContain(kept.pepper);
  }
});
