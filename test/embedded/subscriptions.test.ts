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

/** Reads a subscription until it has given out `count` events, or, where that is given, nothing has come for `idleMs`. */
function take(
  subscription: AllStreamSubscription | StreamSubscription,
  count: number,
  idleMs?: number,
): Promise<number[]> {
  return new Promise((resolve) => {
    const seen: number[] = [];
    const idle = idleMs === undefined ? undefined : setTimeout(() => resolve(seen), idleMs);
    subscription.on('data', ({ event }) => {
      seen.push((event!.data as { i: number }).i);
      idle?.refresh();
      if (seen.length < count) return;
      clearTimeout(idle);
      resolve(seen);
    });
  });
}

describe('a subscriber that does not keep up', () => {
  /** What reaches a reader that pauses while `total` events of 2 KB are written. */
  async function slow(faults: Faults, total: number, idleMs?: number) {
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
    const seen = take(subscription, total, idleMs);
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
    expect((await slow({ loseOnLag: true, forceLag: true }, TOTAL, 1500)).length).toBeLessThan(TOTAL);
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

test('more subscriptions than the limit allows are refused, until there is room again', async () => {
  const { client } = await openStore({ limits: { subscriptions: 20 } });
  const open = () => client.subscribeToStream('gone-1');
  const many = Array.from({ length: 20 }, open);
  await Promise.all(many.map(caughtUp));
  expect((await errorOf(open())).code).toBe(8);
  await many[0]!.unsubscribe();
  await new Promise((resolve) => many[0]!.on('data', () => {}).once('end', resolve));
  await caughtUp(open());
  expect((await errorOf(open())).code).toBe(8);
});

describe('a filter', () => {
  test('that only .NET understands is refused rather than misread', () => {
    for (const regex of ['(?x)a', '[a-z-[aeiou]]', 'a'.repeat(1025)]) {
      const request = { on: 'stream' as const, regex, prefixes: [], window: 32, checkpointMultiplier: 1 };
      expect(() => compileFilter(request, 1024)).toThrow();
    }
  });
});
