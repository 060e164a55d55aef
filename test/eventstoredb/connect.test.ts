import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventStoreDBClient } from '@eventstore/db-client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Embedded, startEmbedded } from '../../src/embedded/index.ts';
import type { ConnectOptions } from '../../src/eventstoredb/client/connect-options.ts';
import { connect } from '../../src/eventstoredb/connect.ts';
import type { EventStore } from '../../src/kernel/store/store.ts';
import { StoreUnavailable, WrongRevision } from '../../src/kernel/store/store.ts';
import { collect, event, listen } from '../support/events.ts';

const quick: ConnectOptions = { retryMs: [5, 50], resubscribeMs: [5, 50] };

let dir: string;
let server: Embedded;
let store: EventStore;
const endings: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'weir-kernel-'));
  server = await startEmbedded({ dir, inThread: true });
  store = connect({ endpoint: server.endpoint }, quick);
});

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
  await store.close();
  await server.close();
  rmSync(dir, { recursive: true, force: true });
});

describe('append', () => {
  test('answers the revision and the position of the last event', async () => {
    const first = await store.append('a-1', [event(1), event(2)], 'no_stream');
    const second = await store.append('a-1', [event(3)], 1);
    expect(first.revision).toBe(1);
    expect(second.revision).toBe(2);
    expect(second.position).toBeGreaterThan(first.position);
    const all = await collect(store.read('a-1'));
    expect(all.map(({ position }) => position).slice(1)).toEqual([first.position, second.position]);
  });

  test('refuses a stream that is not where it was expected, and says where it is', async () => {
    await store.append('a-1', [event(1), event(2)], 'no_stream');
    await expect(store.append('a-1', [event(3)], 'no_stream')).rejects.toEqual(
      new WrongRevision('a-1', 'no_stream', 1),
    );
    await expect(store.append('a-1', [event(3)], 7)).rejects.toMatchObject({ stream: 'a-1', expected: 7, actual: 1 });
    await expect(store.append('a-2', [event(3)], 0)).rejects.toMatchObject({ expected: 0, actual: null });
    expect(await collect(store.read('a-1'))).toHaveLength(2);
  });

  test('of the same events is answered as the first time and writes nothing', async () => {
    const events = [event(1), event(2)];
    const first = await store.append('a-1', events, 'no_stream');
    await store.append('a-1', [event(3)], 1);
    expect(await store.append('a-1', events, 'no_stream')).toEqual(first);
    const twins = await Promise.all(Array.from({ length: 20 }, () => store.append('a-2', events, 'no_stream')));
    expect(new Set(twins.map(({ position }) => position)).size).toBe(1);
    expect(await collect(store.read('a-2'))).toHaveLength(2);
  });

  test('names the limit that it exceeds, and is not repeated', async () => {
    const huge = { ...event(1), data: { text: 'x'.repeat(2_000_000) } };
    const error = await store.append('a-1', [huge], 'no_stream').catch((reason) => reason);
    expect(error.message).toMatch(/limit of 1048576 bytes/);
    expect(error).not.toBeInstanceOf(StoreUnavailable);
    await expect(store.append('a-1', [], 'no_stream')).rejects.toThrow(TypeError);
  });
});

