import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { openReadModels, type Projection, type ReadModels } from '../../src/kernel/projections/projection.ts';
import { table } from '../../src/kernel/rows/rows.ts';
import type { Ours } from '../../src/kernel/store/ownership.ts';
import type { EventStore } from '../../src/kernel/store/store.ts';
import { onSignal } from '../../src/telemetry.ts';
import { event } from '../support/events.ts';
import { type MemoryStore, memoryStore } from '../support/memory-store.ts';

const sums = table<{ sum: number; count: number }>('sums');
const last = table<{ n: number }>('last');

/** Adds up the numbers of each stream; reads what it wrote in the same batch. */
const adding = (version = 1): Projection => ({
  name: 'adding',
  version,
  categories: ['counter'],
  tables: [sums, last],
  apply({ stream, data }, rows) {
    const n = data.n as number;
    if (n === 666) throw new Error('poison');
    const before = rows.get(sums, stream) ?? { sum: 0, count: 0 };
    rows.put(sums, stream, { sum: before.sum + n, count: before.count + 1 });
    if (n < 0) rows.remove(last, stream);
    else rows.put(last, stream, { n });
  },
});

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
const freshDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'weir-models-'));
  cleanUps.push(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};
const follow = async (
  store: EventStore,
  dir: string,
  options: { version?: number; logId?: string; ours?: Ours; committed?: (batch: readonly unknown[]) => void } = {},
): Promise<ReadModels> => {
  const { version, logId = 'log-1', ours = (batch) => batch, committed } = options;
  const models = await openReadModels({
    ours,
    lasts: ({ stream }) => !stream.startsWith('counter-passing'),
    dir,
    store,
    logId,
    projections: [adding(version)],
    ...(committed && { committed }),
  });
  cleanUps.push(() => models.close().catch(() => {}));
  return models;
};
const append = (store: EventStore, stream: string, numbers: number[], at: number | 'no_stream' = 'no_stream') =>
  store.append(stream, numbers.map(event), at);
const rebuilds = (): string[] => {
  const reasons: string[] = [];
  cleanUps.push(
    onSignal((name, signal) => {
      if (name === 'projection.rebuilt') reasons.push((signal as { reason: string }).reason);
    }) as () => void,
  );
  return reasons;
};

describe('a projection', () => {
  test('behind events of somebody else alone knows that it has seen them', async () => {
    const store = memoryStore();
    await append(store, 'counter-a', [1]);
    const models = await follow(store, freshDir(), {
      ours: (batch) => batch.filter(({ stream }) => stream !== 'theirs-1'),
    });
    const { position } = await append(store, 'theirs-1', [2, 3]);
    expect(await models.reached(position, 5_000)).toBe(true);
    expect(models.position).toBe(position);
    expect(models.get(sums, 'counter-a')).toEqual({ sum: 1, count: 1 });
    expect(models.get(sums, 'theirs-1')).toBeUndefined();
  });

  test('has applied everything known when it opens, and follows what comes', async () => {
    const store = memoryStore();
    await append(store, 'counter-a', [1, 2]);
    const models = await follow(store, freshDir());
    expect(models.get(sums, 'counter-a')).toEqual({ sum: 3, count: 2 });
    const { position } = await append(store, 'counter-a', [5], 1);
    expect(await models.reached(position, 2000)).toBe(true);
    expect(models.get(sums, 'counter-a')).toEqual({ sum: 8, count: 3 });
  });

  test('keeps nobody waiting before it is closed', async () => {
    const store = memoryStore();
    const models = await follow(store, freshDir());
    const { position } = await append(store, 'counter-a', [5]);
    expect(await models.reached(position, 2000)).toBe(true);
    const waiting = models.reached(position + 1n, 60_000);
    models.waitNoLonger();
    expect(await waiting).toBe(false);
    expect(await models.reached(position + 1n, 60_000)).toBe(false);
    expect(await models.reached(position, 60_000)).toBe(true);
  });

  test('leaves out what is of another category', async () => {
    const store = memoryStore();
    await append(store, 'other-a', [1]);
    const models = await follow(store, freshDir());
    expect(models.get(sums, 'other-a')).toBeUndefined();
    expect(models.position).not.toBeNull();
  });

  test('goes on from its checkpoint after a restart and applies nothing twice', async () => {
    const store = memoryStore();
    const dir = freshDir();
    const reasons = rebuilds();
    await append(store, 'counter-a', [1, 2]);
    await (await follow(store, dir)).close();
    await append(store, 'counter-a', [4], 1);
    const models = await follow(store, dir);
    expect(models.get(sums, 'counter-a')).toEqual({ sum: 7, count: 3 });
    expect(reasons).toEqual([]);
  });

  test('removes rows', async () => {
    const store = memoryStore();
    await append(store, 'counter-a', [1, -1]);
    const models = await follow(store, freshDir());
    expect(models.get(last, 'counter-a')).toBeUndefined();
    await models.reached((await append(store, 'counter-a', [3], 1)).position, 2000);
    expect(models.get(last, 'counter-a')).toEqual({ n: 3 });
    await models.reached((await append(store, 'counter-a', [-3], 2)).position, 2000);
    expect(models.get(last, 'counter-a')).toBeUndefined();
  });

  test('says what was committed, once it can be read', async () => {
    const store = memoryStore();
    const seen: number[] = [];
    const dir = freshDir();
    let models: ReadModels | undefined;
    models = await follow(store, dir, {
      committed: (batch) => {
        for (const each of batch as { stream: string }[]) seen.push(models?.get(sums, each.stream)?.sum ?? -1);
      },
    });
    await models.reached((await append(store, 'counter-a', [1])).position, 2000);
    await models.reached((await append(store, 'counter-a', [1], 0)).position, 2000);
    expect(seen).toEqual([1, 2]);
  });

  test('answers false when a position is not reached in time', async () => {
    const models = await follow(memoryStore(), freshDir());
    expect(await models.reached(10n ** 12n, 5)).toBe(false);
  });

  test('stops at an event that it cannot apply, with what came before it applied', async () => {
    const store = memoryStore();
    await append(store, 'counter-a', [1]);
    const models = await follow(store, freshDir());
    const waiting = models.reached(10n ** 12n, 1_000_000);
    await append(store, 'counter-a', [2, 666], 0);
    await expect.poll(() => models.stopped[0]?.error.message).toMatch('poison');
    expect(models.stopped).toMatchObject([{ follower: 'adding', at: { stream: 'counter-a', revision: 2 } }]);
    // Nobody waits for what cannot come.
    expect(await waiting).toBe(false);
    expect(await models.reached(10n ** 12n, 1_000_000)).toBe(false);
    expect(models.get(sums, 'counter-a')).toEqual({ sum: 3, count: 2 });
  });
});

