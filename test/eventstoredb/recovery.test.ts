// Lane: rest, timed: a process of an event store for each test, which is given up within fractions of a second
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Embedded, startEmbedded } from '../../src/embedded/index.ts';
import type { ConnectOptions } from '../../src/eventstoredb/client/connect-options.ts';
import { connect } from '../../src/eventstoredb/connect.ts';
import type { EventStore } from '../../src/kernel/store/store.ts';
import { StoreUnavailable } from '../../src/kernel/store/store.ts';
import { cuttingProxy } from '../support/cutting-proxy.ts';
import { collect, event, listen } from '../support/events.ts';
import { type StoreProcess, storeProcess } from '../support/store-process.ts';

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

const restart = async (): Promise<void> => {
  await server.close();
  server = await startEmbedded({ dir, inThread: true });
};

describe('a store that comes back', () => {
  test('is used again without a new client, and the subscription goes on where it was', async () => {
    const heard = listen(store);
    endings.push(() => heard.close());
    let sent = 0;
    for (let round = 0; round < 8; round++) {
      for (let count = 0; count < 3; count++) {
        await store.append('a-1', [event(sent)], sent === 0 ? 'no_stream' : sent - 1);
        sent++;
      }
      if (round % 2 === 0) await heard.until(sent);
      await restart();
      // What begins while the store is known to be away is refused.
      await expect.poll(() => store.state.is).toBe('there');
      expect(await collect(store.read('a-1'))).toHaveLength(sent);
    }
    await heard.until(sent);
    expect(heard.numbers()).toEqual(Array.from({ length: sent }, (_, index) => index));
  });

  test('is waited for by an append and a read that began without it', async () => {
    await store.append('a-1', [event(0)], 'no_stream');
    await server.close();
    const append = store.append('a-1', [event(1)], 0);
    const read = collect(store.read('a-1', { limit: 1 }));
    server = await startEmbedded({ dir, inThread: true });
    expect((await append).revision).toBe(1);
    expect(await read).toHaveLength(1);
  });

  test('and does not in time: the outcome is unknown, and that is said', async () => {
    const impatient = connect({ endpoint: server.endpoint }, { ...quick, firstAnswerMs: 100 });
    endings.push(() => impatient.close());
    await server.close();
    await expect(impatient.append('a-1', [event(0)], 'no_stream')).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(collect(impatient.read('a-1'))).rejects.toBeInstanceOf(StoreUnavailable);
    server = await startEmbedded({ dir, inThread: true });
    expect((await impatient.append('a-1', [event(0)], 'no_stream')).revision).toBe(0);
  });
});

describe('connections cut in the middle of a frame', () => {
  test('lose nothing and repeat nothing, neither appends nor deliveries', async () => {
    const proxy = await cuttingProxy(join(dir, 'proxy.sock'), server.endpoint);
    const cut = connect({ endpoint: proxy.endpoint }, { ...quick, callMs: 1_000 });
    endings.push(
      () => proxy.close(),
      () => cut.close(),
    );
    let seed = 7;
    proxy.cutAfter(() => {
      seed = (seed * 48_271) % 2_147_483_647;
      return 300 + (seed % 6_000);
    });
    const heard = listen(cut);
    endings.push(() => heard.close());
    const acknowledged: number[] = [];
    for (let n = 0; n < 250; n++) {
      const { revision } = await cut.append('a-1', [event(n)], n === 0 ? 'no_stream' : n - 1);
      acknowledged.push(revision);
    }
    await heard.until(250);
    expect(heard.numbers()).toEqual(Array.from({ length: 250 }, (_, index) => index));
    expect((await collect(cut.read('a-1'))).map(({ data }) => data.n)).toEqual(heard.numbers());
    expect(acknowledged).toEqual(heard.numbers());
    expect(proxy.cuts).toBeGreaterThan(10);
  }, 30_000);
});

