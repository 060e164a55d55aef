import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { EventStoreDBClient } from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import type { Client } from '../../src/eventstoredb/client/owner.ts';
import { allLast, whyUnfit } from '../../src/kernel/followers/checkpoint.ts';
import type { EventStore } from '../../src/kernel/store/store.ts';
import { connect, openStore } from '../embedded/store-under-test.ts';
import { collect, event } from '../support/events.ts';
import { fakeClient, storeOfClient } from '../support/fake-client.ts';

/** The calls that the client has not seen the end of. */
const keptBy = (client: object): number => (client as { disposableStreams: Set<unknown> }).disposableStreams.size;

/** Streams of 600 events of 500 bytes, which no read sends at once, and the port over a client that can be looked into. */
const stage = async () => {
  const server = await openStore();
  const client = connect(server.endpoint);
  const store = storeOfClient(client, {});
  const text = 'x'.repeat(400);
  for (let at = 0; at < 600; at += 200) {
    const events = Array.from({ length: 200 }, (_, i) => ({ ...event(at + i), data: { n: at + i, text } }));
    await store.append('a-1', events, at === 0 ? 'no_stream' : at - 1);
  }
  const reads = () => [...server.calls].filter(({ headers }) => headers[':path']?.endsWith('/Read')).length;
  return { server, client, store, reads };
};

/** Ways to leave a read early, as the code has them: at once, and when all that was asked for has come meanwhile. */
const exits: Readonly<Record<string, (store: EventStore) => Promise<void>>> = {
  async 'a long read at its first event'(store) {
    for await (const _ of store.read('a-1')) return;
  },
  async 'a long read in its middle'(store) {
    for await (const { revision } of store.read('a-1')) if (revision === 100) return;
  },
  async 'a read of one event'(store) {
    for await (const _ of store.read('a-1', { limit: 1 })) return;
  },
  async 'the newest event'(store) {
    for await (const _ of store.readAll({ from: 'end', direction: 'backwards', limit: 1 })) return;
  },
  async 'the newest event, after a while'(store) {
    for await (const _ of store.readAll({ from: 'end', direction: 'backwards', limit: 1 })) return wait(5);
  },
  async 'a page, by an error'(store) {
    const failing = async () => {
      for await (const _ of store.read('a-1', { limit: 50 })) throw new Error('enough');
    };
    await failing().catch(() => {});
  },
};

describe('a read that is left early', () => {
  test('a thousand times leaves no call open at the store and nothing for dispose to wait for', async () => {
    const { client, store, reads } = await stage();
    const ways = Object.values(exits);
    for (let i = 0; i < 1000; i++) await ways[i % ways.length]!(store);
    while (reads() > 0) await wait(5);
    // The stream of appends remains.
    expect(keptBy(client)).toBe(1);
    // Without the bound that close() has: it would never return.
    await client.dispose();
    expect(keptBy(client)).toBe(0);
    await store.close();
  }, 120_000);

  test('when all of it has come and waits inside the client, leaves nothing either', async () => {
    const { client, store } = await stage();
    const events = Array.from({ length: 33 }, (_, n) => event(n));
    await store.append('b-1', events, 'no_stream');
    for (let i = 0; i < 3; i++) {
      for await (const _ of store.read('b-1')) {
        await wait(100);
        break;
      }
    }
    await wait(20);
    expect(keptBy(client)).toBe(1);
    await client.dispose();
  });

  test('as the client itself leaves it, is what the check above sees and dispose waits for', async () => {
    const { server } = await stage();
    const client = new EventStoreDBClient({ endpoint: server.endpoint }, { insecure: true });
    for await (const _ of client.readAll({ direction: 'backwards', fromPosition: 'end', maxCount: 33 })) {
      await wait(100);
      break;
    }
    await wait(50);
    expect(keptBy(client)).toBe(1);
    const disposed = client.dispose().then(() => 'disposed');
    expect(await Promise.race([disposed, wait(300).then(() => 'waiting')])).toBe('waiting');
    // Whoever takes what has come lets it go.
    for (const call of (client as unknown as { disposableStreams: Set<Readable> }).disposableStreams) call.resume();
    expect(await disposed).toBe('disposed');
  });

  const item = (n: number) => {
    const position = { commit: BigInt(n), prepare: BigInt(n) };
    return { event: { id: randomUUID(), type: 't', data: {}, streamId: 's-1', revision: BigInt(n), position } };
  };
  const items = (count: number) => Array.from({ length: count }, (_, n) => item(n + 1));

  test('is cancelled where much of it is to come, and runs out where little is', async () => {
    const fake = fakeClient();
    const store = storeOfClient(fake.client, {});
    const leave = async (limit: number) => {
      fake.readAnswers.push(items(limit));
      for await (const _ of store.read('s-1', { limit })) break;
      return fake.cancelled;
    };
    expect(await leave(64)).toBe(0);
    expect(fake.unread()).toEqual([0]);
    expect(await leave(65)).toBe(1);
  });

  test('is cancelled in the end where the little that is to come does not', async () => {
    const fake = fakeClient();
    const store = storeOfClient(fake.client as Client, { callMs: 20 });
    fake.readAnswers.push([item(1), 'silence']);
    for await (const _ of store.read('s-1', { limit: 2 })) break;
    expect(fake.cancelled).toBe(1);
  });

  test('to its last event is not cancelled', async () => {
    const fake = fakeClient();
    const store = storeOfClient(fake.client, {});
    fake.readAnswers.push(items(3));
    expect(await collect(store.read('s-1'))).toHaveLength(3);
    expect(fake.cancelled).toBe(0);
  });
});

describe('a checkpoint', () => {
  test('at a position inside a record is no place to go on from, and said to be so at once', async () => {
    const { store } = await stage();
    const [first] = await collect(store.read('a-1', { limit: 1 }));
    const at = (position: bigint, eventId = first!.id) =>
      whyUnfit({ logId: 'log', position: String(position), eventId }, store, 'log', allLast);
    expect(await at(first!.position)).toBeUndefined();
    expect(await at(first!.position + 1n)).toBe('the log has no event at its place');
    expect(await at(first!.position, 'another')).toBe('the log has another event at its place');
    expect(await at(10n ** 12n)).toBe('the log ends before its place');
  });
});
