import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startEmbedded } from '../../src/embedded/index.ts';
import { weirHere } from '../e2e/here.ts';
import { workbench } from './run.ts';

let bench: ReturnType<typeof workbench>;
beforeEach(() => {
  bench = workbench();
});
afterEach(() => bench.clean());

const everything = (): string[] => readdirSync(bench.dir, { recursive: true }) as string[];

/** What cannot be done where there is no organization yet: looking, and changing what is not there. */
const commands = [
  ['org', 'list'],
  ['org', 'show', 'org_none'],
  ['org', 'suspend', 'org_none'],
  ['billing', 'top-up', 'org_none', '--amount', '20', '--reference', 'r'],
  ['admin-key', 'bootstrap', 'org_none', '--yes'],
  ['oauth-client', 'list'],
  ['oauth-client', 'create', 'org_none', '--name', 'x'],
  ['secrets', 'show'],
  ['secrets', 'rotate-pepper'],
  ['secrets', 'drop-pepper', '--yes'],
  ['audit', 'history', 'org_none'],
  ['audit', 'state', 'org_none'],
  ['store', 'verify'],
  ['store', 'compact'],
  ['store', 'backup', '--out', 'OUT'],
  ['store', 'export', '--out', 'OUT'],
];
const at = (argv: readonly string[]): string[] =>
  argv.map((part) => (part === 'OUT' ? join(bench.dir, 'out', 'copy') : part));

describe('where there is no store, a command that needs one says where it looked and makes nothing', () => {
  test.each(commands.map((argv) => [argv]))('%j', async (argv) => {
    const before = everything();
    const { code, out, err } = await bench.weir(at(argv));
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^There is no event store in [^\n]+\n$/);
    expect(err).toContain(join(bench.env.DATA_DIR, 'eventstore'));
    expect(everything()).toEqual(before);
  });

  test('nor in a data folder that is there', async () => {
    mkdirSync(join(bench.env.DATA_DIR, 'eventstore'), { recursive: true });
    const before = everything();
    for (const argv of commands) {
      const { code, err } = await bench.weir(at(argv));
      expect([code, err]).toEqual([1, expect.stringMatching(/^There is no event store in [^\n]+\n$/)]);
    }
    expect(everything()).toEqual(before);
  });

  test('nor where its file is empty, which it says', async () => {
    const dir = join(bench.env.DATA_DIR, 'eventstore');
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'events.mdb'), '');
    for (const argv of [...commands, ['audit', 'verify']]) {
      const { code, err } = await bench.weir(at(argv));
      expect(code).toBe(argv.includes('verify') && argv[0] === 'audit' ? 3 : 1);
      expect(err).toContain(`The event store in ${dir} is empty: its events.mdb has 0 bytes`);
      expect(err).not.toContain('There is no event store');
    }
  });

  test('limits says where it looked for an Admin key', async () => {
    const { code, err } = await bench.weir(['limits', 'key_none']);
    expect(code).toBe(1);
    expect(err).toContain(join(bench.env.DATA_DIR, 'first-run.json'));
    expect(everything()).toEqual([]);
  });

  test('what needs none makes none either', async () => {
    for (const argv of [['model', 'list'], ['model', 'check'], ['completion', 'bash'], ['--version']])
      expect((await bench.weir(argv)).code).toBe(0);
    expect(everything()).toEqual([]);
  });
});

test('a store that holds nothing yet stays so', async () => {
  const dir = join(bench.env.DATA_DIR, 'eventstore');
  const store = await startEmbedded({ dir, inThread: true });
  for (const argv of [
    ['org', 'list'],
    ['secrets', 'show'],
    ['oauth-client', 'list'],
  ]) {
    const { code, err } = await bench.weir(argv);
    expect([code, err]).toEqual([1, `The event store in ${dir} holds nothing of Weir yet.\n`]);
  }
  await store.close();
  expect(readdirSync(bench.dir)).toEqual(['data']);
  expect(readdirSync(bench.env.DATA_DIR)).toEqual(['eventstore']);
});

test('of a cluster a command reads what is there, and leaves nothing behind on the machine that it runs on', async () => {
  const store = await startEmbedded({ dir: join(bench.dir, 'elsewhere'), port: 0, inThread: true });
  const cluster = { ...bench.env, EVENTSTORE_URL: `esdb://${store.endpoint}?tls=false` };
  const empty = await weirHere(['org', 'list'], cluster);
  expect([empty.code, empty.stderr]).toEqual([1, 'The event store of EVENTSTORE_URL holds nothing of Weir yet.\n']);
  expect(readdirSync(bench.dir)).toEqual(['elsewhere']);

  expect((await weirHere(['org', 'create', '--new-store', '--name', 'Acme'], cluster)).code).toBe(0);
  // Only the secrets, which no store keeps, are on this machine.
  const listed = await weirHere(['org', 'list', '--jsonl'], cluster);
  expect(JSON.parse(listed.stdout)).toMatchObject({ name: 'Acme' });
  expect(existsSync(bench.env.DATA_DIR)).toBe(false);
  await store.close();
});
