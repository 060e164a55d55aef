import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jsonEvent } from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import { compile, noCompiler } from '../torture/scene.ts';
import { collect, connect, freshDir, numbered, openStore, rejection, serveInChild } from './store-under-test.ts';

if (noCompiler !== undefined) process.stderr.write(`SKIPPED: a slow fdatasync: ${noCompiler}\n`);

describe.skipIf(noCompiler !== undefined)('with fdatasync under control', () => {
  const DELAY_MS = 120;

  /** How long each of a few appends, deletes and tombstones took to be answered, milliseconds. */
  async function answerTimes(settings: object): Promise<number[]> {
    const child = await serveInChild(freshDir(), settings, {
      LD_PRELOAD: compile('../embedded/sync-shim.c', freshDir()),
      SYNC_DELAY_MS: String(DELAY_MS),
    });
    const client = connect(child.endpoint);
    await client.appendToStream('warm-1', numbered(0));
    const credentials = { username: 'a', password: 'b' };
    const times: number[] = [];
    const timed = async (write: () => Promise<unknown>) => {
      const start = performance.now();
      await write();
      times.push(performance.now() - start);
    };
    await timed(() => client.appendToStream('sync-1', numbered(1)));
    await timed(() => client.appendToStream('sync-1', numbered(2), { credentials }));
    await timed(() => client.setStreamMetadata('sync-1', { maxCount: 5 }));
    await timed(() => client.deleteStream('sync-1'));
    await timed(() => client.tombstoneStream('sync-1'));
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => timed(() => client.appendToStream(`sync-${i + 2}`, numbered(i)))),
    );
    return times;
  }

  test('every write is answered only after it', async () => {
    expect(Math.min(...(await answerTimes({})))).toBeGreaterThanOrEqual(DELAY_MS);
  });

  test('a store that does not sync is noticed by the check above', async () => {
    expect(Math.min(...(await answerTimes({ faults: { noSync: true } })))).toBeLessThan(DELAY_MS);
  });
});

describe('a failed commit', () => {
  test('ends the store without answering the append as failed or as done', async () => {
    const store = await openStore({ faults: { failCommit: 2 } });
    await store.client.appendToStream('fail-1', numbered(1));
    const error = await rejection(store.client.appendToStream('fail-1', numbered(2)));
    expect(error.type ?? error.code).toBe('unavailable');
    expect((await store.failed).message).toBe('commit failed on request');
    await expect(store.client.appendToStream('fail-1', numbered(3))).rejects.toThrow();
    const again = await openStore({ dir: store.dir });
    expect(await collect(again.client.readStream('fail-1'))).toHaveLength(1);
  });

  test('that is ignored acknowledges what is not there, which the check above notices', async () => {
    const store = await openStore({ faults: { failCommit: 2, ignoreCommitErrors: true } });
    await store.client.appendToStream('fail-1', numbered(1));
    await store.client.appendToStream('fail-1', numbered(2));
    await store.close();
    const again = await openStore({ dir: store.dir });
    expect(await collect(again.client.readStream('fail-1'))).toHaveLength(1);
  });
});

describe('a damaged record', () => {
  /** A store with three events, the middle one changed on disk. Returns its directory and the event's position. */
  async function damaged() {
    const store = await openStore();
    const marker = `marker-${'m'.repeat(40)}`;
    await store.client.appendToStream('bad-1', jsonEvent({ type: 'whole', data: {} }));
    const { position } = await store.client.appendToStream('bad-1', jsonEvent({ type: 'hurt', data: { marker } }));
    await store.client.appendToStream('bad-1', jsonEvent({ type: 'whole', data: {} }));
    await store.close();
    const file = join(store.dir, 'events.mdb');
    const bytes = readFileSync(file);
    for (let at = bytes.indexOf(marker); at >= 0; at = bytes.indexOf(marker, at + 1)) bytes[at + 10]! ^= 1;
    writeFileSync(file, bytes);
    return { dir: store.dir, position: position!.commit };
  }

  test('is an error that names its position, by stream and by $all, and never an event', async () => {
    const { dir, position } = await damaged();
    const { client } = await openStore({ dir });
    for (const read of [() => client.readStream('bad-1'), () => client.readAll()]) {
      const types: string[] = [];
      const error = await rejection(
        (async () => {
          for await (const { event } of read()) types.push(event!.type);
        })(),
      );
      expect(error.message).toMatch(new RegExp(`position ${position}\\b.* damaged`));
      expect(types).not.toContain('hurt');
    }
    const following = client.subscribeToStream('bad-1');
    const error = await new Promise<Error>((resolve) => following.on('error', resolve));
    expect(error.message).toMatch(new RegExp(`position ${position}\\b.* damaged`));
  });

  test('would be handed out without the checksum', async () => {
    const { dir } = await damaged();
    const { client } = await openStore({ dir, faults: { skipChecksums: true } });
    expect(await collect(client.readStream('bad-1'))).toHaveLength(3);
  });
});
