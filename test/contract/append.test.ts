import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { EventStoreDBClient } from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import { connect, freshDir, openStore, serveInChild } from '../embedded/store-under-test.ts';
import { binaryEvent, collect, events, fresh, jsonEvent, numberOf, numbers, refusal, upTo } from './events.ts';
import { eventStoreClient, theLimits } from './eventstore-client.ts';
import { appendContract } from './shared/append.ts';
import { credentials, embeddedTest, limitsOf, theClient, useServer } from './target.ts';

useServer(eventStoreClient);

describe('through @eventstore/db-client', appendContract);

embeddedTest(
  '9 a repeated append is recognised after a restart by its explicit revision, and only by that',
  async () => {
    const first = await openStore();
    const given = events(2);
    const created = await first.client.appendToStream('again-1', given, { expectedRevision: 'no_stream' });
    await first.close();
    const { client } = await openStore({ dir: first.dir });
    const repeated = await client.appendToStream('again-1', given, { expectedRevision: 'no_stream' });
    expect(repeated).toEqual(created);
    const doubled = await client.appendToStream('again-1', given, { expectedRevision: 'any' });
    expect(doubled.nextExpectedRevision).toBe(3n);
    expect(await collect(client.readStream('again-1'))).toHaveLength(4);
  },
);

embeddedTest('10 of an append of many events all are there after a SIGKILL or none', { timeout: 60_000 }, async () => {
  const SIZE = 50;
  const dir = freshDir();
  const child = await serveInChild(dir, { embedded: true });
  const client = connect(child.endpoint);
  const streams = Array.from({ length: 8 }, () => ({ name: fresh(), sent: [] as string[], acknowledged: 0 }));
  const writing = streams.map(async (stream) => {
    for (let round = 0; ; round++) {
      const given = events(SIZE, round * SIZE);
      stream.sent.push(...given.map(({ id }) => id));
      const expectedRevision = round === 0 ? 'no_stream' : BigInt(round * SIZE - 1);
      try {
        await client.appendToStream(stream.name, given, { expectedRevision });
      } catch {
        return;
      }
      stream.acknowledged += SIZE;
    }
  });
  while (streams.some(({ acknowledged }) => acknowledged < 4 * SIZE)) await wait(1);
  child.process.kill('SIGKILL');
  await Promise.all([...writing, child.exited]);
  const again = connect((await serveInChild(dir, { embedded: true })).endpoint);
  for (const { name, sent, acknowledged } of streams) {
    const there = (await collect(again.readStream(name))).map(({ event }) => event!.id);
    expect(there).toEqual(sent.slice(0, there.length));
    expect(there.length).toBeGreaterThanOrEqual(acknowledged);
    expect(there.length % SIZE).toBe(0);
  }
});

test('12 an append above the limit is refused with the limit, in one event or in chunks; one below it is not', async () => {
  const stream = fresh();
  const { append, event } = await theLimits();
  const text = 'x'.repeat(100_000);
  const many = () => Array.from({ length: 15 }, (_, i) => jsonEvent({ type: 'chunk', data: { i, text } }));
  const one = () => jsonEvent({ type: 'large', data: { text: 'x'.repeat(2_000_000) } });
  const calls = [
    () => theClient().appendToStream(stream, many(), { batchAppendSize: 300_000 }),
    () => theClient().appendToStream(stream, one()),
    () => theClient().appendToStream(stream, one(), { credentials: credentials() }),
  ];
  if (append < 1_500_000) {
    for (const call of calls)
      expect(await refusal(call())).toMatchObject({ type: 'maximum-append-size-exceeded', maxAppendSize: append });
    expect((await refusal(collect(theClient().readStream(stream)))).type).toBe('stream-not-found');
  } else {
    for (const call of calls) await call();
    const patient = { deadline: 60_000, credentials: credentials() };
    const larger = binaryEvent({ type: 'larger', data: new Uint8Array(event + 1) });
    expect(await refusal(theClient().appendToStream(stream, larger, patient))).toHaveProperty('message');
    expect(await collect(theClient().readStream(stream))).toHaveLength(17);
  }
});

test.each([
  ['24.2.0', 1024 * 1024, 1024 * 1024],
  ['24.10.0', 1024 * 1024, 1024 * 1024],
  ['25.0.1', 1024 * 1024, 1024 * 1024],
  ['25.1.0', 256 * 1024 * 1024, 16 * 1024 * 1024],
  ['26.1.0', 256 * 1024 * 1024, 16 * 1024 * 1024],
])('12 the limits of version %s', (version, append, event) => {
  expect(limitsOf(version)).toEqual({ append, event });
});

