import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startEmbedded } from '../../src/embedded/index.ts';
import { openFiles } from '../../src/embedded/store/database.ts';
import { collect, connect, freshDir, numbered, rejection, serveInChild } from './store-under-test.ts';

describe('in a worker thread', () => {
  test('the store serves, closes and opens again with what it had', async () => {
    const dir = freshDir();
    for (let round = 0; round < 2; round++) {
      const store = await startEmbedded({ dir });
      const client = connect(store.endpoint);
      await client.appendToStream('worker-1', numbered(round));
      expect(await collect(client.readStream('worker-1'))).toHaveLength(round + 1);
      await client.dispose();
      await store.close();
      expect(existsSync(join(dir, 'eventstore.sock'))).toBe(false);
    }
  });

  test('a damaged store is refused by name, as without the thread', async () => {
    const dir = freshDir();
    const store = await startEmbedded({ dir, inThread: true });
    await store.close();
    const { writeFileSync } = await import('node:fs');
    writeFileSync(join(dir, 'events.mdb'), Buffer.alloc(8192, 1));
    expect((await rejection(startEmbedded({ dir }))).name).toBe('StoreCorrupt');
  });

  test('what the thread alone finds out comes back as it said it', async () => {
    const dir = freshDir();
    await (await startEmbedded({ dir, inThread: true })).close();
    const files = openFiles(dir, false);
    await files.root.batch(() => files.meta.put(Buffer.from('format'), Buffer.from('99')));
    await files.root.close();
    // As an operator who put the file there on purpose.
    rmSync(join(dir, 'closed'));
    const error = await rejection(startEmbedded({ dir }));
    expect(`${error.name}: ${error.message}`).toMatch(/^StoreCorrupt: The store has format 99; this version reads/);
  });
});

describe('a graceful end', () => {
  test('of a process by SIGTERM leaves neither lock nor socket', async () => {
    const dir = freshDir();
    const child = await serveInChild(dir, { embedded: true });
    await connect(child.endpoint).appendToStream('term-1', numbered(1));
    child.process.kill('SIGTERM');
    await child.exited;
    const { readdirSync } = await import('node:fs');
    expect(readdirSync(dir).filter((name) => !/^(events\.mdb|ballast)/.test(name))).toEqual(['closed']);
  });
});
