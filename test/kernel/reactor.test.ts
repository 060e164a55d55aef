import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { CorruptStream } from '../../src/kernel/aggregate/fold.ts';
import type { KeptCheckpoint } from '../../src/kernel/followers/checkpoint.ts';
import { type Reactor, startReactors } from '../../src/kernel/followers/reactor.ts';
import { openRows } from '../../src/kernel/rows/rows.ts';
import { type EventStore, type Recorded, StoreDamaged } from '../../src/kernel/store/store.ts';
import { onSignal } from '../../src/telemetry.ts';
import { event } from '../support/events.ts';
import { memoryStore } from '../support/memory-store.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
const freshDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'weir-reactors-'));
  cleanUps.push(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

/** Keeps the numbers it reacted to; `until(n)` resolves when there are so many. */
const counting = (failures = 0) => {
  const seen: number[] = [];
  let left = failures;
  let check = (): void => {};
  const reactor: Reactor = {
    name: 'counting',
    version: 1,
    begins: 'at the start',
    categories: ['counter'],
    async react({ data }) {
      if (left-- > 0) throw new Error('not yet');
      seen.push(data.n as number);
      check();
    },
  };
  const until = (n: number): Promise<void> =>
    new Promise((resolve) => {
      check = () => {
        if (seen.length >= n) resolve();
      };
      check();
    });
  return { reactor, seen, until };
};

/** Keeps its checkpoint when it is closed, and not before. */
const start = async (store: EventStore, dir: string, reactor: Reactor, logId = 'log-1') => {
  const running = await startReactors({
    ours: (batch) => batch,
    dir,
    store,
    logId,
    reactors: [reactor],
    retryMs: 1,
    keepMs: 60_000,
  });
  cleanUps.push(() => running.close().catch(() => {}));
  return running;
};
const append = (store: EventStore, numbers: number[], at: number | 'no_stream' = 'no_stream', stream = 'counter-a') =>
  store.append(stream, numbers.map(event), at);

describe('what reactors have written down', () => {
  test('is read from the form of the release before, and is not passed over', async () => {
    const store = memoryStore();
    await append(store, [1, 2]);
    const dir = freshDir();
    const before = open({ path: dir, encoding: 'json', compression: false });
    const [first] = store.log;
    const place = String(first!.position);
    const old = { logId: 'log-1', version: 1, position: place, eventId: first!.id, passed: place };
    await before.put('counting', old);
    await before.close();
    for (const expected of [[2], [3]]) {
      const { reactor, seen, until } = counting();
      const running = await start(store, dir, reactor);
      await until(1);
      expect(seen).toEqual(expected);
      await running.close();
      await append(store, [3], 1).catch(() => {});
    }
  });

  test.each([
    ['zeros', (bytes: Buffer) => bytes.fill(0)],
    ['half of it', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    ['another row', (bytes: Buffer) => bytes.fill('z', bytes.indexOf('eventId'), bytes.indexOf('eventId') + 3)],
  ])('and is damaged (%s) is begun with again, which is told', async (_, change) => {
    const store = memoryStore();
    await append(store, [1, 2]);
    const dir = freshDir();
    const before = counting();
    const running = await start(store, dir, before.reactor);
    await before.until(2);
    await running.close();
    const file = join(dir, 'data.mdb');
    const bytes = readFileSync(file);
    writeFileSync(file, change(bytes));
    const reasons: string[] = [];
    cleanUps.push(
      onSignal((_, signal) => {
        if ('reactors' in signal) reasons.push(signal.reason);
      }),
    );
    const { reactor, seen, until } = counting();
    const again = await start(store, dir, { ...reactor, begins: 'at the end' });
    await until(2);
    expect(seen).toEqual([1, 2]);
    expect(reasons).toEqual([expect.stringMatching(/damaged|checksum/)]);
    await again.close();
  });
});

describe('a reactor', () => {
  test('reacts to each event of its categories, in order', async () => {
    const store = memoryStore();
    await append(store, [1, 2]);
    await append(store, [100], 'no_stream', 'other-a');
    const { reactor, seen, until } = counting();
    await start(store, freshDir(), reactor);
    await append(store, [3], 1);
    await until(3);
    expect(seen).toEqual([1, 2, 3]);
  });

  test('tries a failed reaction again until it succeeds and skips none', async () => {
    const store = memoryStore();
    await append(store, [1, 2]);
    const { reactor, seen, until } = counting(4);
    await start(store, freshDir(), reactor);
    await until(2);
    expect(seen).toEqual([1, 2]);
  });

  test('goes on from its checkpoint after a restart', async () => {
    const store = memoryStore();
    const dir = freshDir();
    await append(store, [1, 2]);
    const first = counting();
    const running = await start(store, dir, first.reactor);
    await first.until(2);
    await running.close();
    await append(store, [3], 1);
    const second = counting();
    await start(store, dir, second.reactor);
    await second.until(1);
    expect(second.seen).toEqual([3]);
  });

  test('starts from the beginning of another log, and of a restored older one', async () => {
    const dir = freshDir();
    const newer = memoryStore({ random: () => 0 });
    await append(newer, [1, 2, 3]);
    const first = counting();
    const running = await start(newer, dir, first.reactor);
    await first.until(3);
    await running.close();
    const restored = memoryStore({ random: () => 0 });
    await append(restored, [1, 2]);
    const second = counting();
    const again = await start(restored, dir, second.reactor);
    await second.until(2);
    await again.close();
    const third = counting();
    await start(restored, dir, third.reactor, 'log-2');
    await third.until(2);
    expect([second.seen, third.seen]).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  test('goes on from its checkpoint where the event of that was removed since', async () => {
    const store = memoryStore();
    const dir = freshDir();
    await append(store, [1]);
    await append(store, [2], 'no_stream', 'counter-passing');
    const options = { ours: (batch: readonly Recorded[]) => batch, dir, store, logId: 'log-1', keepMs: 60_000 };
    const lasts = ({ stream }: Recorded) => stream !== 'counter-passing';
    const first = counting();
    const running = await startReactors({ ...options, lasts, reactors: [first.reactor] });
    cleanUps.push(() => running.close().catch(() => {}));
    await first.until(2);
    await running.close();
    store.scavenge(store.log.at(-1)!);
    await append(store, [3], 0);
    const second = counting();
    const again = await startReactors({ ...options, lasts, reactors: [second.reactor] });
    cleanUps.push(() => again.close());
    await second.until(1);
    expect(second.seen).toEqual([3]);
  });

  test('keeps its checkpoint while it runs, soon after what it was done with', async () => {
    const store = memoryStore();
    const dir = freshDir();
    await append(store, [1, 2]);
    const { reactor, until } = counting();
    const running = await startReactors({
      ours: (batch) => batch,
      dir,
      store,
      logId: 'log-1',
      reactors: [reactor],
      keepMs: 5,
    });
    cleanUps.push(() => running.close());
    await until(2);
    let last: string | undefined;
    for await (const { id } of store.read('counter-a')) last = id;
    const kept = openRows<KeptCheckpoint>(dir, [], { readOnly: true });
    cleanUps.push(() => kept.close());
    await vi.waitFor(() => {
      kept.refresh();
      expect(kept.mark('counting')?.eventId).toBe(last);
    });
  });

  describe.each([
    ['damaged', () => new StoreDamaged('a bit has flipped')],
    ['corrupt', () => new CorruptStream('ticket-1', 3, 'ticket.opened', 'it is open already')],
  ])('that comes to a stream that is %s', (_, fault) => {
    const stage = async () => {
      const store = memoryStore();
      const dir = freshDir();
      const { reactor: sound, seen, until } = counting();
      let tries = 0;
      let isHealed = false;
      const handled: number[] = [];
      const broken: Reactor = {
        name: 'broken',
        version: 1,
        begins: 'at the start',
        categories: ['counter'],
        async react({ data }) {
          tries++;
          if (data.n === 2 && !isHealed) throw fault();
          handled.push(data.n as number);
        },
      };
      const run = async () => {
        const reactors = [broken, { ...sound, name: 'sound' }];
        const options = { ours: (batch: readonly Recorded[]) => batch, dir, store, logId: 'log-1', retryMs: 1 };
        const running = await startReactors({ ...options, reactors, keepMs: 5 });
        cleanUps.push(() => running.close().catch(() => {}));
        return running;
      };
      const heal = () => {
        isHealed = true;
      };
      return { store, run, seen, until, handled, tries: () => tries, heal };
    };

    test('stops and is named, while the others go on', async () => {
      const at = await stage();
      await append(at.store, [1, 2, 3]);
      const running = await at.run();
      await at.until(3);
      await append(at.store, [4], 2);
      await at.until(4);
      expect(at.seen).toEqual([1, 2, 3, 4]);
      expect(running.stopped).toMatchObject([{ follower: 'broken', at: { stream: 'counter-a', revision: 1 } }]);
      expect([at.tries(), at.handled]).toEqual([2, [1]]);
    });

    test('skips nothing: the next start goes on with the event at which it stopped', async () => {
      const at = await stage();
      await append(at.store, [1, 2, 3]);
      const running = await at.run();
      await at.until(3);
      await running.close();
      at.heal();
      const again = await at.run();
      await vi.waitFor(() => expect(at.handled).toEqual([1, 2, 3]));
      // Nobody else does anything twice for it.
      expect(at.seen).toEqual([1, 2, 3]);
      expect(again.stopped).toEqual([]);
    });

    test('begins again with another log', async () => {
      const at = await stage();
      await append(at.store, [1, 2]);
      const running = await at.run();
      await at.until(2);
      at.heal();
      await running.beginAgain('for a test');
      await at.until(4);
      expect(at.handled).toEqual([1, 1, 2]);
      expect(running.stopped).toEqual([]);
    });
  });

  describe('among others', () => {
    /** Runs until it is closed; what it saw is kept. */
    const run = async (store: EventStore, dir: string, reactors: readonly Reactor[]) => {
      const running = await startReactors({ ours: (batch) => batch, dir, store, logId: 'log-1', reactors, retryMs: 1 });
      cleanUps.push(() => running.close().catch(() => {}));
      return running;
    };
    const named = (name: string, more: Partial<Reactor> = {}) => {
      const counted = counting();
      return { ...counted, reactor: { ...counted.reactor, name, ...more } };
    };

    test('of another version begins again alone', async () => {
      const store = memoryStore();
      const dir = freshDir();
      await append(store, [1, 2]);
      const first = [named('a'), named('b')];
      const running = await run(
        store,
        dir,
        first.map(({ reactor }) => reactor),
      );
      for (const { until } of first) await until(2);
      await running.close();
      await append(store, [3], 1);
      const second = [named('a', { version: 2 }), named('b')];
      await run(
        store,
        dir,
        second.map(({ reactor }) => reactor),
      );
      await second[0]?.until(3);
      await second[1]?.until(1);
      expect(second.map(({ seen }) => seen)).toEqual([[1, 2, 3], [3]]);
    });

    test('that is new begins where it says', async () => {
      const store = memoryStore();
      const dir = freshDir();
      await append(store, [1, 2]);
      const old = named('old');
      const running = await run(store, dir, [old.reactor]);
      await old.until(2);
      await running.close();
      const [start, end] = [named('start'), named('end', { begins: 'at the end' })];
      await run(store, dir, [start.reactor, end.reactor]);
      await append(store, [3], 1);
      await start.until(3);
      await end.until(1);
      expect([start.seen, end.seen]).toEqual([[1, 2, 3], [3]]);
    });

    test('that began at the end goes on from there after a restart, however soon that came', async () => {
      const store = memoryStore();
      const dir = freshDir();
      await append(store, [1]);
      const first = named('end', { begins: 'at the end' });
      const running = await run(store, dir, [first.reactor]);
      const kept = openRows<KeptCheckpoint>(dir, [], { readOnly: true });
      cleanUps.push(() => kept.close());
      // A crash from here on passes nothing over.
      expect(kept.mark('end')?.position).toBe(String(store.log[0]?.position));
      await append(store, [2], 0);
      await running.close();
      await append(store, [3], 1);
      const second = named('end', { begins: 'at the end' });
      await run(store, dir, [second.reactor]);
      await vi.waitFor(() => expect([...first.seen, ...second.seen]).toEqual([2, 3]));
    });

    test('is named while its reaction fails again and again, in two lines of the log, until it succeeds', async () => {
      const store = memoryStore();
      const told: string[] = [];
      cleanUps.push(onSignal((name) => void told.push(name)) as () => void);
      let isHealed = false;
      const failing = named('failing', {
        async react() {
          if (!isHealed) throw new TypeError('not today');
        },
      });
      await append(store, [1, 2]);
      const running = await run(store, freshDir(), [failing.reactor]);
      await vi.waitFor(() => expect(running.stopped).toHaveLength(1));
      expect(running.stopped).toMatchObject([{ follower: 'failing', at: { stream: 'counter-a', revision: 0 } }]);
      isHealed = true;
      await vi.waitFor(() => expect(running.stopped).toEqual([]));
      expect(told).toEqual(['reaction.failed', 'follower.stopped', 'follower.resumed']);
    });
  });

  test('a reaction that fails a few times is told twice: that it fails, and that it succeeded', async () => {
    const store = memoryStore();
    const told: string[] = [];
    cleanUps.push(onSignal((name) => void told.push(name)) as () => void);
    await append(store, [1, 2]);
    const { reactor, until } = counting(3);
    await start(store, freshDir(), reactor);
    await until(2);
    expect(told).toEqual(['reaction.failed', 'follower.resumed']);
  });

  test('ends although a reaction never succeeds', async () => {
    const store = memoryStore();
    await append(store, [1]);
    const running = await start(store, freshDir(), counting(Number.POSITIVE_INFINITY).reactor);
    await running.close();
  });
});
