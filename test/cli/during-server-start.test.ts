import { existsSync, mkdirSync, rmSync, watch } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { projections } from '../../projections/all.ts';
import { startEmbedded } from '../../src/embedded/index.ts';
import { takeLock } from '../../src/embedded/lock/lock.ts';
import type { KeptCheckpoint } from '../../src/kernel/followers/checkpoint.ts';
import { openRows } from '../../src/kernel/rows/rows.ts';
import { workbench } from './run.ts';

vi.setConfig({ testTimeout: 60_000 });

let bench: ReturnType<typeof workbench>;
const cleanUps: (() => Promise<void> | void)[] = [];
beforeEach(() => {
  bench = workbench();
  cleanUps.push(bench.clean);
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A folder that is locked as a process does that has just begun; `met` when somebody else has given it up: what it put there is gone. */
const begun = async (dir: string) => {
  mkdirSync(dir, { recursive: true });
  const lock = await takeLock(dir);
  cleanUps.push(lock.release);
  const met = new Promise<void>((resolve) => {
    const watcher = watch(dir, (_, name) => {
      if (name !== null && !existsSync(join(dir, name))) resolve();
    });
    cleanUps.push(() => watcher.close());
  });
  return { lock, met };
};

test('a command waits for a server that has taken the store and does not listen yet', async () => {
  const other = await startEmbedded({ dir: join(bench.dir, 'other'), inThread: true });
  cleanUps.push(other.close);
  const { lock, met } = await begun(join(bench.env.DATA_DIR, 'eventstore'));
  const made = bench.weir(['org', 'create', '--new-store', '--name', 'Acme', '--jsonl']);
  await met;
  lock.announce(other.endpoint);
  expect(await made).toMatchObject({ code: 0, err: '' });
});

test('a command waits for the read models of a server that has not made them yet', async () => {
  await bench.weir(['org', 'create', '--new-store', '--name', 'Acme', '--jsonl']);
  const dir = join(bench.env.DATA_DIR, 'read-models');
  rmSync(dir, { recursive: true });
  const { met } = await begun(dir);
  const listed = bench.weir(['org', 'list', '--jsonl']);
  await met;
  const rows = openRows(
    dir,
    projections.flatMap(({ tables }) => tables),
  );
  cleanUps.push(() => rows.close());
  expect(await listed).toEqual({ code: 0, out: '', err: '' });
});

test('a command shows no rows that a server is making again', async () => {
  await bench.weir(['org', 'create', '--new-store', '--name', 'Acme', '--jsonl']);
  const dir = join(bench.env.DATA_DIR, 'read-models');
  await begun(dir);
  const tables = projections.flatMap((projection) => projection.tables);
  const rows = openRows<KeptCheckpoint>(dir, tables);
  cleanUps.push(() => rows.close());
  const kept = rows.mark('organizations')!;
  await rows.write(new Map(), new Map([['organizations', { ...kept, isApart: true }]]));
  const { code, out, err } = await bench.weir(['org', 'list', '--jsonl']);
  expect(err).toMatch(/^The running server makes the rows of organizations again from the log: /);
  expect({ code, out }).toEqual({ code: 1, out: '' });
  await rows.write(new Map(), new Map([['organizations', kept]]));
  expect(await bench.weir(['org', 'list', '--jsonl'])).toMatchObject({ code: 0, err: '' });
});

test('commands at once on the files of a stopped server wait for each other, and none is lost', async () => {
  await bench.weir(['org', 'create', '--new-store', '--name', 'Acme']);
  const names = ['one', 'two', 'three', 'four', 'five'];
  const done = await Promise.all(names.map((name) => bench.weir(['project', 'create', '--name', name])));
  expect(done.map(({ code, err }) => `${code} ${err}`)).toEqual(names.map(() => '0 '));
  expect((await bench.json('project', 'list')).map(({ name }) => name).toSorted()).toEqual(names.toSorted());
});