embeddedTest('12 an append of exactly the limit is accepted, and one byte more is refused', async () => {
  const { client } = await openStore({ limits: { appendBytes: 1000 } });
  // The data alone counts.
  const sized = (bytes: number) => binaryEvent({ type: 'four', data: new Uint8Array(bytes) });
  await client.appendToStream('limit-1', [sized(400), sized(600)]);
  const error = await refusal(client.appendToStream('limit-1', [sized(401), sized(600)]));
  expect(error).toMatchObject({ type: 'maximum-append-size-exceeded', maxAppendSize: 1000 });
  expect(await collect(client.readStream('limit-1'))).toHaveLength(2);
});

embeddedTest('13 a batch of 4 MB in chunks arrives whole where the limit allows it', async () => {
  const { client } = await openStore({ limits: { appendBytes: 8 * 1024 * 1024 } });
  const text = 'x'.repeat(100_000);
  const many = Array.from({ length: 40 }, (_, i) => jsonEvent({ type: 'chunk', data: { i, text } }));
  await client.appendToStream('chunk-1', many, { batchAppendSize: 300_000 });
  expect(await numbers(client.readStream('chunk-1'))).toEqual(upTo(40));
});

test('15 a hundred writers of one stream who retry on a wrong version leave dense revisions', async () => {
  const stream = fresh();
  await Promise.all(
    events(100).map(async (event) => {
      let expectedRevision: bigint | 'no_stream' = 'no_stream';
      for (;;) {
        try {
          await theClient().appendToStream(stream, event, { expectedRevision });
          return;
        } catch (error) {
          const { type, actualVersion } = error as { type: string; actualVersion: bigint | 'no_stream' };
          if (type !== 'wrong-expected-version') throw error;
          expectedRevision = actualVersion;
        }
      }
    }),
  );
  const written = await collect(theClient().readStream(stream));
  expect(written.map(({ event }) => Number(event!.revision))).toEqual(upTo(100));
  expect(new Set(written.map(numberOf)).size).toBe(100);
});

test('18 created is now, to the millisecond', async () => {
  const stream = fresh();
  const times: number[] = [];
  for (let i = 0; i < 8; i++) {
    const before = Date.now();
    await theClient().appendToStream(stream, events(1, i));
    const [read] = await collect(theClient().readStream(stream, { fromRevision: BigInt(i) }));
    const created = read!.event!.created.getTime();
    expect(created).toBeGreaterThan(before - 1000);
    expect(created).toBeLessThan(Date.now() + 1000);
    times.push(created);
    await wait(3);
  }
  // A clock of whole seconds would give eight multiples of a thousand.
  expect(times.some((time) => time % 1000 !== 0)).toBe(true);
  expect(times).toEqual([...times].sort((a, b) => a - b));
});

embeddedTest('19 of two clients in two threads one goes on when the server of the other is killed', async () => {
  const [dying, living] = await Promise.all([serveInChild(freshDir()), serveInChild(freshDir())]);
  const worker = new Worker(
    `const { EventStoreDBClient, jsonEvent } = require('@eventstore/db-client');
     const { parentPort, workerData } = require('node:worker_threads');
     const client = new EventStoreDBClient({ endpoint: workerData }, { insecure: true });
     (async () => {
       for (let i = 0; ; i++) {
         await client.appendToStream('thread-1', jsonEvent({ type: 'counted', data: { i } }));
         parentPort.postMessage(i);
       }
     })().catch(() => parentPort.postMessage('lost'));`,
    { eval: true, workerData: dying.endpoint, execArgv: [] },
  );
  let last: unknown;
  const lost = new Promise<void>((resolve) => {
    worker.on('message', (message) => {
      last = message;
      if (message === 'lost') resolve();
    });
  });
  const client = new EventStoreDBClient({ endpoint: living.endpoint }, { insecure: true });
  for (let i = 0; i < 200; i++) {
    if (i === 100) {
      while (typeof last !== 'number') await wait(5);
      dying.process.kill('SIGKILL');
    }
    await client.appendToStream(`thread-${randomUUID()}`, events(1, i), { expectedRevision: 'no_stream' });
  }
  await lost;
  await client.dispose();
  await worker.terminate();
});
