import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { loadSecrets } from '../src/secrets.ts';

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
  expect(made.peppers).toEqual([made.pepper]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, 'secrets.json')).mode & 0o777).toBe(0o600);
  const again = loadSecrets(folder);
  expect(again.pepper).toBe(made.pepper);
  expect(again.mac('a')).toBe(made.mac('a'));
  expect(made.mac('a')).not.toBe(made.mac('b'));
});

test('accept two peppers while one takes over from the other, the current one first', () => {
  const folder = fresh();
  loadSecrets(folder);
  const file = join(folder, 'secrets.json');
  const kept = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(
    file,
    JSON.stringify({ ...kept, current_pepper: 'p2', peppers: { ...kept.peppers, p2: 'a'.repeat(64) } }),
  );
  const secrets = loadSecrets(folder);
  expect(secrets.peppers).toEqual(['a'.repeat(64), kept.peppers.p1]);
  expect(secrets.pepperId).toBe('p2');
});

test('are refused when damaged, with the file’s name and without its contents', () => {
  const folder = fresh();
  loadSecrets(folder);
  const file = join(folder, 'secrets.json');
  const kept = JSON.parse(readFileSync(file, 'utf8'));
  for (const text of [
    '{',
    JSON.stringify({ ...kept, master_key: 'short' }),
    JSON.stringify({ ...kept, current_pepper: 'p9' }),
  ]) {
    writeFileSync(file, text);
    let message = '';
    try {
      loadSecrets(folder);
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toContain('secrets.json is damaged');
    expect(message).not.toContain(kept.peppers.p1);
  }
});
