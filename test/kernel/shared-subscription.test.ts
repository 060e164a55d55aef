// Lane: middle: it runs at length
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { shareSubscription } from '../../src/kernel/followers/shared-subscription.ts';
import { type EventStore, type Recorded, StoreDamaged, type SubscribeOptions } from '../../src/kernel/store/store.ts';
import { event } from '../support/events.ts';
import { memoryStore } from '../support/memory-store.ts';

const numberOf = ({ data }: Recorded): number => data.n as number;

/** A follower that keeps what it is given; `hold` makes each delivery wait until it is let go. */
const follower = (after: bigint | null, { poison, isSlow = false }: { poison?: number; isSlow?: boolean } = {}) => {
  const seen: Recorded[] = [];
  const failures: Error[] = [];
  let caughtUp = 0;
  let gate: Promise<void> | undefined;
  let open = (): void => {};
  const options: SubscribeOptions = {
    after,
    async deliver(batch) {
      if (batch.length === 0) throw new Error('an empty batch');
      await gate;
      if (isSlow) await new Promise(setImmediate);
      for (const each of batch) {
        if (poison === numberOf(each)) throw new Error('poison');
        seen.push(each);
      }
    },
    caughtUp: () => void caughtUp++,
    failed: (error) => void failures.push(error),
  };
  return {
    options,
    seen,
    failures,
    numbers: () => seen.map(numberOf),
    caughtUp: () => caughtUp,
    hold() {
      gate = new Promise((resolve) => {
        open = () => {
          gate = undefined;
          resolve();
        };
      });
    },
    letGo: () => open(),
  };
};

