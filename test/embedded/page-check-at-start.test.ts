import { copyFileSync, openSync, readFileSync, readSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startEmbedded } from '../../src/embedded/index.ts';
import { backupStore, CannotCopy } from '../../src/embedded/maintenance/backup.ts';
import { compactStore } from '../../src/embedded/maintenance/compact.ts';
import { verifyStore } from '../../src/embedded/maintenance/verify.ts';
import { StoreCorrupt } from '../../src/embedded/store/records/corrupt.ts';
import { collect, connect, freshDir, numbered, rejection } from './store-under-test.ts';

const pageSize = 4096;
const leaf = 2;

/** A store that was written to and closed: its folder. */
const closedStore = async (): Promise<string> => {
  const dir = freshDir();
  const store = await startEmbedded({ dir });
  const client = connect(store.endpoint);
  for (let i = 0; i < 40; i++) {
    await client.appendToStream(
      `s-${i}`,
      Array.from({ length: 50 }, (_, n) => numbered(n)),
    );
  }
  await client.dispose();
  await store.close();
  return dir;
};

/** Makes a leaf of the events claim to be another page: LMDB does not notice. */
const damage = (dir: string): void => {
  const file = join(dir, 'events.mdb');
  const descriptor = openSync(file, 'r+');
  const page = Buffer.alloc(pageSize);
  const pages = Math.floor(statSync(file).size / pageSize);
  for (let number = Math.floor(pages / 2); number < pages; number++) {
    readSync(descriptor, page, 0, pageSize, number * pageSize);
    if (page.readUInt16LE(18) !== leaf || Number(page.readBigUInt64LE(0)) !== number) continue;
    writeSync(descriptor, Buffer.from([page[0]! ^ 1]), 0, 1, number * pageSize);
    return;
  }
  throw new Error('no leaf to damage');
};

/** As if nobody had written to the file: what a disk does that loses a bit. */
const reseal = (dir: string): void => {
  const seal = join(dir, 'closed');
  const { size, mtimeNs } = statSync(join(dir, 'events.mdb'), { bigint: true });
  writeFileSync(seal, `${readFileSync(seal, 'utf8').split(' ')[0]} ${size} ${mtimeNs}\n`);
};

test('a file that was written to since it was closed is walked before it serves', async () => {
  const dir = await closedStore();
  damage(dir);
  expect(await rejection(startEmbedded({ dir }))).toBeInstanceOf(StoreCorrupt);
});

test('a file that nobody has written to serves at once, and ends when its pages turn out to be damaged', async () => {
  const dir = await closedStore();
  damage(dir);
  reseal(dir);
  const store = await startEmbedded({ dir });
  const reason = await store.failed;
  expect(reason).toBeInstanceOf(StoreCorrupt);
  expect(reason.message).toMatch(/events\.mdb is damaged/);
  await store.close();
  // It is not sealed again, so the next start looks first.
  expect(await rejection(startEmbedded({ dir }))).toBeInstanceOf(StoreCorrupt);
}, 30_000);

test('an older file in the place of the one that was closed is neither compacted nor backed up', async () => {
  const dir = await closedStore();
  const [file, old] = [join(dir, 'events.mdb'), join(freshDir(), 'events.mdb')];
  copyFileSync(file, old);
  const store = await startEmbedded({ dir });
  const client = connect(store.endpoint);
  await client.appendToStream('revoked-1', [numbered(0)]);
  await client.dispose();
  await store.close();
  copyFileSync(old, file);
  expect(await verifyStore(dir)).toMatchObject({ verdict: 'corrupt' });
  expect(await rejection(compactStore(dir))).toBeInstanceOf(CannotCopy);
  expect(await rejection(backupStore(dir, join(freshDir(), 'copy')))).toBeInstanceOf(CannotCopy);
  expect(await verifyStore(dir)).toMatchObject({ verdict: 'corrupt' });
  expect(readFileSync(file).equals(readFileSync(old))).toBe(true);
}, 60_000);

test('what is written while the pages are walked does not disturb the walk', async () => {
  const dir = await closedStore();
  for (let round = 0; round < 3; round++) {
    const store = await startEmbedded({ dir });
    let failed: Error | undefined;
    void store.failed.then((reason) => {
      failed = reason;
    });
    const client = connect(store.endpoint);
    const until = performance.now() + 1500;
    let appended = 0;
    while (performance.now() < until) {
      await Promise.all(
        Array.from({ length: 50 }, () => client.appendToStream(`more-${round}-${appended++}`, numbered(1))),
      );
    }
    expect(await collect(client.readStream('s-39'))).toHaveLength(50);
    expect(failed).toBeUndefined();
    await client.dispose();
    await store.close();
  }
}, 30_000);
