import { afterEach, describe, expect, test, vi } from 'vitest';
import type { ConnectOptions } from '../../src/eventstoredb/client/connect-options.ts';
import { event, listen } from '../support/events.ts';
import { clientError, fakeClient, storeOfClient } from '../support/fake-client.ts';

const quick: ConnectOptions = { callMs: 20, totalMs: 10_000, retryMs: [1, 2], resubscribeMs: [1, 2] };
const lost = clientError('14 UNAVAILABLE: read ECONNRESET', { code: 14 });

const stage = (options: ConnectOptions = {}) => {
  const fake = fakeClient();
  return Object.assign(fake, { store: storeOfClient(fake.client, { ...quick, ...options }) });
};

afterEach(() => void vi.useRealTimers());

describe('subscription', () => {
  const at = (position: number) => ({ commit: BigInt(position), prepare: BigInt(position) });

  test.each<[string, (s: Awaited<ReturnType<ReturnType<typeof fakeClient>['subscription']>>) => void]>([
    ['an error', (s) => void s.emit('error', lost)],
    ['an end that nobody asked for', (s) => void s.end()],
    ['a close', (s) => void s.destroy()],
    ['an event that cannot be understood', (s) => void s.write({})],
  ])('is opened again from the last delivered position after %s', async (_, lose) => {
    const { store, subscription } = stage();
    const heard = listen(store);
    const first = await subscription(1);
    expect(first.from).toBe('start');
    first.event(1);
    first.event(2);
    await heard.until(2);
    lose(first);
    const second = await subscription(2);
    expect(second.from).toEqual(at(2));
    // A server that sends again what was delivered already is not believed.
    for (const n of [1, 2, 3, 3]) second.event(n);
    await heard.until(3);
    expect(heard.numbers()).toEqual([1, 2, 3]);
    expect(first.isUnsubscribed).toBe(true);
    await heard.close();
    await store.close();
  });

  test('tells of each loss, and of each connection but the first: behind it another log may answer', async () => {
    const { store, subscription } = stage();
    const told: string[] = [];
    const heard = listen(store, { doubted: () => told.push('doubted') });
    const first = await subscription(1);
    first.emit('confirmation');
    first.event(1);
    await heard.until(1);
    expect(told).toHaveLength(0);
    first.emit('error', lost);
    expect(told).toHaveLength(1);
    const second = await subscription(2);
    expect(told).toHaveLength(1);
    second.emit('confirmation');
    expect(told).toHaveLength(2);
    await heard.close();
    expect(told).toHaveLength(2);
  });

  test('delivers what had come before the loss, and asks for what lies behind that', async () => {
    const { store, subscription } = stage();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const heard = listen(store, { deliver: () => held });
    const first = await subscription(1);
    first.event(1);
    await heard.begun(1);
    first.event(2);
    first.event(3);
    await new Promise(setImmediate);
    first.emit('error', lost);
    release();
    expect((await subscription(2)).from).toEqual(at(3));
    expect(heard.numbers()).toEqual([1, 2, 3]);
    await heard.close();
  });

  test('says "caught up" only behind the events that came before the message', async () => {
    const { store, subscription } = stage({ deliveryCap: 2 });
    const order: string[] = [];
    const heard = listen(store, {
      async deliver(batch) {
        await new Promise(setImmediate);
        order.push(...batch.map(({ data }) => String(data.n)));
      },
      caughtUp: () => order.push('caught up'),
    });
    const first = await subscription(1);
    for (let n = 1; n <= 9; n++) first.event(n);
    first.emit('caughtUp');
    await heard.caughtUp(1);
    expect(order).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9', 'caught up']);
    await heard.close();
  });

  test('does not say "caught up" while events wait inside the stream', async () => {
    const { store, subscription } = stage();
    let times = 0;
    const heard = listen(store, { caughtUp: () => times++ });
    const first = await subscription(1);
    first.pause();
    first.event(1);
    first.event(2);
    first.emit('caughtUp');
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect(times).toBe(0);
    first.resume();
    await heard.caughtUp(1);
    expect(heard.numbers()).toEqual([1, 2]);
    await heard.close();
  });

  test('pauses a stream that is faster than its deliveries', async () => {
    const { store, subscription } = stage({ deliveryCap: 4 });
    const sizes: number[] = [];
    let release = (): void => {};
    const heard = listen(store, {
      deliver: (batch) => {
        sizes.push(batch.length);
        return new Promise((resolve) => {
          release = resolve;
        });
      },
    });
    const first = await subscription(1);
    for (let n = 1; n <= 200; n++) first.event(n);
    await heard.begun(1);
    await new Promise(setImmediate);
    expect(first.isPaused()).toBe(true);
    for (let next = 2; next <= 50; next++) {
      release();
      await heard.begun(next);
      const taken = 200 - first.readableLength - first.writableLength;
      expect(taken - heard.events.length).toBeLessThanOrEqual(12);
    }
    release();
    await heard.until(200);
    expect(Math.max(...sizes)).toBe(4);
    await heard.close();
  });

  test('ends with refused credentials, and goes on after everything else', async () => {
    const { store, subscription } = stage();
    const heard = listen(store);
    (await subscription(1)).emit('error', clientError('self-signed certificate', { code: 14 }));
    (await subscription(2)).emit('error', clientError('', { type: 'access-denied', code: 7 }));
    expect((await heard.failed).message).toMatch(/ACL/);
    await heard.close();
  });

  test('waits longer and longer, up to a bound, and from the start again after an event', async () => {
    vi.useFakeTimers();
    vi.spyOn(Math, 'random').mockReturnValue(1);
    const { store, subscriptions } = stage({ resubscribeMs: [200, 1000] });
    const heard = listen(store);
    const waits: number[] = [];
    const lose = async (): Promise<void> => {
      const count = subscriptions.length;
      subscriptions.at(-1)!.emit('error', lost);
      let waited = 0;
      for (; subscriptions.length === count; waited += 100) await vi.advanceTimersByTimeAsync(100);
      waits.push(waited);
    };
    for (let round = 0; round < 5; round++) await lose();
    subscriptions.at(-1)!.event(1);
    await vi.advanceTimersByTimeAsync(0);
    await lose();
    expect(waits).toEqual([200, 400, 800, 1000, 1000, 200]);
    await heard.close();
    vi.restoreAllMocks();
  });

  test('does not wait out its time when the store has answered somebody else', async () => {
    const { store, subscriptions, subscription } = stage({ resubscribeMs: [600_000, 600_000] });
    const heard = listen(store);
    subscriptions[0]!.emit('error', lost);
    await new Promise(setImmediate);
    await store.append('a-1', [event(1)], 'no_stream');
    await subscription(2);
    await heard.close();
  });

  test('that is not confirmed, or goes silent while events are due, is opened again', async () => {
    vi.useFakeTimers();
    const { store, subscriptions, answers } = stage({ confirmMs: 1_000, silenceMs: 5_000 });
    const heard = listen(store);
    await vi.advanceTimersByTimeAsync(1_010);
    expect(subscriptions).toHaveLength(2);
    subscriptions[1]!.emit('confirmation');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(subscriptions).toHaveLength(2);
    answers.push({ revision: 0n, position: 7n });
    await store.append('a-1', [event(1)], 'no_stream');
    await vi.advanceTimersByTimeAsync(5_010);
    expect(subscriptions).toHaveLength(3);
    subscriptions[2]!.emit('confirmation');
    subscriptions[2]!.event(7);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(subscriptions).toHaveLength(3);
    await heard.close();
  });
});
