import { expect, test } from 'vitest';
import { events, fresh, numberOf, refusal } from '../events.ts';
import { hear } from '../hear.ts';
import { theClient } from '../target.ts';

/** What both clients are asked. */
export function subscribeContract(): void {
  test('31 a subscription begins behind the revision or position given, at the start or at the end', async () => {
    const stream = fresh();
    await theClient().appendToStream(stream, events(3));
    const second = await theClient().appendToStream(stream, events(2, 3));
    const from = async (options: object, count: number) => {
      const heard = hear(theClient().subscribeToStream(stream, options));
      await heard.until(({ said, events }) => said.includes('caughtUp') && events.length >= count);
      await heard.stop();
      return heard.events.map(numberOf);
    };
    expect(await from({ fromRevision: 'start' }, 5)).toEqual([0, 1, 2, 3, 4]);
    expect(await from({ fromRevision: 1n }, 3)).toEqual([2, 3, 4]);
    expect(await from({ fromRevision: 'end' }, 0)).toEqual([]);
    const all = hear(theClient().subscribeToAll({ fromPosition: second.position! }));
    await all.caughtUp();
    await theClient().appendToStream(stream, events(1, 5));
    await all.until(({ events }) => events.some(({ event }) => event!.streamId === stream));
    await all.stop();
    expect(all.events.filter(({ event }) => event!.streamId === stream).map(numberOf)).toEqual([5]);
  });

  test('33 it says once that it has caught up, after the past and before what comes', async () => {
    const stream = fresh();
    await theClient().appendToStream(stream, events(2));
    const heard = hear(theClient().subscribeToStream(stream));
    await heard.caughtUp();
    for (let i = 2; i < 20; i++) await theClient().appendToStream(stream, events(1, i));
    await heard.until(({ events }) => events.length === 20);
    expect(heard.events.map(numberOf)).toEqual(Array.from({ length: 20 }, (_, i) => i));
    expect(heard.said.filter((what) => what === 'caughtUp')).toHaveLength(1);
    await heard.stop();
  });

  test('37 a stream that does not exist yet is waited for', async () => {
    const stream = fresh();
    const heard = hear(theClient().subscribeToStream(stream));
    await heard.caughtUp();
    await theClient().appendToStream(stream, events(2));
    await heard.until(({ events }) => events.length === 2);
    expect(heard.events.map(numberOf)).toEqual([0, 1]);
    await heard.stop();
  });

  test('38 a tombstone while live is given out and then ends it', async () => {
    const stream = fresh();
    await theClient().appendToStream(stream, events(1));
    const heard = hear(theClient().subscribeToStream(stream));
    await heard.caughtUp();
    await theClient().tombstoneStream(stream);
    expect((await heard.error).type).toBe('stream-deleted');
    expect(heard.events.map(({ event }) => event!.type)).toEqual(['counted', '$streamDeleted']);
    expect((await refusal(theClient().appendToStream(stream, events(1)))).type).toBe('stream-deleted');
  });
}
