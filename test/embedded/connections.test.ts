import { EventStoreDBClient } from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import { connect as connectStore } from '../../src/eventstoredb/connect.ts';
import { collect, upTo } from '../contract/events.ts';
import { hear } from '../contract/hear.ts';
import { event } from '../support/events.ts';
import { numbered, openStore, until } from './store-under-test.ts';

describe('the calls on one connection', () => {
  test('may be a hundred at once, and those beyond wait at the client: none is lost, whether it is left or served', async () => {
    const { client, calls } = await openStore();
    const all = upTo(180).map(() => hear(client.subscribeToStream('many-1')));
    const inRoom = () => all.filter(({ said }) => said.includes('caughtUp'));
    await until(() => inRoom().length >= 100);
    expect(calls.size).toBe(100);
    const [left, ...waiting] = all.filter(({ said }) => said.length === 0);
    expect(waiting).toHaveLength(79);
    await left!.stop();
    await left!.until(({ said }) => said.includes('end'));
    for (const heard of inRoom()) await heard.stop();
    await Promise.all(waiting.map((heard) => heard.caughtUp()));
    await client.appendToStream('many-1', numbered(1));
    await Promise.all(waiting.map((heard) => heard.until(({ events }) => events.length === 1)));
    for (const heard of all) await heard.stop();
    // The stream of appends remains.
    await until(() => calls.size === 1);
  });

  test('may be cancelled as often as one likes: the others on it go on, and so do those to come', {
    timeout: 120_000,
  }, async () => {
    const { endpoint, calls } = await openStore();
    // A connection that is to close in order answers no ping of Node's client, which ends its calls at the first of them.
    const client = new EventStoreDBClient({ endpoint, keepAliveInterval: 1_000_000 }, { insecure: true });
    const heard = hear(client.subscribeToStream('kept-1'));
    await heard.caughtUp();
    const rounds = 20;
    for (let round = 0; round < rounds; round++) {
      const many = upTo(90).map(() => hear(client.subscribeToStream('gone-1')));
      await Promise.all(many.map((each) => each.caughtUp()));
      await Promise.all(many.map((each) => each.stop()));
      await client.appendToStream('kept-1', numbered(round));
    }
    await heard.until(({ events }) => events.length === rounds);
    expect(await collect(client.readStream('kept-1'))).toHaveLength(rounds);
    await heard.stop();
    await until(() => calls.size <= 1);
    await client.dispose();
  });

  test('suffice for a gateway that has hundreds of reads to do at once', async () => {
    const { endpoint } = await openStore();
    // As patient as the machine is slow.
    const store = connectStore({ endpoint }, { callMs: 60_000, totalMs: 60_000 });
    await store.append('a-1', [event(0)], 'no_stream');
    const reads = upTo(300).map(() => collect(store.read('a-1')));
    await store.append('a-1', [event(1)], 0);
    for (const events of await Promise.all(reads)) expect(events.length).toBeGreaterThan(0);
    await store.close();
  });
});
