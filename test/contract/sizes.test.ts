import { randomUUID } from 'node:crypto';
import { streamNameFilter } from '@eventstore/db-client';
import { expect, test } from 'vitest';
import { startEmbedded } from '../../src/embedded/index.ts';
import { verifyStore } from '../../src/embedded/maintenance/verify.ts';
import { connect, freshDir, openStore } from '../embedded/store-under-test.ts';
import { binaryEvent, collect, events, fresh, jsonEvent, refusal } from './events.ts';
import { eventStoreClient, theLimits } from './eventstore-client.ts';
import { hear } from './hear.ts';
import { credentials, embeddedTest, theClient, useServer } from './target.ts';

useServer(eventStoreClient);

const MIB = 1024 * 1024;
const ways = [
  ['batch', {}],
  ['classic', { credentials: credentials() }],
] as const;

test.each(ways)('the %s call takes 30,000 events at once', { timeout: 60_000 }, async (_, way) => {
  const patient = { ...way, expectedRevision: 'no_stream', deadline: 60_000 } as const;
  const answer = await theClient().appendToStream(fresh(), events(30_000), patient);
  expect(answer.nextExpectedRevision).toBe(29_999n);
});

test.each(ways)('of an append by the %s call the data alone counts against its limit', async (_, way) => {
  const stream = fresh();
  const full = binaryEvent({ type: 'full', data: new Uint8Array(MIB) });
  await theClient().appendToStream(stream, full, way);
  await theClient().appendToStream(stream, jsonEvent({ type: 'told', data: {}, metadata: 'x'.repeat(1_100_000) }), way);
  const { append } = await theLimits();
  // As much as 256 MiB takes more than one message of the classic call, and minutes.
  if (append > MIB) return;
  const more = binaryEvent({ type: 'more', data: new Uint8Array(1) });
  const again = binaryEvent({ type: 'full', data: new Uint8Array(MIB) });
  expect(await refusal(theClient().appendToStream(stream, [again, more], way))).toMatchObject({
    type: 'maximum-append-size-exceeded',
    maxAppendSize: append,
  });
  expect(await collect(theClient().readStream(stream))).toHaveLength(2);
});

embeddedTest.each(ways)(
  'what the events of the %s call take on disk is bounded, however little data they have',
  async (_, way) => {
    const { client } = await openStore({ limits: { storedBytes: 10_000 } });
    await client.appendToStream('stored-1', events(20), way);
    const refused = await refusal(client.appendToStream('stored-1', events(60), way));
    expect(refused.message).toContain('An append may take 10000 bytes on disk.');
    expect(await collect(client.readStream('stored-1'))).toHaveLength(20);
  },
);

embeddedTest(
  'names of 1,900 bytes and types of 2,000 last, with their metadata, and a longer one is refused',
  async () => {
    const dir = freshDir();
    const first = await startEmbedded({ dir });
    const client = connect(first.endpoint);
    const long = (bytes: number) => randomUUID().padEnd(bytes, 'n');
    const names = [long(1100), long(1900)];
    const type = 't'.repeat(2000);
    for (const name of names) {
      await client.appendToStream(name, jsonEvent({ type, data: {} }));
      await client.setStreamMetadata(name, { maxCount: 3 });
    }
    expect((await refusal(client.appendToStream(long(1901), events(1)))).message).toContain('1900 bytes');
    await first.close();
    expect(await verifyStore(dir)).toMatchObject({ verdict: 'ok', streams: 4 });
    const second = await startEmbedded({ dir });
    const again = connect(second.endpoint);
    for (const name of names) {
      const [read] = await collect(again.readStream(name));
      expect(read!.event).toMatchObject({ streamId: name, type });
      expect((await again.getStreamMetadata(name)).metadata).toEqual({ maxCount: 3 });
    }
    await second.close();
  },
);

test('$all backwards from beyond the end is an error', async () => {
  const { position } = await theClient().appendToStream(fresh(), events(1));
  const far = position!.commit + 10n ** 15n;
  const read = theClient().readAll({
    direction: 'backwards',
    fromPosition: { commit: far, prepare: far },
    maxCount: 1,
  });
  expect((await refusal(collect(read))).type).toBe('unknown');
});

test('an expression in the words of .NET filters a subscription', async () => {
  const name = fresh('Words');
  await theClient().appendToStream(name, events(1));
  const filter = streamNameFilter({ regex: `(?i)\\A${name.toUpperCase().replaceAll('-', '\\-')}\\z` });
  const heard = hear(theClient().subscribeToAll({ filter }));
  await heard.until(({ events }) => events.length === 1);
  expect(heard.events[0]!.event!.streamId).toBe(name);
  await heard.stop();
});

test('there are no persistent subscriptions, to any stream or to one, and the refusal names it', async () => {
  const client = theClient() as ReturnType<typeof connect>;
  const type = 'persistent-subscription-does-not-exist';
  expect(await refusal(client.listPersistentSubscriptionsToStream('some-1'))).toMatchObject({
    type,
    streamName: 'some-1',
  });
  expect(await refusal(client.listPersistentSubscriptionsToAll())).toMatchObject({ type, streamName: '$all' });
  expect(await refusal(client.listAllPersistentSubscriptions())).toMatchObject({ type, streamName: '' });
});
