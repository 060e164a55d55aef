import { existsSync, readdirSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { join } from 'node:path';
import type { EventStoreDBClient } from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import { verifyStore } from '../../src/embedded/maintenance/verify.ts';
import { hear } from '../contract/hear.ts';
import { collect, freshDir, numbered, openStore, rejection, until } from './store-under-test.ts';

const types = async (client: EventStoreDBClient, name: string) =>
  (await collect(client.readStream(name))).map(({ event }) => event!.type);
const positions = async (client: EventStoreDBClient) =>
  (await collect(client.readAll())).map(({ event }) => Number(event!.position!.commit));
const HOUR_MS = 3_600_000;

describe('the sweep', () => {
  /** A store whose streams `old-1` and `gone-1` have expired events, and one that is not. `later` moves its clock on. */
  async function swept(settings: object = { sweepEveryMs: 20 }) {
    let clock = Date.now() - HOUR_MS;
    const store = await openStore({ ...settings, now: () => clock });
    const { client } = store;
    await client.setStreamMetadata('old-1', { maxAge: 60 });
    await client.appendToStream('old-1', [numbered(0), numbered(1)]);
    await client.appendToStream('other-1', numbered(0));
    await client.appendToStream('old-1', numbered(2));
    await client.setStreamMetadata('gone-1', { maxAge: 60 });
    await client.appendToStream('gone-1', [numbered(0), numbered(1)], { expectedRevision: 'no_stream' });
    const before = await positions(client);
    const later = () => {
      clock += 61_000;
    };
    later();
    await client.appendToStream('old-1', numbered(3, 'young'));
    return { ...store, before, later, now: () => clock };
  }

  test('removes what $maxAge has hidden, keeps revisions and positions, and says so on disk', async () => {
    const { client, dir, before, close, now } = await swept();
    await until(async () => (await positions(client)).length === 4);
    const left = await positions(client);
    expect(left.slice(0, -1).every((position) => before.includes(position))).toBe(true);
    expect(await types(client, 'old-1')).toEqual(['young']);
    expect(await collect(client.readStream('gone-1'))).toEqual([]);
    const backwards = await collect(client.readAll({ direction: 'backwards', fromPosition: 'end' }));
    expect(backwards.map(({ event }) => Number(event!.position!.commit)).reverse()).toEqual(left);
    expect(await verifyStore(dir)).toMatchObject({ verdict: 'ok', events: 4, purgedStreams: 2 });
    await close();
    const again = await openStore({ dir, now });
    expect(await types(again.client, 'old-1')).toEqual(['young']);
    // A stream without a single event left knows how far it has got.
    const { nextExpectedRevision } = await again.client.appendToStream('gone-1', numbered(2), {
      expectedRevision: 1n,
    });
    expect(nextExpectedRevision).toBe(2n);
    expect(
      (await rejection(again.client.appendToStream('gone-1', numbered(9), { expectedRevision: 'no_stream' }))).type,
    ).toBe('wrong-expected-version');
    expect(await verifyStore(dir)).toMatchObject({ verdict: 'ok', events: 5, purgedStreams: 2 });
  });

  test('goes on where it was once more has expired', async () => {
    const { client, dir, later } = await swept();
    later();
    await client.appendToStream('old-1', numbered(4));
    await client.appendToStream('gone-1', numbered(2));
    await until(async () => (await verifyStore(dir)).events === 5);
    expect(await verifyStore(dir)).toMatchObject({ verdict: 'ok', purgedStreams: 2 });
    expect((await collect(client.readStream('gone-1'))).map(({ event }) => Number(event!.revision))).toEqual([2]);
  });

  test('leaves the newest event of the log, hidden as it may be, so that no position is given twice', async () => {
    let clock = Date.now() - HOUR_MS;
    const { client, dir, close } = await openStore({ sweepEveryMs: 20, now: () => clock });
    await client.setStreamMetadata('last-1', { maxAge: 60 });
    await client.appendToStream('last-1', [numbered(0), numbered(1)]);
    clock += 61_000;
    await until(async () => (await positions(client)).length === 2);
    const [, newest] = await positions(client);
    await close();
    const again = await openStore({ dir });
    const { position } = await again.client.appendToStream('last-1', numbered(2));
    expect(Number(position!.commit)).toBeGreaterThan(newest!);
    expect(await verifyStore(dir)).toMatchObject({ verdict: 'ok' });
  });

  test('loses nobody: a subscriber may continue from the position of an event that is gone', async () => {
    const { client } = await swept({ sweepEveryMs: 1000 });
    const all = await collect(client.readAll());
    const gone = all.filter(({ event }) => event!.streamId === 'gone-1').map(({ event }) => event!.position!);
    await until(async () => (await positions(client)).length === 4);
    for (const fromPosition of gone) {
      const subscription = client.subscribeToAll({ fromPosition });
      const [first] = await collectOne(subscription);
      expect(first?.event?.type).toBe('young');
      await subscription.unsubscribe();
      const read = await collect(client.readAll({ fromPosition }));
      expect(read.map(({ event }) => event!.type)).toEqual(['young']);
    }
  });
});

async function collectOne<T>(events: AsyncIterable<T>): Promise<T[]> {
  for await (const event of events) return [event];
  return [];
}

describe('room on the volume', () => {
  test('is left alone once the store has closed, whatever was being laid down there', async () => {
    const store = await openStore({
      freeBytes: () => 2 ** 40,
      lookAtSpaceEveryMs: 1,
      limits: { ballastBytes: 64 * 1024 * 1024 },
    });
    const there = () => readdirSync(store.dir).filter((name) => name.startsWith('ballast'));
    await until(() => there().length > 0);
    expect(there()).toEqual(['ballast.new']);
    await store.close();
    expect(there()).toEqual(['ballast']);
  });

  /** A store with an append in hand, of which the commit takes its time. */
  const written = async (free: () => number) => {
    const { client, dir } = await openStore({
      freeBytes: free,
      lookAtSpaceEveryMs: 5,
      limits: { ballastBytes: 500 },
      faults: { commitDelayMs: 150 },
    });
    await client.appendToStream('room-2', numbered(0));
    await until(() => existsSync(join(dir, 'ballast')));
    const first = client.appendToStream('room-2', numbered(1));
    // The store has the append in hand once it has answered what was sent behind it.
    for (let turn = 0; turn < 2; turn++) await collect(client.readStream('room-2'));
    return { client, dir, first };
  };

  test('that gets scarce while appends are under way leaves those answered', async () => {
    let free = 2 ** 40;
    const { client, dir, first } = await written(() => free);
    free = 32 * 1024 * 1024 - 1;
    await until(() => !existsSync(join(dir, 'ballast')));
    const second = rejection(client.appendToStream('room-2', numbered(2)));
    expect((await first).success).toBe(true);
    expect((await second).type).toBe('unavailable');
  });

  test('that ends while appends are under way leaves those answered once there is some again', async () => {
    let free = 2 ** 40;
    const { first } = await written(() => free);
    free = 0;
    const late = new Promise((resolve) => setTimeout(resolve, 500, 'waits'));
    expect(await Promise.race([first, late])).toBe('waits');
    free = 2 ** 40;
    expect((await first).success).toBe(true);
  });
});

test('time never goes back in the log, not even over a restart', async () => {
  const first = await openStore();
  await first.client.appendToStream('time-1', numbered(0));
  await first.close();
  // A clock that was set back; forwards would be past the deadlines of the client.
  const { client } = await openStore({ dir: first.dir, now: () => Date.now() - HOUR_MS });
  await client.appendToStream('time-1', numbered(1));
  const [before, after] = (await collect(client.readStream('time-1'))).map(({ event }) => event!.created.getTime());
  expect(after).toBe(before);
});

test('a connection that answers no ping is given up; one that does stays', async () => {
  const { endpoint, client } = await openStore({ pings: { everyMs: 50, withinMs: 50 } });
  await client.appendToStream('ping-1', numbered(0));
  const socket = connectSocket(endpoint.slice('unix:'.length));
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.on('error', () => {});
  socket.resume();
  // The preface of HTTP/2 and empty settings, then silence.
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
  await closed;
  await client.appendToStream('ping-1', numbered(1));
});

test('a connection is not given up for an answer that the server itself was too busy to read', async () => {
  const { client } = await openStore({ pings: { everyMs: 20, withinMs: 60 } });
  const heard = hear(client.subscribeToStream('busy-1'));
  await heard.caughtUp();
  const held = new Int32Array(new SharedArrayBuffer(4));
  for (let turn = 0; turn < 20; turn++) {
    Atomics.wait(held, 0, 0, 100);
    await new Promise(setImmediate);
  }
  await client.appendToStream('busy-1', numbered(0));
  await heard.until(({ events }) => events.length === 1);
});

describe('strictness switches', () => {
  test('a write whose connection broke before the answer is done, and its repetition is recognised', async () => {
    const { client } = await openStore({ faults: { dropConnection: 2 } });
    await client.appendToStream('drop-1', numbered(0));
    const event = numbered(1);
    await expect(client.appendToStream('drop-1', event, { expectedRevision: 0n })).rejects.toThrow();
    let answer: { nextExpectedRevision: bigint } | undefined;
    await until(async () => {
      answer = await client.appendToStream('drop-1', event, { expectedRevision: 0n }).catch(() => undefined);
      return answer !== undefined;
    });
    expect(answer!.nextExpectedRevision).toBe(1n);
    expect(await collect(client.readStream('drop-1'))).toHaveLength(2);
  });

  test('a wrong version can be forced', async () => {
    const { client } = await openStore({ faults: { wrongVersion: 2 } });
    await client.appendToStream('wrong-1', numbered(0));
    const error = await rejection(client.appendToStream('wrong-1', numbered(1), { expectedRevision: 0n }));
    expect(error).toMatchObject({ type: 'wrong-expected-version', actualVersion: 0n });
    await client.appendToStream('wrong-1', numbered(1), { expectedRevision: 0n });
  });
});

test('what a killed compaction has left is removed at the next start', async () => {
  const { mkdirSync, writeFileSync } = await import('node:fs');
  const { startEmbedded } = await import('../../src/embedded/index.ts');
  const dir = freshDir();
  mkdirSync(join(dir, 'compacting-abc'));
  writeFileSync(join(dir, 'compacting-abc', 'events.mdb'), 'half');
  await (await startEmbedded({ dir, inThread: true })).close();
  expect(readdirSync(dir)).not.toContain('compacting-abc');
});