/** A store of which the test itself says what its one subscription brings, and what its reads find. */
const handFed = () => {
  const log: Recorded[] = [];
  const feeding: SubscribeOptions[] = [];
  let opened = 0;
  let reads = 0;
  let hidden = 0;
  let hiddenUntil = 0;
  const store: Pick<EventStore, 'subscribe' | 'readAll'> = {
    subscribe(options) {
      opened++;
      feeding.push(options);
      return { close: async () => void feeding.splice(feeding.indexOf(options), 1) };
    },
    async *readAll({ from, limit }) {
      reads++;
      const lacking = reads <= hiddenUntil ? hidden : 0;
      const first = typeof from === 'bigint' ? from : 0n;
      yield* log
        .slice(0, log.length - lacking)
        .filter(({ position, type }) => position >= first && !type.startsWith('$'))
        .slice(0, limit);
    },
  };
  /** Written, and brought by the subscription. */
  const bring = (type: string, ...numbers: number[]) => {
    const batch = write(type, ...numbers);
    return Promise.all(feeding.map(({ deliver }) => deliver(batch)));
  };
  const write = (type: string, ...numbers: number[]): Recorded[] => {
    const batch = numbers.map(
      (n) => ({ ...event(n), type, stream: 'counter-a', revision: log.length, position: BigInt(n) }) as Recorded,
    );
    log.push(...batch);
    return batch;
  };
  /** Reads do not find the last events, the next so many of them. */
  const hide = (count: number, forReads = Number.POSITIVE_INFINITY): void => {
    hidden = count;
    hiddenUntil = reads + forReads;
  };
  return { store, feeding, bring, write, hide, opened: () => opened, reads: () => reads };
};
const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe('a subscription that is shared', () => {
  test('is one, however many follow, and ends with the last of them', async () => {
    const { store, feeding, bring, opened } = handFed();
    const shared = shareSubscription(store);
    const [a, b] = [follower(null), follower(null)];
    const subscriptions = [a, b].map(({ options }) => shared.subscribe(options));
    await bring('counted', 1, 2);
    await vi.waitFor(() =>
      expect([a.numbers(), b.numbers()]).toEqual([
        [1, 2],
        [1, 2],
      ]),
    );
    expect([opened(), feeding.length]).toEqual([1, 1]);
    await subscriptions[0]?.close();
    expect(feeding).toHaveLength(1);
    await bring('counted', 3);
    await subscriptions[1]?.close();
    expect(feeding).toHaveLength(0);
    expect([a.numbers(), b.numbers()]).toEqual([
      [1, 2],
      [1, 2, 3],
    ]);
  });

  test('gives who is behind what he lacks by reading, and then what comes', async () => {
    const { store, bring } = handFed();
    const shared = shareSubscription(store);
    const first = follower(null);
    shared.subscribe(first.options);
    await bring('counted', ...range(1, 2_500));
    await bring('counted', 2_501);
    const late = follower(7n);
    shared.subscribe(late.options);
    await vi.waitFor(() => expect(late.numbers()).toEqual(range(8, 2_501)));
    await bring('counted', 2_502);
    await vi.waitFor(() => expect(late.numbers()).toEqual(range(8, 2_502)));
    expect(first.numbers()).toEqual(range(1, 2_502));
  });

  test('tells who joins where the log ends, also where that is an event of the store’s own', async () => {
    const { store, feeding, bring } = handFed();
    const shared = shareSubscription(store);
    const first = follower(null);
    shared.subscribe(first.options);
    await bring('counted', 1, 2);
    await bring('$metadata', 3);
    feeding[0]?.caughtUp?.();
    const late = follower(null);
    shared.subscribe(late.options);
    await vi.waitFor(() => expect(late.caughtUp()).toBe(1));
    expect(late.numbers()).toEqual([1, 2, 3]);
    await vi.waitFor(() => expect(first.caughtUp()).toBe(1));
  });

  test('does not wait for who is slow: he reads later what he could not take', async () => {
    const { store, bring, reads } = handFed();
    const shared = shareSubscription(store, { maxWaiting: 4 });
    const [quick, slow] = [follower(null), follower(null)];
    for (const { options } of [quick, slow]) shared.subscribe(options);
    await bring('counted', 0);
    slow.hold();
    for (const n of range(1, 20)) await bring('counted', n);
    expect(quick.numbers()).toEqual(range(0, 20));
    expect(slow.numbers()).toEqual([0]);
    slow.letGo();
    await vi.waitFor(() => expect(slow.numbers()).toEqual(range(0, 20)));
    expect(reads()).toBeGreaterThan(0);
    await bring('counted', 21);
    await vi.waitFor(() => expect(slow.numbers()).toEqual(range(0, 21)));
  });

  test('waits where nobody has taken what came', async () => {
    const { store, bring, reads } = handFed();
    const shared = shareSubscription(store, { maxWaiting: 4 });
    const only = follower(null);
    shared.subscribe(only.options);
    await bring('counted', 0);
    only.hold();
    let isTaken = false;
    const brought = bring('counted', 1).then(() => {
      isTaken = true;
    });
    await new Promise(setImmediate);
    expect(isTaken).toBe(false);
    only.letGo();
    await brought;
    expect([only.numbers(), reads()]).toEqual([[0, 1], 0]);
  });

  test('lets one end at what he cannot take, and nobody else', async () => {
    const { store, bring } = handFed();
    const shared = shareSubscription(store);
    const [sound, poisoned] = [follower(null), follower(null, { poison: 2 })];
    for (const { options } of [sound, poisoned]) shared.subscribe(options);
    await bring('counted', 1);
    await bring('counted', 2);
    await bring('counted', 3);
    await vi.waitFor(() => expect(sound.numbers()).toEqual([1, 2, 3]));
    expect([poisoned.numbers(), poisoned.failures.map(String), sound.failures]).toEqual([[1], ['Error: poison'], []]);
  });

  test('ends all where the log cannot be read on, and begins anew for who comes then', async () => {
    const { store, feeding, bring, opened } = handFed();
    const shared = shareSubscription(store);
    const both = [follower(null), follower(null)];
    for (const { options } of both) shared.subscribe(options);
    await bring('counted', 1);
    const damage = new StoreDamaged('here');
    feeding[0]?.failed(damage);
    await vi.waitFor(() => expect(both.map(({ failures }) => failures)).toEqual([[damage], [damage]]));
    shared.subscribe(follower(1n).options);
    expect(opened()).toBe(2);
  });

  test('does not believe a node that is behind', async () => {
    const { store, bring, hide } = handFed();
    const shared = shareSubscription(store, { retryMs: 1 });
    shared.subscribe(follower(null).options);
    await bring('counted', 1, 2, 3);
    await bring('counted', 4);
    hide(2, 3);
    const late = follower(null);
    shared.subscribe(late.options);
    await vi.waitFor(() => expect(late.seen.length).toBeGreaterThanOrEqual(3));
    expect(late.numbers().slice(0, 3)).toEqual([1, 2, 3]);
  });

  test('does not wait for ever for an event that was removed since', async () => {
    const { store, bring, hide } = handFed();
    const shared = shareSubscription(store, { retryMs: 1 });
    shared.subscribe(follower(null).options);
    await bring('counted', 1, 2, 3);
    await bring('counted', 4);
    hide(2);
    const late = follower(null);
    shared.subscribe(late.options);
    await vi.waitFor(() => expect(late.numbers()).toEqual([1, 2, 4]));
  });

  test('reads a log once for all who begin again together', async () => {
    const { store, bring, reads } = handFed();
    const shared = shareSubscription(store);
    shared.subscribe(follower(null).options);
    await bring('counted', ...range(1, 5_000));
    await bring('counted', 5_001);
    const many = range(1, 6).map(() => follower(null));
    for (const { options } of many) shared.subscribe(options);
    await vi.waitFor(() => expectAll(many, 5_001));
    expect(reads()).toBeLessThan(12);
  });

  test('of another log feeds nobody until he has subscribed again', async () => {
    const { store, feeding, bring } = handFed();
    const shared = shareSubscription(store);
    const before = follower(null);
    const subscription = shared.subscribe(before.options);
    await bring('counted', 1, 2, 3);
    await shared.leave();
    expect(feeding).toHaveLength(0);
    const after = follower(null);
    shared.subscribe(after.options);
    await bring('counted', 4);
    await vi.waitFor(() => expect(after.numbers()).toEqual([4]));
    await subscription.close();
    expect(feeding).toHaveLength(1);
    expect([before.numbers(), before.failures]).toEqual([[1, 2, 3], []]);
  });
});

