import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { workbench } from './run.ts';

const bench = workbench();
beforeAll(async () => {
  await bench.json('org', 'create', '--new-store', '--name', 'Acme');
});
afterAll(bench.clean);

test('a rotation says before what it costs and whom, and after it what the printed key is for', async () => {
  const asked = await bench.weir(['audit', 'rotate-key']);
  expect(asked).toMatchObject({ code: 1, out: '' });
  expect(asked.err).toContain('Whoever knows the first key believes it in a whole log');
  expect(asked.err).toContain('exports of an organization');
  const { code, out, err } = await bench.weir(['audit', 'rotate-key', '--yes']);
  expect(code).toBe(0);
  const keys = (await bench.weir(['audit', 'key'])).out;
  expect(keys.split('\n')).toHaveLength(3);
  expect(keys.endsWith(`\n${out}`)).toBe(true);
  expect(err).toMatch(/^Add this key to what weir audit key has printed before: /);
});

test.each([
  ['a key that is none', 'nonsense', '"nonsense" is neither a verifier key nor a file of them.'],
  ['a file of something else', 'FILE nonsense', ' holds something else than verifier keys.'],
  ['a file with a key and more', 'FILE KEY nonsense', ' holds something else than verifier keys.'],
  ['an empty file', 'FILE ', ' holds something else than verifier keys.'],
])('--pub refuses %s', async (_, given, sentence) => {
  const file = join(bench.dir, 'keys');
  const isFile = given.startsWith('FILE ');
  if (isFile) writeFileSync(file, given.slice(5).replace('KEY', (await bench.weir(['audit', 'key'])).out));
  const { code, err } = await bench.weir(['audit', 'verify', '--here', '--pub', isFile ? file : given]);
  expect([code, err]).toEqual([64, expect.stringContaining(sentence)]);
});