describe('read models are built anew, loudly', () => {
  test('when they belong to another log', async () => {
    const dir = freshDir();
    const reasons = rebuilds();
    const before = memoryStore();
    await append(before, 'counter-old', [1, 2, 3]);
    await (await follow(before, dir)).close();
    const store = memoryStore();
    await append(store, 'counter-new', [7]);
    const models = await follow(store, dir, { logId: 'log-2' });
    expect(models.get(sums, 'counter-old')).toBeUndefined();
    expect(models.get(sums, 'counter-new')).toEqual({ sum: 7, count: 1 });
    expect(reasons).toEqual(['it belongs to another log']);
  });

  test('when the layout of a projection has changed', async () => {
    const store = memoryStore();
    const dir = freshDir();
    const reasons = rebuilds();
    await append(store, 'counter-a', [1, 2]);
    await (await follow(store, dir)).close();
    expect((await follow(store, dir, { version: 2 })).get(sums, 'counter-a')).toEqual({ sum: 3, count: 2 });
    expect(reasons).toEqual(['the layout of its rows has changed']);
  });

  test('when an older backup of the same log was restored', async () => {
    const dir = freshDir();
    const reasons = rebuilds();
    const newer = memoryStore({ random: () => 0 });
    await append(newer, 'counter-a', [1, 2, 3, 4]);
    await (await follow(newer, dir)).close();
    const restored = memoryStore({ random: () => 0 });
    await append(restored, 'counter-a', [1, 2]);
    const models = await follow(restored, dir);
    expect(models.get(sums, 'counter-a')).toEqual({ sum: 3, count: 2 });
    expect(reasons).toHaveLength(1);
    await models.reached((await append(restored, 'counter-a', [9], 1)).position, 2000);
    expect(models.get(sums, 'counter-a')).toEqual({ sum: 12, count: 3 });
  });

  test('when the restored log went on and has another event at the checkpoint', async () => {
    const dir = freshDir();
    const reasons = rebuilds();
    const newer = memoryStore({ random: () => 0 });
    await append(newer, 'counter-a', [1, 2]);
    await (await follow(newer, dir)).close();
    const restored = memoryStore({ random: () => 0 });
    await append(restored, 'counter-b', [5, 6, 7]);
    const models = await follow(restored, dir);
    expect(models.get(sums, 'counter-a')).toBeUndefined();
    expect(reasons).toEqual(['the log has another event at its place']);
  });
});

