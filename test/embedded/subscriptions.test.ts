import {
  type AllStreamSubscription,
  jsonEvent,
  type StreamSubscription,
  streamNameFilter,
} from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import type { Faults } from '../../src/embedded/faults.ts';
import { compileFilter } from '../../src/embedded/subscriptions/filter.ts';
import { collect, errorOf, numbered, openStore } from './store-under-test.ts';

const caughtUp = (subscription: StreamSubscription | AllStreamSubscription) =>
  new Promise<void>((resolve) => subscription.once('caughtUp', () => resolve()));

/** Reads a subscription until it has given out `count` events, or nothing has come for a while. */
function take(subscription: AllStreamSubscription | StreamSubscription, count: number): Promise<number[]> {
  return new Promise((resolve) => {
    const seen: number[] = [];
    const finish = () => {
      clearTimeout(idle);
      resolve(seen);
    };
    let idle = setTimeout(finish, 1500);
    subscription.on('data', ({ event }) => {
      seen.push((event!.data as { i: number }).i);
      clearTimeout(idle);
      idle = setTimeout(finish, 1500);
      if (seen.length === count) finish();
    });
  });
}

describe('a subscriber that does not keep up', () => {
  /** What reaches a reader that pauses while `total` events of 2 KB are written. */
  async function slow(faults: Faults, total: number) {
    const { client } = await openStore({ faults, limits: { liveBacklogBytes: 64 * 1024, liveBacklogMessages: 32 } });
    const subscription = client.subscribeToAll({ filter: streamNameFilter({ prefixes: ['slow-'] }) });
    await caughtUp(subscription);
    subscription.pause();
    for (let i = 0; i < total; i += 20) {
      const events = Array.from({ length: 20 }, (_, k) =>
        jsonEvent({ type: 'big', data: { i: i + k, p: 'x'.repeat(40_000) } }),
      );
      await client.appendToStream(`slow-${i % 3}`, events);
    }
    const seen = take(subscription, total);
    subscription.resume();
    const result = await seen;
    await subscription.unsubscribe();
    return result;
  }
  const TOTAL = 400;
  const inOrder = Array.from({ length: TOTAL }, (_, i) => i);

  test('misses nothing and sees nothing twice', async () => {
    expect(await slow({}, TOTAL)).toEqual(inOrder);
  });

  test('would miss events if they were not read back from disk', async () => {
    expect((await slow({ loseOnLag: true, forceLag: true }, TOTAL)).length).toBeLessThan(TOTAL);
  });
});

test('with every live batch going over the disk, 20 writers and 4 kinds of subscribers still agree', async () => {
  const { client } = await openStore({ faults: { forceLag: true, positionGaps: 50 } });
  const all = client.subscribeToAll({ filter: streamNameFilter({ prefixes: ['many-'] }) });
  const regex = client.subscribeToAll({ filter: streamNameFilter({ regex: '^many-' }) });
  const whole = client.subscribeToAll();
  const one = client.subscribeToStream('many-0');
  await Promise.all([all, regex, whole, one].map(caughtUp));
  const results = Promise.all([take(all, 400), take(regex, 400), take(whole, 400), take(one, 20)]);
  await Promise.all(
    Array.from({ length: 20 }, async (_, writer) => {
      for (let i = 0; i < 20; i++) await client.appendToStream(`many-${writer}`, numbered(writer * 100 + i));
    }),
  );
  const [byPrefix, byRegex, everything, ofOne] = await results;
  const log = (await collect(client.readAll())).map(({ event }) => (event!.data as { i: number }).i);
  expect(byPrefix).toEqual(log);
  expect(byRegex).toEqual(log);
  expect(everything).toEqual(log);
  expect(ofOne).toEqual(Array.from({ length: 20 }, (_, i) => i));
  await Promise.all([all, regex, whole, one].map((subscription) => subscription.unsubscribe()));
});

