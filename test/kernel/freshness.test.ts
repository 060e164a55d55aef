import { describe, expect, test } from 'vitest';
import { freshness } from '../../src/kernel/freshness.ts';
import { table } from '../../src/kernel/rows.ts';
import type { Sight } from '../../src/kernel/store.ts';

const relied = table<object>('relied');
const other = table<object>('other');

/** @param still positions at which tables stand still */
const stage = (mostMs?: number, still: { relied?: bigint; other?: bigint } = {}) => {
  const time = { now: 0 };
  const models = { position: null as bigint | null };
  const waiting: { position: bigint; resolve: (reached: boolean) => void }[] = [];
  let look = (_: Sight): void => {};
  let shortened = 0;
  let rebuilt = (): void => {};
  const fresh = freshness({
    store: {
      onSight(listener) {
        look = listener;
        return () => {};
      },
    },
    models: {
      tables: [relied, other],
      stopped: Object.entries(still).map(([follower]) => ({ follower, error: new Error('poison') })),
      get position() {
        return models.position;
      },
      positionOf: (tables) => {
        const [least] = tables.flatMap(({ name }) => still[name as keyof typeof still] ?? []);
        return least ?? models.position;
      },
      reached: (position) => new Promise((resolve) => waiting.push({ position, resolve })),
    },
    reliedOn: [relied],
    clock: { wall: () => 0, monotonic: () => time.now },
    mostMs,
    shortened() {
      shortened++;
      return new Promise((resolve) => {
        rebuilt = resolve;
      });
    },
  });
  return {
    time,
    fresh,
    look: (askedAt: number, end: bigint) => look({ askedAt, end }),
    async reach(position: bigint) {
      models.position = position;
      for (const each of waiting.splice(0)) each.position <= position ? each.resolve(true) : waiting.push(each);
      await new Promise(setImmediate);
    },
    shortened: () => shortened,
    async rebuilt(position: bigint) {
      models.position = position;
      rebuilt();
      await new Promise(setImmediate);
    },
  };
};

describe('what is known here', () => {
  test('is of no known age where the models stand still from the first, and else of the moment at which they are open', () => {
    const still = stage(undefined, { relied: 0n });
    expect(still.fresh.ageMs).toBe(Number.POSITIVE_INFINITY);
    expect(still.fresh.isBehind).toBe(true);
    const { fresh, time } = stage();
    time.now = 7;
    expect(fresh.ageMs).toBe(7);
  });

  test('is as old as the last question whose answer the read models have passed', async () => {
    const { time, fresh, look, reach } = stage();
    await reach(10n);
    time.now = 5;
    look(1, 10n);
    expect(fresh.ageMs).toBe(4);
    time.now = 505;
    look(501, 20n);
    expect(fresh.ageMs).toBe(504);
    time.now = 600;
    await reach(20n);
    expect(fresh.ageMs).toBe(99);
  });

  test('is of the moment in a log that is empty', () => {
    const { time, fresh, look } = stage();
    time.now = 3;
    look(2, 0n);
    expect(fresh.ageMs).toBe(1);
  });

  test('is behind a second after the last look that it has caught up with: half of it is the time between looks', async () => {
    const { time, fresh, look, reach } = stage();
    await reach(10n);
    look(0, 10n);
    time.now = 1_000;
    expect(fresh.isBehind).toBe(false);
    time.now = 1_001;
    expect(fresh.isBehind).toBe(true);
    look(1_000, 11n);
    expect(fresh.isBehind).toBe(true);
    await reach(11n);
    expect(fresh.isBehind).toBe(false);
  });
});

describe('what is known here is too old', () => {
  test('beyond the age that was set, and never without one', () => {
    const [set, unset] = [stage(3_000), stage()];
    for (const { time, look } of [set, unset]) {
      look(0, 0n);
      time.now = 3_000;
    }
    expect([set.fresh.isTooOld, unset.fresh.isTooOld]).toEqual([false, false]);
    for (const { time } of [set, unset]) time.now = 3_001;
    expect([set.fresh.isTooOld, unset.fresh.isTooOld]).toEqual([true, false]);
  });
});

describe('a log that ends before what was read from it', () => {
  test('is told once', async () => {
    const { look, reach, shortened, rebuilt } = stage();
    await reach(10n);
    look(1, 10n);
    look(2, 9n);
    expect(shortened()).toBe(1);
    // The models hold what they held for as long as they are not built anew.
    look(3, 9n);
    look(4, 9n);
    expect(shortened()).toBe(1);
    await rebuilt(9n);
    look(5, 9n);
    look(6, 8n);
    expect(shortened()).toBe(2);
  });

  test('leaves nothing known until the models hold what is in it', async () => {
    const { time, fresh, look, reach, rebuilt } = stage();
    await reach(10n);
    look(1, 10n);
    expect(fresh.isBehind).toBe(false);
    look(2, 9n);
    expect(fresh.ageMs).toBe(Number.POSITIVE_INFINITY);
    look(3, 9n);
    expect(fresh.isBehind).toBe(true);
    await rebuilt(9n);
    time.now = 5;
    look(4, 9n);
    expect(fresh.ageMs).toBe(1);
  });

  test('is not one whose end was asked for before we read on', async () => {
    const { look, reach, shortened } = stage();
    await reach(10n);
    look(1, 10n);
    await reach(30n);
    // Asked for when the log ended at 20.
    look(2, 20n);
    expect(shortened()).toBe(0);
    look(3, 29n);
    expect(shortened()).toBe(1);
  });
});
