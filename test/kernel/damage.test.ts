import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Reactor, startReactors } from '../../src/kernel/followers/reactor.ts';
import { openReadModels, type Projection, type ReadModels } from '../../src/kernel/projections/projection.ts';
import { table } from '../../src/kernel/rows/rows.ts';
import { type EventStore, StoreDamaged } from '../../src/kernel/store/store.ts';
import { event } from '../support/events.ts';
import { memoryStore } from '../support/memory-store.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
const freshDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'weir-damage-'));
  cleanUps.push(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

const damage = new StoreDamaged('The event store is damaged: here.');

/** A store whose subscriptions all end once `begin` is called, and those opened afterwards at once. */
const damageable = () => {
  const sound = memoryStore();
  const told = new Set<(error: Error) => void>();
  let isDamaged = false;
  const store: EventStore = {
    ...sound,
    subscribe(options) {
      told.add(options.failed);
      if (!isDamaged) return sound.subscribe(options);
      queueMicrotask(() => options.failed(damage));
      return { close: async () => {} };
    },
  };
  const begin = (): void => {
    isDamaged = true;
    for (const failed of told) failed(damage);
  };
  return { store, begin };
};

const numbers = table<{ readonly n: number }>('numbers');
const latest: Projection = {
  name: 'latest',
  version: 1,
  categories: ['counter'],
  tables: [numbers],
  apply: ({ data }, rows) => rows.put(numbers, 'latest', { n: data.n as number }),
};

const follow = async (store: EventStore): Promise<ReadModels> => {
  const models = await openReadModels({
    dir: freshDir(),
    store,
    logId: 'log-1',
    projections: [latest],
    ours: (batch) => batch,
  });
  cleanUps.push(() => models.close());
  return models;
};

test('the rows stay where the store is damaged further on, and say why they stand still', async () => {
  const { store, begin } = damageable();
  await store.append('counter-a', [event(1)], 'no_stream');
  const models = await follow(store);
  begin();
  expect(models.stopped).toEqual([{ follower: 'latest', error: damage }]);
  expect(models.get(numbers, 'latest')).toEqual({ n: 1 });
  // The process goes on with them.
  const goesOn = Symbol();
  expect(await Promise.race([models.failed, Promise.resolve(goesOn)])).toBe(goesOn);
});

test('rows that are built anew stop at the damage, and whoever opens them is told', async () => {
  const { store, begin } = damageable();
  const models = await follow(store);
  begin();
  await models.rebuild('for a test');
  expect(models.stopped).toEqual([{ follower: 'latest', error: damage }]);
  await expect(follow(store)).rejects.toBe(damage);
});

const idle: Reactor = {
  name: 'idle',
  version: 1,
  begins: 'at the start',
  categories: [],
  react: async () => {},
};

test('the reactions say why they stand still', async () => {
  const { store, begin } = damageable();
  const dir = freshDir();
  const reactions = await startReactors({ dir, store, logId: 'log-1', ours: (batch) => batch, reactors: [idle] });
  cleanUps.push(() => reactions.close());
  expect(reactions.stopped).toEqual([]);
  begin();
  expect(reactions.stopped).toEqual([{ follower: 'idle', error: damage }]);
});
