import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import {
  openReadModels,
  type Projection,
  type ReadModels,
  type Rows,
} from '../../src/kernel/projections/projection.ts';
import { table } from '../../src/kernel/rows/rows.ts';
import type { EventStore } from '../../src/kernel/store/store.ts';
import { onSignal, type Signals } from '../../src/telemetry.ts';
import { event } from '../support/events.ts';
import { type MemoryStore, memoryStore } from '../support/memory-store.ts';

const names = ['one', 'two', 'three'] as const;
type Name = (typeof names)[number];
/** Streams of the category `left` concern the first two, of `right` the last two. */
const categories: Record<Name, string[]> = { one: ['left'], two: ['left', 'right'], three: ['right'] };

interface Row {
  readonly numbers: readonly number[];
  readonly version: number;
}
const rowsOf = Object.fromEntries(names.map((name) => [name, table<Row>(name)])) as Record<
  Name,
  ReturnType<typeof table<Row>>
>;

interface Plan {
  version: number;
  /** It cannot apply this number. */
  poison: number | null;
}
type Plans = Record<Name, Plan>;

/** Keeps what it was given, in its order; it changes its rows before it throws. */
const listing = (name: Name, { version, poison }: Plan, seen: (n: number) => void = () => {}): Projection => ({
  name,
  version,
  categories: categories[name],
  tables: [rowsOf[name]],
  apply({ data }, rows) {
    const n = data.n as number;
    const { numbers } = rows.get(rowsOf[name], 'all') ?? { numbers: [] };
    rows.put(rowsOf[name], 'all', { numbers: [...numbers, n], version });
    if (n === poison) throw new Error(`poison for ${name}`);
    seen(n);
  },
});

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
const freshDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'weir-followers-'));
  cleanUps.push(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};
const heard = <N extends keyof Signals>(wanted: N): Signals[N][] => {
  const found: Signals[N][] = [];
  cleanUps.push(
    onSignal((name, signal) => {
      if ((name as string) === wanted) found.push(signal as Signals[N]);
    }) as () => void,
  );
  return found;
};
const open = async (
  store: EventStore,
  dir: string,
  plans: Plans,
  seen?: (name: Name, n: number) => void,
): Promise<ReadModels> => {
  const models = await openReadModels({
    dir,
    store,
    logId: 'log',
    ours: (batch) => batch.filter(({ stream }) => !stream.startsWith('other')),
    projections: names.map((name) => listing(name, plans[name], (n) => seen?.(name, n))),
  });
  cleanUps.push(() => models.close().catch(() => {}));
  return models;
};
const sound = (): Plans => ({
  one: { version: 1, poison: null },
  two: { version: 1, poison: null },
  three: { version: 1, poison: null },
});
const plant = (store: MemoryStore, stream: string, ...numbers: number[]) => store.plant(stream, numbers.map(event));
const shown = (models: ReadModels, name: Name) => models.get(rowsOf[name], 'all')?.numbers ?? [];
/** Waits until each has everything, or cannot have it. */
const settled = (models: ReadModels, { log }: MemoryStore) =>
  Promise.all(
    names.flatMap((name) => log.slice(-1).map((last) => models.reached(last.position, 2000, [rowsOf[name]]))),
  );

describe('a projection among others', () => {
  test('whose version changes is built anew alone: the others read only what is new', async () => {
    const store = memoryStore();
    const dir = freshDir();
    plant(store, 'left-a', 1, 2);
    plant(store, 'right-a', 3);
    await (await open(store, dir, sound())).close();
    plant(store, 'left-a', 4);
    const rebuilt = heard('projection.rebuilt');
    const seen: [Name, number][] = [];
    const plans = { ...sound(), two: { version: 2, poison: null } };
    const models = await open(store, dir, plans, (name, n) => seen.push([name, n]));
    expect(names.map((name) => shown(models, name))).toEqual([[1, 2, 4], [1, 2, 3, 4], [3]]);
    expect(models.get(rowsOf.two, 'all')?.version).toBe(2);
    expect(seen.sort()).toEqual([
      ['one', 4],
      ['two', 1],
      ['two', 2],
      ['two', 3],
      ['two', 4],
    ]);
    expect(rebuilt).toEqual([{ reason: 'the layout of its rows has changed', projections: ['two'] }]);
  });

  test('that meets what it cannot apply stops alone, is named once, and the others go on', async () => {
    const store = memoryStore();
    const stops = heard('follower.stopped');
    const models = await open(store, freshDir(), { ...sound(), one: { version: 1, poison: 2 } });
    plant(store, 'left-a', 1, 2, 3);
    plant(store, 'right-a', 4);
    expect(await settled(models, store)).toEqual([false, true, true]);
    expect(names.map((name) => shown(models, name))).toEqual([[1], [1, 2, 3, 4], [4]]);
    const stop = { follower: 'one', at: { stream: 'left-a', revision: 1 }, error: { message: 'poison for one' } };
    expect(models.stopped).toMatchObject([stop]);
    expect(stops).toEqual([{ follower: 'one', stream: 'left-a', revision: 1, error: models.stopped[0]?.error }]);
    plant(store, 'left-a', 5);
    // Who waits for a command waits for those that go on.
    expect(await models.reached(store.log.at(-1)!.position, 2000)).toBe(true);
    expect(shown(models, 'two')).toEqual([1, 2, 3, 4, 5]);
    expect(stops).toHaveLength(1);
  });

  test('that stopped goes on from there after a restart, once it can apply the event', async () => {
    const store = memoryStore();
    const dir = freshDir();
    plant(store, 'left-a', 1, 2, 3);
    const poisoned = { ...sound(), one: { version: 1, poison: 2 } };
    await (await open(store, dir, poisoned)).close();
    plant(store, 'right-a', 4);
    const again = await open(store, dir, poisoned);
    expect(names.map((name) => shown(again, name))).toEqual([[1], [1, 2, 3, 4], [4]]);
    expect(again.stopped).toHaveLength(1);
    await again.close();
    const seen: [Name, number][] = [];
    const healed = await open(store, dir, sound(), (name, n) => seen.push([name, n]));
    expect(shown(healed, 'one')).toEqual([1, 2, 3]);
    expect(seen).toEqual([
      ['one', 2],
      ['one', 3],
    ]);
  });

  test('reads and writes tables of its own alone', async () => {
    const store = memoryStore();
    plant(store, 'left-a', 1);
    const touches: ((rows: Rows) => void)[] = [
      (rows) => rows.get(rowsOf.two, 'all'),
      (rows) => rows.put(rowsOf.two, 'all', { numbers: [], version: 0 }),
      (rows) => rows.remove(rowsOf.two, 'all'),
    ];
    for (const touch of touches) {
      const nosy: Projection = { ...listing('one', sound().one), apply: (_, rows) => touch(rows) };
      const parts = { dir: freshDir(), store, logId: 'log', ours: (batch: readonly never[]) => batch };
      const models = await openReadModels({ ...parts, projections: [nosy, listing('two', sound().two)] } as never);
      cleanUps.push(() => models.close());
      expect(models.stopped.map(({ error }) => error.message)).toEqual(['one does not declare the table two']);
    }
  });

  test('is refused where it declares the table of another', async () => {
    const twins = [listing('one', sound().one), { ...listing('one', sound().one), name: 'twin' }];
    const parts = { dir: freshDir(), store: memoryStore(), logId: 'log', ours: (batch: readonly never[]) => batch };
    await expect(openReadModels({ ...parts, projections: twins } as never)).rejects.toThrow(
      'two projections declare the table one',
    );
  });
});