const expectAll = (many: readonly ReturnType<typeof follower>[], count: number): void => {
  for (const { seen } of many) expect(seen).toHaveLength(count);
};

type Step =
  | { readonly do: 'append'; readonly count: number }
  | { readonly do: 'subscribe'; readonly place: number; readonly poison: number | null; readonly isSlow: boolean }
  | { readonly do: 'hold' | 'let go' | 'close'; readonly whom: number }
  | { readonly do: 'outage' }
  | { readonly do: 'turn' };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('append' as const), count: fc.integer({ min: 1, max: 9 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('subscribe' as const),
      place: fc.nat(60),
      poison: fc.option(fc.nat(60)),
      isSlow: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('hold' as const, 'let go' as const, 'close' as const),
      whom: fc.nat(9),
    }),
  },
  { weight: 3, arbitrary: fc.constantFrom<Step>({ do: 'outage' }, { do: 'turn' }) },
);

test('is to each follower as one of its own: what comes after its place, in order, all of it and once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 12 }), async (steps, maxWaiting) => {
      const store = memoryStore({
        delay: () => new Promise((resolve) => setImmediate(resolve)),
      });
      let open = 0;
      const counted: Pick<EventStore, 'subscribe' | 'readAll'> = {
        readAll: store.readAll,
        subscribe(options) {
          open++;
          const subscription = store.subscribe(options);
          return { close: () => subscription.close().then(() => void open--) };
        },
      };
      const shared = shareSubscription(counted, { maxWaiting, retryMs: 1 });
      const followers: (ReturnType<typeof follower> & { poison: number | null; close(): Promise<void> })[] = [];
      const closed = new Set<(typeof followers)[number]>();
      let n = 0;
      for (const each of steps) {
        if (each.do === 'append') {
          store.plant(
            'counter-a',
            Array.from({ length: each.count }, () => event(n++)),
          );
        } else if (each.do === 'subscribe') {
          const after = store.log[each.place]?.position ?? null;
          const { poison, isSlow } = each;
          const made = follower(after, { isSlow, ...(poison !== null && { poison }) });
          followers.push({ ...made, poison, close: shared.subscribe(made.options).close });
        } else if (each.do === 'outage') {
          store.available = !store.available;
        } else if (each.do === 'turn') {
          for (let i = 0; i < 4; i++) await new Promise(setImmediate);
        } else if ('whom' in each) {
          const who = followers[each.whom];
          if (each.do === 'hold') who?.hold();
          else who?.letGo();
          if (each.do === 'close' && who) {
            closed.add(who);
            await who.close();
          }
        }
        // One that is closed has to go before the next one is opened.
        expect(open).toBeLessThanOrEqual(2);
      }
      store.available = true;
      for (const each of followers) each.letGo();
      store.plant('counter-a', [event(n++)]);
      for (const each of followers) {
        const after = each.options.after;
        const wanted = store.log.filter(({ position }) => after === null || position > after).map(numberOf);
        const poison = each.poison === null ? -1 : wanted.indexOf(each.poison);
        const due = poison < 0 ? wanted : wanted.slice(0, poison);
        if (closed.has(each)) expect(due.slice(0, each.seen.length)).toEqual(each.numbers());
        else {
          await vi.waitFor(() => expect(each.numbers()).toEqual(due));
          await vi.waitFor(() => expect(each.failures.map(String)).toEqual(poison < 0 ? [] : ['Error: poison']));
        }
      }
      for (const each of followers) await each.close();
      expect(open).toBe(0);
    }),
    { numRuns: 150 },
  );
});