describe('a checkpoint whose event was removed', () => {
  /** Followed up to the last event, which is of a kind that goes. */
  const followed = async () => {
    const dir = freshDir();
    const reasons = rebuilds();
    const store = memoryStore({ random: () => 0.5 });
    await append(store, 'counter-a', [1, 2]);
    await append(store, 'counter-passing1', [5]);
    await append(store, 'counter-passing2', [6, 7]);
    await (await follow(store, dir)).close();
    return { dir, reasons, store };
  };
  const gone = (store: MemoryStore) => store.log.filter(({ stream }) => stream.startsWith('counter-passing'));

  test.each([1, 2, 3])('is gone on from, where the log goes on: %i were', async (count) => {
    const { dir, reasons, store } = await followed();
    for (const event of gone(store).slice(-count)) store.scavenge(event);
    await append(store, 'counter-a', [3], 1);
    const models = await follow(store, dir);
    expect(reasons).toEqual([]);
    expect(models.get(sums, 'counter-a')).toEqual({ sum: 6, count: 3 });
    // What was read of them has stayed.
    expect(models.get(sums, 'counter-passing2')).toEqual({ sum: 13, count: 2 });
    await models.close();
    await (await follow(store, dir)).close();
    expect(reasons).toEqual([]);
  });

  test('is another log’s where something else lies between it and the last that stays', async () => {
    const { dir, reasons, store } = await followed();
    let gap = 0.5;
    const restored = memoryStore({ random: () => gap });
    const kept = store.log.slice(0, 2).map(({ id, type, data, metadata }) => ({ id, type, data, metadata }));
    expect(restored.plantAsIs('counter-a', kept)).toEqual(store.log.slice(0, 2));
    // Closer together than what was there: the place of the checkpoint lies between two of them.
    gap = 0.1;
    const place = store.log.at(-1)!.position;
    for (let n = 0; restored.log.at(-1)!.position < place; n++) restored.plant('counter-b', [event(n)]);
    expect(restored.log.map(({ position }) => position)).not.toContain(place);
    const models = await follow(restored, dir);
    expect(reasons).toEqual(['the log has no event at its place']);
    expect(models.get(sums, 'counter-passing1')).toBeUndefined();
  });

  test('and that should have stayed is another log’s', async () => {
    const { dir, reasons, store } = await followed();
    const models = await follow(store, dir);
    await models.reached((await append(store, 'counter-a', [3], 1)).position, 2000);
    await models.close();
    store.scavenge(store.log.at(-1)!);
    await append(store, 'counter-b', [4]);
    await follow(store, dir);
    expect(reasons).toEqual(['the log has no event at its place']);
  });

  test('is another log’s where the last that stays is not there either', async () => {
    const { dir, reasons, store } = await followed();
    for (const event of gone(store)) store.scavenge(event);
    store.scavenge(store.log.at(-1)!);
    await append(store, 'counter-b', [4]);
    await follow(store, dir);
    expect(reasons).toEqual(['the log has no event at its place']);
  });
});

describe('range', () => {
  test('pages through the keys of a prefix in both directions, without gaps or repeats', async () => {
    const store = memoryStore();
    const names = Array.from({ length: 23 }, (_, i) => `counter-${String.fromCharCode(97 + i)}`);
    for (const name of names) await append(store, name, [1]);
    await append(store, 'counter', [1]).catch(() => {});
    const models = await follow(store, freshDir());
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), fc.constantFrom('asc' as const, 'desc' as const), (limit, order) => {
        const keys: string[] = [];
        for (let after: string | undefined; ; ) {
          const found = models.range(sums, { prefix: 'counter-', after, limit, order });
          keys.push(...found.map(({ key }) => key));
          if (found.length < limit) break;
          after = found.at(-1)?.key;
        }
        expect(keys).toEqual(order === 'asc' ? names : names.toReversed());
      }),
      { numRuns: 40 },
    );
  });
  test('takes only the rows that are wanted', async () => {
    const store = memoryStore();
    for (const [i, name] of ['counter-a', 'counter-b', 'counter-c'].entries()) await append(store, name, [i]);
    const models = await follow(store, freshDir());
    const found = models.range(sums, { prefix: 'counter-', limit: 1 }, (row) => row.sum > 0);
    expect(found).toEqual([{ key: 'counter-b', row: { sum: 1, count: 1 } }]);
  });
});

test('however the log is cut into deliveries and restarts, the rows are those of one fold', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 0, max: 99 }), fc.boolean()), {
        maxLength: 25,
      }),
      async (steps) => {
        const store = memoryStore();
        const dir = freshDir();
        const oracle = new Map<string, { sum: number; count: number }>();
        let models = await follow(store, dir);
        for (const [name, n, restart] of steps) {
          const stream = `counter-${name}`;
          const known = oracle.get(stream) ?? { sum: 0, count: 0 };
          const { position } = await append(store, stream, [n], known.count ? known.count - 1 : 'no_stream');
          oracle.set(stream, { sum: known.sum + n, count: known.count + 1 });
          if (restart) {
            await models.close();
            models = await follow(store, dir);
          }
          expect(await models.reached(position, 2000)).toBe(true);
        }
        for (const [stream, row] of oracle) expect(models.get(sums, stream)).toEqual(row);
        await models.close();
      },
    ),
    { numRuns: 10 },
  );
});
