import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { describe, expect } from 'vitest';
import { runningEndpoint, StoreLocked, startEmbedded } from '../../src/embedded/index.ts';
import { connect, errorOf, freshDir, numbered, openStore, serveInChild, until } from '../embedded/store-under-test.ts';
import { canarySings, harmsNothing } from '../torture/short-forms.ts';
import { onDisk } from '../torture/tortures.ts';
import { collect, numbers, refusal } from './events.ts';
import { embeddedTest } from './target.ts';

describe('a loop of SIGKILLs', () => {
  const kills = onDisk.find(({ id }) => id === 'D1')!;

  embeddedTest('42 loses nothing acknowledged, doubles nothing and leaves no gap', { timeout: 120_000 }, (context) =>
    harmsNothing(kills)(context),
  );

  embeddedTest('42 is noticed where appends are answered before their commit', { timeout: 60_000 }, (context) =>
    canarySings(kills)(context),
  );
});

embeddedTest('43 a full volume refuses appends and nothing else, until there is room and after a restart', async () => {
  const mebibyte = 1024 * 1024;
  let free = 2 ** 40;
  const store = await openStore({
    freeBytes: () => free,
    lookAtSpaceEveryMs: 10,
    limits: { freeSpaceBytes: 64 * mebibyte, ballastBytes: 500 },
  });
  const { client, dir } = store;
  await client.appendToStream('full-1', numbered(0));
  const ballast = join(dir, 'ballast');
  await until(() => existsSync(ballast));
  expect(statSync(ballast).size).toBe(500);
  free = 64 * mebibyte - 1;
  await until(() => client.appendToStream('full-2', numbered(0)).then(() => false, Boolean));
  for (const write of [
    () => client.appendToStream('full-1', numbered(1)),
    () => client.appendToStream('full-1', numbered(1), { credentials: { username: 'a', password: 'b' } }),
    () => client.deleteStream('full-1'),
  ]) {
    expect((await refusal(write())).type).toBe('unavailable');
  }
  expect(await numbers(client.readStream('full-1'))).toEqual([0]);
  expect(existsSync(ballast)).toBe(true);
  // Half the threshold is left: what has been accepted needs the ballast's place now.
  free = 32 * mebibyte - 1;
  await until(() => !existsSync(ballast));
  free = 2 ** 40;
  const append = () => client.appendToStream('full-1', numbered(1), { expectedRevision: 0n });
  await until(() => append().then(Boolean, () => false));
  await until(() => existsSync(ballast));
  free = 32 * mebibyte - 1;
  await until(() => !existsSync(ballast));
  await store.close();
  const again = await openStore({ dir });
  await again.client.appendToStream('full-1', numbered(2), { expectedRevision: 1n });
  expect(await numbers(again.client.readStream('full-1'))).toEqual([0, 1, 2]);
});

describe('a second opener', () => {
  embeddedTest('44 in the same process is refused, and the first goes on', async () => {
    const dir = freshDir();
    const first = await startEmbedded({ dir, inThread: true });
    const error = await refusal(startEmbedded({ dir, inThread: true }));
    expect(error).toBeInstanceOf(StoreLocked);
    expect(error.pid).toBe(process.pid);
    expect(await runningEndpoint(dir)).toBe(first.endpoint);
    await connect(first.endpoint).appendToStream('on-1', numbered(0));
    await first.close();
    expect(await runningEndpoint(dir)).toBeNull();
    expect(readdirSync(dir).filter((name) => name.startsWith('lock'))).toEqual([]);
  });

  embeddedTest('44 from another process is refused, and learns who has it', async () => {
    const dir = freshDir();
    const holder = await serveInChild(dir, { embedded: true });
    expect(await runningEndpoint(dir)).toBe(holder.endpoint);
    expect((await refusal(startEmbedded({ dir, inThread: true }))).pid).toBe(holder.process.pid);
    holder.process.kill('SIGKILL');
    await holder.exited;
    expect(await runningEndpoint(dir)).toBeNull();
    const next = await startEmbedded({ dir, inThread: true });
    await next.close();
  });
});