describe('read', () => {
  test('gives events as they were, from a revision and up to a limit; nothing of no stream', async () => {
    const events = Array.from({ length: 5 }, (_, index) => event(index));
    await store.append('a-1', events, 'no_stream');
    const all = await collect(store.read('a-1'));
    expect(all.map(({ position, ...rest }) => rest)).toEqual(
      events.map((each, revision) => ({ ...each, stream: 'a-1', revision })),
    );
    const revisions = async (options: { from?: number; limit?: number }) =>
      (await collect(store.read('a-1', options))).map(({ revision }) => revision);
    expect(await revisions({ from: 3 })).toEqual([3, 4]);
    expect(await revisions({ from: 1, limit: 2 })).toEqual([1, 2]);
    expect(await revisions({ from: 9 })).toEqual([]);
    expect(await revisions({ limit: 0 })).toEqual([]);
    expect(await collect(store.read('a-2'))).toEqual([]);
  });

  test('can be left early', async () => {
    await store.append(
      'a-1',
      Array.from({ length: 200 }, (_, index) => event(index)),
      'no_stream',
    );
    for (let round = 0; round < 20; round++) {
      for await (const { revision } of store.read('a-1')) if (revision === 3) break;
    }
    expect(await collect(store.read('a-1'))).toHaveLength(200);
  });

  test("of the global order goes both ways and leaves the store's own events out", async () => {
    await store.append('a-1', [event(0), event(1)], 'no_stream');
    const raw = new EventStoreDBClient({ endpoint: server.endpoint }, { insecure: true });
    for (let count = 1; count <= 70; count++) await raw.setStreamMetadata('a-1', { maxCount: 100 + count });
    await raw.dispose();
    await store.append('b-1', [event(2), event(3)], 'no_stream');
    const numbers = async (from: bigint | 'start' | 'end', direction: 'forwards' | 'backwards', limit = 100) =>
      (await collect(store.readAll({ from, direction, limit }))).map(({ data }) => data.n);
    const [, second, third] = await collect(store.readAll({ from: 'start', direction: 'forwards', limit: 9 }));
    expect(await numbers('start', 'forwards')).toEqual([0, 1, 2, 3]);
    expect(await numbers('start', 'forwards', 3)).toEqual([0, 1, 2]);
    expect(await numbers(second!.position, 'forwards')).toEqual([1, 2, 3]);
    expect(await numbers('end', 'forwards')).toEqual([]);
    expect(await numbers('end', 'backwards')).toEqual([3, 2, 1, 0]);
    expect(await numbers('end', 'backwards', 1)).toEqual([3]);
    expect(await numbers(third!.position, 'backwards', 1)).toEqual([1]);
    expect(await numbers('start', 'backwards')).toEqual([]);
  });
});

describe('subscribe', () => {
  test('delivers history, says that it has caught up, and goes on with what comes', async () => {
    await store.append('a-1', [event(0), event(1)], 'no_stream');
    const heard = listen(store);
    endings.push(() => heard.close());
    await heard.caughtUp(1);
    expect(heard.numbers()).toEqual([0, 1]);
    await store.append('a-1', [event(2)], 1);
    await heard.until(3);
    expect(heard.numbers()).toEqual([0, 1, 2]);
    const late = listen(store, { after: heard.events[1]!.position });
    endings.push(() => late.close());
    await late.until(1);
    expect(late.numbers()).toEqual([2]);
  });

  test('delivers one batch at a time, of what came meanwhile, up to the cap', async () => {
    for (let at = 0; at < 30; at++) {
      const events = Array.from({ length: 100 }, (_, index) => event(at * 100 + index));
      await store.append('a-1', events, at === 0 ? 'no_stream' : at * 100 - 1);
    }
    const sizes: number[] = [];
    let inDelivery = 0;
    const heard = listen(store, {
      deliver: async (batch) => {
        expect(++inDelivery).toBe(1);
        sizes.push(batch.length);
        await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
        inDelivery--;
      },
    });
    endings.push(() => heard.close());
    await heard.until(3000);
    expect(heard.numbers()).toEqual(Array.from({ length: 3000 }, (_, index) => index));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(512);
    expect(sizes.length).toBeLessThan(3000);
  });

  test('ends with a delivery that was rejected', async () => {
    const heard = listen(store, { deliver: () => Promise.reject(new Error('no room')) });
    await store.append('a-1', [event(0)], 'no_stream');
    expect((await heard.failed).message).toBe('no room');
    await heard.close();
    await store.append('a-1', [event(1)], 0);
    expect(heard.events).toEqual([]);
  });

  test('is closed only when the delivery at work has ended', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const heard = listen(store, { deliver: () => held });
    await store.append('a-1', [event(0)], 'no_stream');
    await heard.begun(1);
    let isClosed = false;
    const closing = heard.close().then(() => {
      isClosed = true;
    });
    await store.append('a-1', [event(1)], 0);
    expect(isClosed).toBe(false);
    release();
    await closing;
    expect(heard.numbers()).toEqual([0]);
  });
});

test.each(['esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover'])(
  '%s:// finds a store on a port',
  async (scheme) => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-scheme-'));
    const onPort = await startEmbedded({ dir: folder, port: 0, inThread: true });
    const found = connect({ url: `${scheme}://${onPort.endpoint}?tls=false` }, quick);
    endings.push(
      async () => rmSync(folder, { recursive: true, force: true }),
      () => onPort.close(),
      () => found.close(),
    );
    await found.append('a-1', [event(1)], 'no_stream');
    expect(await collect(found.read('a-1'))).toHaveLength(1);
  },
);