describe('a store in trouble', () => {
  let other: StoreProcess;
  let otherDir: string;

  beforeEach(async () => {
    otherDir = mkdtempSync(join(tmpdir(), 'weir-frozen-'));
    other = await storeProcess(otherDir);
  });

  afterEach(async () => {
    await other.kill();
    rmSync(otherDir, { recursive: true, force: true });
  });

  const open = (options: ConnectOptions): EventStore => {
    const opened = connect({ endpoint: other.endpoint }, { ...quick, ...options });
    endings.push(() => opened.close());
    return opened;
  };

  test('that is frozen for a while gets the same append again and has it once', async () => {
    const patient = open({ callMs: 150 });
    await patient.append('a-1', [event(0)], 'no_stream');
    const heard = listen(patient);
    endings.push(() => heard.close());
    await heard.until(1);
    other.freeze();
    const began = performance.now();
    const append = patient.append('a-1', [event(1)], 0).finally(() => {
      expect(performance.now() - began).toBeGreaterThan(400);
    });
    setTimeout(() => other.thaw(), 500);
    expect((await append).revision).toBe(1);
    await heard.until(2);
    expect((await collect(patient.read('a-1'))).map(({ data }) => data.n)).toEqual([0, 1]);
    expect(heard.numbers()).toEqual([0, 1]);
  });

  test('that stays frozen is given up in time; the same append later is there once', async () => {
    const impatient = open({ callMs: 100, totalMs: 400 });
    await impatient.append('a-1', [event(0)], 'no_stream');
    other.freeze();
    const lost = event(1);
    const began = performance.now();
    await expect(impatient.append('a-1', [lost], 0)).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(collect(impatient.read('a-1'))).rejects.toBeInstanceOf(StoreUnavailable);
    expect(performance.now() - began).toBeLessThan(2_000);
    other.thaw();
    expect((await impatient.append('a-1', [lost], 0)).revision).toBe(1);
    expect(await collect(impatient.read('a-1'))).toHaveLength(2);
  });

  test('that dies with hundreds of appends on the way ends none of them in an unhandled rejection', async () => {
    const impatient = open({ callMs: 300, totalMs: 900 });
    await impatient.append('a-1', [event(0)], 'no_stream');
    other.freeze();
    const text = 'x'.repeat(4_000);
    const appends = Array.from({ length: 300 }, (_, n) =>
      impatient.append(`b-${n}`, [{ ...event(n), data: { text } }], 'no_stream'),
    );
    const outcomes = Promise.allSettled(appends);
    setTimeout(() => void other.kill(), 200);
    expect((await outcomes).every(({ status }) => status === 'rejected')).toBe(true);
  });

  test('does not end the process by answering an append that another connection made the client forget', async () => {
    const frozen = open({ callMs: 2_000 });
    await frozen.append('a-1', [event(0)], 'no_stream');
    await store.append('a-1', [event(0)], 'no_stream');
    other.freeze();
    const append = frozen.append('a-1', [event(1)], 0);
    await restart();
    await store.append('a-1', [event(1)], 0);
    other.thaw();
    expect((await append).revision).toBe(1);
    expect((await frozen.append('a-1', [event(2)], 1)).revision).toBe(2);
    expect(await collect(frozen.read('a-1'))).toHaveLength(3);
  });

  test('that is killed again and again loses nothing acknowledged, and its subscriber sees all of it once', async () => {
    const patient = open({});
    const heard = listen(patient);
    endings.push(() => heard.close());
    const acknowledged: string[] = [];
    let n = 0;
    for (let round = 0; round < 2; round++) {
      const dying = other;
      const until = n + 60;
      for (; n < until; n++) {
        const next = event(n);
        if (n === until - 30) void dying.kill().then(async () => (other = await storeProcess(otherDir)));
        // An outcome that is unknown when the time is up stays so until the same append is answered.
        for (let isKnown = false; !isKnown; ) {
          isKnown = await patient.append('a-1', [next], n === 0 ? 'no_stream' : n - 1).then(
            () => true,
            async (error) => {
              expect(error).toBeInstanceOf(StoreUnavailable);
              await new Promise((resolve) => setTimeout(resolve, 10));
              return false;
            },
          );
        }
        acknowledged.push(next.id);
      }
    }
    await heard.until(n);
    expect(heard.events.map(({ id }) => id)).toEqual(acknowledged);
    expect((await collect(patient.read('a-1'))).map(({ id }) => id)).toEqual(acknowledged);
  }, 30_000);
});