describe('checkpoints of a filtered subscription', () => {
  test('come every window times interval, grow, and lose nothing to who resumes from any of them', async () => {
    const { client } = await openStore();
    for (let i = 0; i < 10; i++) {
      await client.appendToStream(
        `mark-${i % 2}`,
        Array.from({ length: 20 }, (_, k) => numbered(i * 20 + k)),
      );
    }
    const marks: bigint[] = [];
    const filter = streamNameFilter({
      prefixes: ['mark-1'],
      maxSearchWindow: 10,
      checkpointInterval: 2,
      checkpointReached: (_, { commit }) => {
        marks.push(commit);
      },
    });
    const subscription = client.subscribeToAll({ filter });
    subscription.on('data', () => {});
    await caughtUp(subscription);
    await subscription.unsubscribe();
    expect(marks.length).toBe(11);
    expect(marks.every((mark, i) => i === 0 || mark >= marks[i - 1]!)).toBe(true);
    const log = await collect(client.readAll());
    for (const mark of marks) {
      const rest = log.filter(({ event }) => event!.streamId === 'mark-1' && event!.position!.commit > mark);
      const resumed = client.subscribeToAll({
        fromPosition: { commit: mark, prepare: mark },
        filter: streamNameFilter({ prefixes: ['mark-1'] }),
      });
      const seen: bigint[] = [];
      resumed.on('data', ({ event }) => seen.push(event!.position!.commit));
      await caughtUp(resumed);
      await resumed.unsubscribe();
      expect(seen).toEqual(rest.map(({ event }) => event!.position!.commit));
    }
  });

  test('come while live too', async () => {
    const { client } = await openStore();
    const marks: bigint[] = [];
    const filter = streamNameFilter({
      prefixes: ['nothing-'],
      checkpointReached: (_, { commit }) => {
        marks.push(commit);
      },
    });
    const subscription = client.subscribeToAll({ filter });
    subscription.on('data', () => {});
    await caughtUp(subscription);
    const { position } = await client.appendToStream(
      'other-1',
      Array.from({ length: 64 }, (_, i) => numbered(i)),
    );
    while (marks.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(marks.at(-1)).toBe(position!.commit);
    await subscription.unsubscribe();
  });
});

test('caught up is said once while nothing lags', async () => {
  const { client } = await openStore();
  await client.appendToStream('once-1', numbered(0));
  const subscription = client.subscribeToStream('once-1');
  let times = 0;
  subscription.on('caughtUp', () => times++);
  const seen = take(subscription, 30);
  await caughtUp(subscription);
  for (let i = 1; i < 30; i++) await client.appendToStream('once-1', numbered(i));
  expect(await seen).toHaveLength(30);
  expect(times).toBe(1);
  await subscription.unsubscribe();
});

test('300 subscriptions that come and go leave nothing behind', async () => {
  const { client } = await openStore({ limits: { subscriptions: 20 } });
  for (let i = 0; i < 300; i += 10) {
    const some = Array.from({ length: 10 }, () => client.subscribeToStream('gone-1'));
    await Promise.all(some.map(caughtUp));
    await Promise.all(
      some.map(async (subscription) => {
        const ended = new Promise((resolve) => subscription.once('end', resolve));
        subscription.on('data', () => {});
        await subscription.unsubscribe();
        await ended;
      }),
    );
  }
  // More than the limit at once is refused.
  const many = Array.from({ length: 21 }, () => client.subscribeToStream('gone-1'));
  const refused = await Promise.race(many.map(errorOf));
  expect(refused.code).toBe(8);
  await Promise.all(many.map((subscription) => subscription.unsubscribe()));
});

describe('a filter', () => {
  test('that only .NET understands is refused rather than misread', () => {
    for (const regex of ['(?>a)', '\\Aa', 'a\\Z', '(?#x)', 'a'.repeat(1025)]) {
      const request = { on: 'stream' as const, regex, prefixes: [], window: 32, checkpointMultiplier: 1 };
      expect(() => compileFilter(request, 1024)).toThrow();
    }
  });
});
