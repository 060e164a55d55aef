import { eventTypeFilter, excludeSystemEvents, type Filter, streamNameFilter } from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import { openStore } from '../embedded/store-under-test.ts';
import { collect, events, fresh, jsonEvent, numberOf, upTo } from './events.ts';
import { connectionsTo, eventStoreClient } from './eventstore-client.ts';
import { type Heard, hear } from './hear.ts';
import { subscribeContract } from './shared/subscribe.ts';
import { embeddedTest, theClient, theTarget, useServer } from './target.ts';

useServer(eventStoreClient);

describe('through @eventstore/db-client', subscribeContract);

/** Events of one size that carry their number and fill a page soon. */
const large = (count: number, from: number, bytes: number) =>
  Array.from({ length: count }, (_, k) => jsonEvent({ type: 'big', data: { i: from + k, text: 'x'.repeat(bytes) } }));

test('32 each of several subscribers, one of them slow, sees what 50 writers write, in order and whole', {
  timeout: 60_000,
}, async () => {
  const prefix = fresh('many');
  const { position } = await theClient().appendToStream(fresh(), events(1));
  const filter = streamNameFilter({ prefixes: [prefix] });
  const all = () => theClient().subscribeToAll({ fromPosition: position!, filter });
  const slow = all();
  const [first, second, slowly] = [hear(all()), hear(all()), hear(slow)];
  const one = hear(theClient().subscribeToStream(`${prefix}_7`));
  await Promise.all([first, second, slowly, one].map((each) => each.caughtUp()));
  slow.pause();
  await Promise.all(
    upTo(50).map(async (writer) => {
      for (let i = 0; i < 20; i++) {
        await theClient().appendToStream(`${prefix}_${writer}`, large(1, i, 2000), {
          expectedRevision: i === 0 ? 'no_stream' : BigInt(i - 1),
        });
      }
    }),
  );
  slow.resume();
  await Promise.all([first, second, slowly].map((each) => each.until(({ events }) => events.length === 1000)));
  await one.until(({ events }) => events.length === 20);
  const ids = ({ events }: Pick<Heard, 'events'>) => events.map(({ event }) => event!.id);
  const log = await collect(theClient().readAll({ fromPosition: position! }));
  const wanted = ids({ events: log.filter(({ event }) => event!.streamId.startsWith(prefix)) });
  expect(wanted).toHaveLength(1000);
  for (const each of [first, second, slowly]) expect(ids(each)).toEqual(wanted);
  expect(one.events.map(numberOf)).toEqual(upTo(20));
  await Promise.all([first, second, slowly, one].map((each) => each.stop()));
});

embeddedTest('33 after it fell behind it says again that it has caught up', async () => {
  const { client } = await openStore({ limits: { liveBacklogBytes: 64 * 1024, liveBacklogMessages: 32 } });
  const subscription = client.subscribeToStream('lag-1');
  const heard = hear(subscription);
  await heard.caughtUp();
  subscription.pause();
  for (let i = 0; i < 300; i += 20) await client.appendToStream('lag-1', large(20, i, 40_000));
  subscription.resume();
  await heard.until(({ events }) => events.length === 300);
  await heard.caughtUp(2);
  expect(heard.events.map(numberOf)).toEqual(upTo(300));
  await heard.stop();
});

test('34 filters by prefix and by expression, of names and of types, let through what they name', async () => {
  const id = fresh('').slice(-12);
  const { position } = await theClient().appendToStream(`a${id}-1`, events(1, 0, `x${id}`));
  for (const [stream, type] of ['ay', 'bx', 'cz', 'ax'].map((pair) => [...pair])) {
    await theClient().appendToStream(`${stream}${id}-1`, events(1, 0, `${type}${id}`));
  }
  const passed = async (filter: Filter, count: number) => {
    const heard = hear(theClient().subscribeToAll({ fromPosition: position!, filter }));
    await heard.caughtUp();
    await heard.until(({ events }) => events.length >= count);
    await heard.stop();
    return heard.events.map(({ event }) => `${event!.streamId[0]}${event!.type[0]}`);
  };
  expect(await passed(streamNameFilter({ prefixes: [`a${id}`] }), 2)).toEqual(['ay', 'ax']);
  expect(await passed(streamNameFilter({ prefixes: [`a${id}`, `c${id}`] }), 3)).toEqual(['ay', 'cz', 'ax']);
  expect(await passed(streamNameFilter({ regex: `^[bc]${id}-\\d$` }), 2)).toEqual(['bx', 'cz']);
  expect(await passed(streamNameFilter({ regex: id }), 4)).toEqual(['ay', 'bx', 'cz', 'ax']);
  expect(await passed(eventTypeFilter({ prefixes: [`x${id}`] }), 2)).toEqual(['bx', 'ax']);
  expect(await passed(eventTypeFilter({ prefixes: [`y${id}`, `z${id}`] }), 2)).toEqual(['ay', 'cz']);
  expect(await passed(eventTypeFilter({ regex: `[yz]${id}$` }), 2)).toEqual(['ay', 'cz']);
});

test('40 unsubscribing ends it, and a thousand that come and go leave nothing behind', {
  timeout: 60_000,
}, async () => {
  const stream = fresh('gone');
  // Servers take a hundred calls at once from one connection.
  const clients = connectionsTo(theTarget(), 10);
  const open = async (count: number) => {
    const all = clients.flatMap((client) => upTo(count).map(() => hear(client.subscribeToStream(stream))));
    await Promise.all(all.map((heard) => heard.caughtUp()));
    return all;
  };
  for (let i = 0; i < 10; i++) {
    for (const heard of await open(10)) {
      await heard.stop();
      await heard.until(({ said }) => said.includes('end'));
    }
  }
  // The embedded server admits a thousand at once; those that had been kept would stand in the way of these.
  for (const heard of await open(90)) await heard.stop();
  await Promise.all(clients.map((client) => client.dispose()));
});

test('41 system events are given out unless they are excluded', async () => {
  const stream = fresh();
  const { position } = await theClient().appendToStream(stream, events(1));
  await theClient().setStreamMetadata(stream, { maxCount: 5 });
  await theClient().appendToStream(stream, events(1, 1));
  const types = async (options: object) => {
    const heard = hear(theClient().subscribeToAll({ fromPosition: position!, ...options }));
    await heard.until(({ events }) => events.some(({ event }) => event!.streamId === stream));
    await heard.stop();
    const own = heard.events.map(({ event }) => event!).filter(({ streamId }) => streamId.endsWith(stream));
    return own.map(({ type }) => type);
  };
  expect(await types({})).toEqual(['$metadata', 'counted']);
  expect(await types({ filter: excludeSystemEvents() })).toEqual(['counted']);
});
