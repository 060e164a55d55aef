import { describe, expect, test } from 'vitest';
import { freshness } from '../../src/kernel/projections/freshness.ts';
import { table } from '../../src/kernel/rows/rows.ts';
import { type HeadPoll, StoreUnavailable } from '../../src/kernel/store/store.ts';

const relied = table<object>('relied');
const other = table<object>('other');

/** @param still positions at which tables stand still */
const stage = (mostMs?: number, still: { relied?: bigint; other?: bigint } = {}) => {
  const time = { now: 0 };
  const models = { position: null as bigint | null };
  const waiting: { position: bigint; resolve: (reached: boolean) => void }[] = [];
  let look = (_: HeadPoll): void => {};
  const mark = { isDoubted: false, why: undefined as string | undefined, isAway: false };
  let replaced = 0;
  let rebuilt = (): void => {};
  const fresh = freshness({
    store: {
      onHeadPoll(listener) {
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
    mark: {
      get isDoubted() {
        return mark.isDoubted;
      },
      async whyAnother() {
        if (mark.isAway) throw new StoreUnavailable('away');
        mark.isDoubted = false;
        return mark.why;
      },
    },
    replaced() {
      replaced++;
      mark.isDoubted = false;
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
    mark,
    replaced: () => replaced,
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

describe('behind a lost connection', () => {
  const turn = () => new Promise(setImmediate);

  test('nothing is known of now until the log is known to be the one that was followed', async () => {
    const { time, fresh, look, reach, mark } = stage();
    await reach(10n);
    look(1, 10n);
    mark.isDoubted = true;
    mark.isAway = true;
    time.now = 5;
    look(4, 10n);
    await turn();
    look(5, 10n);
    await turn();
    expect(fresh.ageMs).toBe(4);
    mark.isAway = false;
    look(5, 10n);
    await turn();
    look(5, 10n);
    expect(fresh.ageMs).toBe(0);
  });

  test('another log is told once, and leaves nothing known until the models hold what is in it', async () => {
    const { time, fresh, look, reach, replaced, rebuilt, mark } = stage();
    await reach(10n);
    look(1, 10n);
    expect(fresh.isBehind).toBe(false);
    Object.assign(mark, { isDoubted: true, why: 'the log ends before its place' });
    look(2, 9n);
    await turn();
    expect(replaced()).toBe(1);
    expect(fresh.ageMs).toBe(Number.POSITIVE_INFINITY);
    // The models hold what they held for as long as they are not built anew.
    mark.isDoubted = true;
    look(3, 9n);
    await turn();
    expect([replaced(), fresh.isBehind]).toEqual([1, true]);
    Object.assign(mark, { isDoubted: false, why: undefined });
    await rebuilt(9n);
    time.now = 5;
    look(4, 9n);
    expect(fresh.ageMs).toBe(1);
  });

  test('a log that is found to be another while one is left is left too', async () => {
    const { fresh, replaced, rebuilt } = stage();
    fresh.replaced('one');
    fresh.replaced('two');
    expect(replaced()).toBe(1);
    await rebuilt(9n);
    expect(replaced()).toBe(2);
  });
});