embeddedTest(
  '45 a frozen server outlasts the caller’s own time limit, and the same events again are there once',
  async () => {
    const child = await serveInChild(freshDir());
    const client = connect(child.endpoint);
    await client.appendToStream('frozen-1', numbered(0));
    child.process.kill('SIGSTOP');
    const event = numbered(1);
    const append = () => client.appendToStream('frozen-1', event, { expectedRevision: 0n });
    const first = append().catch((error: Error) => error);
    // The client itself would wait for its keepalive, 20 s.
    expect(await Promise.race([first, wait(300).then(() => 'own limit')])).toBe('own limit');
    child.process.kill('SIGCONT');
    expect((await append()).nextExpectedRevision).toBe(1n);
    expect(await collect(client.readStream('frozen-1'))).toHaveLength(2);
    await first;
  },
);

embeddedTest('46 one client object goes on after its server was killed and started again', async () => {
  const dir = freshDir();
  const first = await serveInChild(dir, { embedded: true });
  const client = connect(first.endpoint);
  await client.appendToStream('reconnect-1', numbered(1));
  first.process.kill('SIGKILL');
  await first.exited;
  await client.appendToStream('reconnect-1', numbered(2)).catch(() => {});
  await serveInChild(dir, { embedded: true });
  const event = numbered(3);
  const append = () => client.appendToStream('reconnect-2', event, { expectedRevision: 'no_stream' });
  for (let attempt = 0; ; attempt++) {
    const outcome = await append().catch((error: Error) => error);
    if (!(outcome instanceof Error)) break;
    if (attempt === 20) throw outcome;
    await wait(50);
  }
  expect(await collect(client.readStream('reconnect-2'))).toHaveLength(1);
});

embeddedTest('48 a graceful end answers the appends in progress and ends subscriptions with UNAVAILABLE', async () => {
  const store = await openStore({ faults: { commitDelayMs: 100 } });
  await store.client.appendToStream('end-0', numbered(0));
  const subscription = store.client.subscribeToStream('end-1');
  const ended = errorOf(subscription);
  await new Promise<void>((resolve) => subscription.on('caughtUp', () => resolve()));
  const appends = Array.from({ length: 5 }, (_, i) => store.client.appendToStream(`end-${i + 1}`, numbered(i)));
  const settled = Promise.allSettled(appends);
  // The store has the appends in hand once it has answered what was sent behind them.
  for (let turn = 0; turn < 2; turn++) await collect(store.client.readStream('end-0'));
  await store.close();
  expect((await settled).map(({ status }) => status)).toEqual(Array(5).fill('fulfilled'));
  expect((await ended).type).toBe('unavailable');
  const again = await openStore({ dir: store.dir });
  expect(await collect(again.client.readAll())).toHaveLength(6);
});

embeddedTest(
  '48 a SIGTERM ends reads and subscriptions as a real node does, and both can be taken up again',
  async () => {
    const dir = freshDir();
    const child = await serveInChild(dir, { embedded: true, port: 0 });
    const client = EventStoreDBClient.connectionString(`esdb://${child.endpoint}?tls=false`);
    const text = 'x'.repeat(10_000);
    for (let i = 0; i < 20; i++) {
      await client.appendToStream(
        'long-1',
        Array.from({ length: 100 }, () => jsonEvent({ type: 'long', data: { text } })),
      );
    }
    const subscriptions = [client.subscribeToStream('term-1'), client.subscribeToAll({ fromPosition: 'end' })];
    const ended = subscriptions.map(errorOf);
    await Promise.all(
      subscriptions.map((each) => new Promise<void>((resolve) => each.on('caughtUp', () => resolve()))),
    );
    const read = client.readStream('long-1')[Symbol.asyncIterator]();
    await read.next();
    child.process.kill('SIGTERM');
    expect((await Promise.all(ended)).map(({ type }) => type)).toEqual(['unavailable', 'unavailable']);
    const cut = (async () => {
      while (!(await read.next()).done);
    })();
    expect((await refusal(cut)).type).toBe('unavailable');
    await child.exited;
    await client.dispose();
  },
);
