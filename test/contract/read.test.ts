import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { ResolvedEvent } from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import { connect, freshDir, openStore, serveInChild } from '../embedded/store-under-test.ts';
import { collect, events, fresh, jsonEvent, numberOf, numbers, refusal, upTo } from './events.ts';
import { eventStoreClient } from './eventstore-client.ts';
import { hear } from './hear.ts';
import { readContract } from './shared/read.ts';
import { embeddedTest, theClient, useServer } from './target.ts';

useServer(eventStoreClient);

describe('through @eventstore/db-client', readContract);

// The successor reads from the end where it is told to read backwards from the start.
test('21 backwards from the start there is the first event', async () => {
  const stream = fresh();
  await theClient().appendToStream(stream, events(3));
  expect(await numbers(theClient().readStream(stream, { direction: 'backwards', fromRevision: 'start' }))).toEqual([0]);
});

// It also reads from the start where it is told to read forwards from the end.
test('21 a read that can give nothing is an error', async () => {
  const stream = fresh();
  await theClient().appendToStream(stream, events(3));
  for (const options of [{ maxCount: 0 }, { fromRevision: 'end' }] as const) {
    expect((await refusal(collect(theClient().readStream(stream, options)))).type).toBe('unknown');
  }
});

test('23 pages of a long stream follow one another, in both directions', async () => {
  const stream = fresh();
  for (let i = 0; i < 5; i++) await theClient().appendToStream(stream, events(500, i * 500));
  expect(await numbers(theClient().readStream(stream))).toEqual(upTo(2500));
  const back = theClient().readStream(stream, { direction: 'backwards', fromRevision: 'end' });
  expect(await numbers(back)).toEqual(upTo(2500).reverse());
});

embeddedTest.skipIf(process.platform !== 'linux')(
  '23 a read of tens of thousands of events takes no more memory of the server where its reader stops',
  { timeout: 60_000 },
  async () => {
    const child = await serveInChild(freshDir());
    const client = connect(child.endpoint);
    const text = 'x'.repeat(1000);
    for (let i = 0; i < 25; i++) {
      const many = Array.from({ length: 800 }, (_, k) =>
        jsonEvent({ type: 'counted', data: { i: i * 800 + k, text } }),
      );
      await client.appendToStream('long-1', many);
    }
    const anonymousKb = () =>
      Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${child.process.pid}/status`, 'utf8'))![1]);
    const before = anonymousKb();
    let count = 0;
    for await (const resolved of client.readStream('long-1')) {
      if (numberOf(resolved) !== count) throw new Error(`${numberOf(resolved)} comes after ${count - 1}`);
      count++;
      // 20 MB are to come: what is on its way to a reader that stops for a while piles up somewhere.
      if (count !== 100) continue;
      await wait(500);
      expect(anonymousKb() - before).toBeLessThan(15_000);
    }
    expect(count).toBe(20_000);
  },
);

// The successor lets go of such a read only when its memory is collected, and stalls on the windows it holds until then.
test('26 reads that are broken off leave the connection free for others', { timeout: 60_000 }, async () => {
  const stream = fresh();
  const text = 'x'.repeat(50_000);
  for (let i = 0; i < 30; i++) {
    const many = Array.from({ length: 10 }, () => jsonEvent({ type: 'big', data: { i, text } }));
    await theClient().appendToStream(stream, many);
  }
  // 15 MB each: a few that still held their share of the connection's window would stop all others.
  for (let i = 0; i < 25; i++) {
    const read = theClient().readStream(stream);
    for await (const _ of read) break;
    await read.cancel();
  }
  expect(await collect(theClient().readStream(stream))).toHaveLength(300);
});

embeddedTest('26 a read that is broken off frees what the server kept for it', async () => {
  const { client, calls } = await openStore();
  const text = 'x'.repeat(1000);
  for (let i = 0; i < 5; i++) {
    const many = Array.from({ length: 800 }, (_, k) => jsonEvent({ type: 'counted', data: { i: i * 800 + k, text } }));
    await client.appendToStream('long-1', many);
  }
  const reads = () => [...calls].filter(({ headers }) => headers[':path']?.endsWith('/Read')).length;
  for (let i = 0; i < 50; i++) {
    const read = client.readStream('long-1');
    for await (const _ of read) break;
    // The server is held up in the middle of it.
    if (i === 0) expect(reads()).toBe(1);
    await read.cancel();
  }
  while (reads() > 0) await wait(5);
});

describe('a position that is a number of another half, or of no record', () => {
  const greatest = 2n ** 64n - 1n;
  const end = { commit: greatest, prepare: greatest };

  test('backwards from the end by its number comes the newest event first', async () => {
    const { position } = await theClient().appendToStream(fresh('newest'), events(3));
    const options = { direction: 'backwards', fromPosition: end, maxCount: 1 } as const;
    const [last] = await collect(theClient().readAll(options));
    // Others may have appended to the same server since.
    expect((last as ResolvedEvent).event!.position!.commit).toBeGreaterThanOrEqual(position!.commit);
  });

  embeddedTest('a subscription from the end by its number goes on with what comes then', async () => {
    const { client } = await openStore();
    const [name, other] = [fresh(), fresh()];
    await client.appendToStream(name, events(3));
    const heard = [
      hear(client.subscribeToAll({ fromPosition: end })),
      hear(client.subscribeToStream(name, { fromRevision: greatest })),
    ];
    for (const each of heard) await each.caughtUp();
    await client.appendToStream(name, events(1, 3));
    await client.appendToStream(other, events(1, 4));
    await heard[0]!.until(({ events }) => events.length === 2);
    await heard[1]!.until(({ events }) => events.length === 1);
    expect(heard.map((each) => each.events.map(numberOf))).toEqual([[3, 4], [3]]);
    for (const each of heard) await each.stop();
  });

  embeddedTest(
    'a record comes behind its own position with a smaller prepare, and not from one with a greater',
    async () => {
      const { client } = await openStore();
      const { position } = await client.appendToStream(fresh(), events(1));
      await client.appendToStream(fresh(), events(1, 1));
      const { commit } = position!;
      const below = { commit, prepare: commit - 1n };
      expect(await numbers(client.readAll({ fromPosition: below }) as AsyncIterable<ResolvedEvent>)).toEqual([0, 1]);
      const heard = hear(client.subscribeToAll({ fromPosition: below }));
      await heard.caughtUp();
      expect(heard.events.map(numberOf)).toEqual([0, 1]);
      await heard.stop();
      for (const fromPosition of [
        { commit, prepare: commit + 1n },
        { commit: greatest, prepare: 0n },
        { commit: 2n ** 63n, prepare: 0n },
      ]) {
        expect((await refusal(collect(client.readAll({ fromPosition })))).type).toBe('unknown');
      }
      const revision = { fromRevision: 2n ** 63n };
      expect((await refusal(collect(client.readStream('some-1', revision)))).type).toBe('unknown');
    },
  );
});
