import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { takeLock } from '../../src/embedded/lock/lock.ts';
import { backupStore } from '../../src/embedded/maintenance/backup.ts';
import { freshDir, numbered, openStore } from './store-under-test.ts';

test('a backup removes what an earlier one has left that was killed, and not one that is under way', async () => {
  const { dir, client } = await openStore();
  await client.appendToStream('kept-1', numbered(0));
  const folder = freshDir();
  const [killed, running, other] = ['.today.7.partial', '.today.8.partial', '.later.7.partial'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  for (const path of [killed, running, other]) {
    mkdirSync(path);
    writeFileSync(join(path, 'events.mdb'), 'half');
  }
  const lock = await takeLock(running);
  expect(await backupStore(dir, join(folder, 'today'))).toMatchObject({ verdict: 'ok', events: 1 });
  expect([killed, running, other].map((path) => existsSync(path))).toEqual([false, true, true]);
  expect(readdirSync(join(folder, 'today'))).toEqual(['events.mdb']);
  lock.release();
});