test('a restart with checkpoints up to date reads only what is new, whatever others have written', async () => {
  const inner = memoryStore();
  const dir = freshDir();
  plant(inner, 'left-a', ...Array.from({ length: 50 }, (_, n) => n));
  plant(inner, 'right-a', 1);
  plant(inner, 'other-a', ...Array.from({ length: 50 }, (_, n) => n));
  await (await open(inner, dir, sound())).close();
  plant(inner, 'left-a', 51, 52);
  let read = 0;
  const delivered: number[] = [];
  const store: EventStore = {
    ...inner,
    get state() {
      return inner.state;
    },
    async *readAll(options) {
      for await (const each of inner.readAll(options)) {
        read++;
        yield each;
      }
    },
    subscribe: (options) =>
      inner.subscribe({
        ...options,
        deliver: (batch) => {
          delivered.push(batch.length);
          return options.deliver(batch);
        },
      }),
  };
  const models = await open(store, dir, sound());
  expect(shown(models, 'one')).toHaveLength(52);
  // One event to see that the log is the one that was followed.
  expect([read, delivered]).toEqual([1, [2]]);
});

type Step =
  | { readonly append: 'left-a' | 'left-b' | 'right-a' | 'other-a'; readonly count: number }
  | { readonly restart: Record<Name, { readonly bump: boolean; readonly poison: number | null }> };

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      append: fc.constantFrom('left-a' as const, 'left-b' as const, 'right-a' as const, 'other-a' as const),
      count: fc.integer({ min: 1, max: 6 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      restart: fc.record(
        Object.fromEntries(
          names.map((name) => [
            name,
            fc.record({ bump: fc.boolean(), poison: fc.option(fc.integer({ min: 0, max: 25 })) }),
          ]),
        ) as Record<Name, fc.Arbitrary<{ bump: boolean; poison: number | null }>>,
      ),
    }),
  },
);

/** What a projection holds by one fold of the log. What it had before it met the event that is poison now stays. */
const replayed = (store: MemoryStore, name: Name, plan: Plan, from: readonly number[]): number[] => {
  const mine = store.log
    .filter(({ stream }) => categories[name].includes(stream.slice(0, stream.indexOf('-'))))
    .map(({ data }) => data.n as number);
  const next = mine.findIndex((n, index) => index >= from.length && n === plan.poison);
  return next < 0 ? mine : mine.slice(0, next);
};

test('whatever is restarted, rebuilt and poisoned, each has what one fold of the log gives it, and nothing twice', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(stepArbitrary, { minLength: 2, maxLength: 10 }), async (steps) => {
      const store = memoryStore();
      const dir = freshDir();
      let plans = sound();
      let models = await open(store, dir, plans);
      const expected: Record<Name, readonly number[]> = { one: [], two: [], three: [] };
      let n = 0;
      for (const step of steps) {
        if ('append' in step) {
          plant(store, step.append, ...Array.from({ length: step.count }, () => n++));
        } else {
          await models.close();
          const next = names.map((name) => {
            const { bump, poison } = step.restart[name];
            if (bump) expected[name] = [];
            return [name, { version: plans[name].version + (bump ? 1 : 0), poison }] as const;
          });
          plans = Object.fromEntries(next) as Plans;
          models = await open(store, dir, plans);
        }
        await settled(models, store);
        for (const name of names) {
          expected[name] = replayed(store, name, plans[name], expected[name]);
          expect(shown(models, name), name).toEqual(expected[name]);
        }
        const late = names.filter(
          (name) => replayed(store, name, { version: 0, poison: null }, []).length > expected[name].length,
        );
        expect(models.stopped.map(({ follower }) => follower)).toEqual(late);
      }
      await models.close();
    }),
    { numRuns: 30 },
  );
});
