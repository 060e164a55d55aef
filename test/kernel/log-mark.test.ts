import { describe, expect, test } from 'vitest';
import { lasts, whose } from '../../src/domain/streams.ts';
import { markLog } from '../../src/kernel/followers/log-mark.ts';
import { shareSubscription } from '../../src/kernel/followers/shared-subscription.ts';
import { oursOf } from '../../src/kernel/store/ownership.ts';
import { StoreUnavailable } from '../../src/kernel/store/store.ts';
import { begun, write } from '../audit/log/scene.ts';

const ours = oursOf(whose);
const log = { logId: 'this', lasts, ours };

/** Follows a log of some organizations and records of use. */
const stage = async () => {
  const store = await begun();
  for (let n = 0; n < 5; n++) write(store, n % 2 === 0 ? 0 : 2, n);
  const mark = await markLog(store, log);
  const follow = async () => {
    const shared = shareSubscription(store, mark);
    let came = (): void => {};
    const deliver = async (): Promise<void> => came();
    await new Promise<void>((caughtUp, failed) => {
      shared.subscribe({ after: null, deliver, caughtUp, failed });
    });
    return () =>
      new Promise<void>((resolve) => {
        came = resolve;
      });
  };
  return { store, mark, follow };
};

/** A store’s own clock differs from copy to copy, and so do the ids of events. */
const grow = (store: Awaited<ReturnType<typeof begun>>, count: number): void => {
  for (let n = 0; n < count; n++) write(store, 0, 50 + n);
};

describe('a log behind a lost connection', () => {
  test('is doubted, and no more once it is known to be the same', async () => {
    const { store, mark, follow } = await stage();
    await follow();
    expect(mark.isDoubted).toBe(false);
    store.goBack(store.log.length);
    expect(mark.isDoubted).toBe(true);
    expect(await mark.whyAnother()).toBeUndefined();
    expect(mark.isDoubted).toBe(false);
  });

  test('stays doubted where nobody answers, or the connection was lost again meanwhile', async () => {
    const { store, mark } = await stage();
    mark.doubted();
    store.available = false;
    await expect(mark.whyAnother()).rejects.toThrow(StoreUnavailable);
    expect(mark.isDoubted).toBe(true);
    store.available = true;
    const asked = mark.whyAnother();
    mark.doubted();
    await asked;
    expect(mark.isDoubted).toBe(true);
  });

  test.each([0, 1, 40])(
    'is another where what came last is gone, whatever has been written since: %i events',
    async (more) => {
      const { store, mark, follow } = await stage();
      await follow();
      store.goBack(store.log.length - 1);
      grow(store, more);
      expect(await mark.whyAnother()).toMatch(/^the log (ends before|has (no|another) event at) its place$/);
    },
  );

  test('is another where an event is lost that had come only since', async () => {
    const { store, mark, follow } = await stage();
    const next = await follow();
    const before = store.log.length;
    const delivered = next();
    write(store, 0, 7);
    await delivered;
    store.goBack(before);
    grow(store, 3);
    expect(await mark.whyAnother()).toBeDefined();
  });

  test('is the same where an event has grown old and was removed', async () => {
    const { store, mark, follow } = await stage();
    write(store, 2, 7);
    await follow();
    store.scavenge(store.log.at(-1)!);
    grow(store, 1);
    expect(await mark.whyAnother()).toBeUndefined();
  });

  test('is followed anew once it has been forgotten', async () => {
    const { store, mark, follow } = await stage();
    await follow();
    store.goBack(3);
    mark.forget();
    expect(mark.isDoubted).toBe(false);
    expect(await mark.whyAnother()).toBeUndefined();
    await follow();
    store.goBack(2);
    expect(await mark.whyAnother()).toBeDefined();
  });
});
