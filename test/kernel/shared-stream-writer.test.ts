import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sharedStreamWriter } from '../../src/kernel/commands/shared-stream-writer.ts';
import { type NewEvent, StoreUnavailable, WrongRevision } from '../../src/kernel/store/store.ts';
import { event } from '../support/events.ts';
import { type Fault, memoryStore } from '../support/memory-store.ts';

const stream = 'usage-org_1_20261120';
const batchOf = (from: number, count: number): NewEvent[] => Array.from({ length: count }, (_, i) => event(from + i));

describe('a batch', () => {
  test('goes behind what is there, whoever wrote it', async () => {
    const store = memoryStore();
    store.plant(stream, [event(0), event(1)]);
    const { append } = sharedStreamWriter(store, 3600);
    expect((await append(stream, batchOf(2, 2))).revision).toBe(3);
    store.plant(stream, [event(4)]);
    expect((await append(stream, batchOf(5, 1))).revision).toBe(5);
    expect(store.log.map(({ data }) => data.n)).toEqual([0, 1, 2, 3, 4, 5]);
  });
  test('is kept for the time that was said, from the first one on; of each stream that is said once', async () => {
    const store = memoryStore();
    const said: [string, number, number][] = [];
    const { append } = sharedStreamWriter(
      {
        ...store,
        async limitAge(of, seconds) {
          said.push([of, seconds, store.log.length]);
          await store.limitAge(of, seconds);
        },
      },
      3600,
    );
    await append(stream, batchOf(0, 1));
    await append(stream, batchOf(1, 1));
    await append('denial-other', batchOf(2, 1));
    expect(said).toEqual([
      [stream, 3600, 0],
      ['denial-other', 3600, 2],
    ]);
  });
  test('that cannot be limited is not written, and is with the next attempt', async () => {
    const store = memoryStore();
    let isAway = true;
    const limitAge = async (): Promise<void> => {
      if (isAway) throw new StoreUnavailable('away');
    };
    const { append } = sharedStreamWriter({ ...store, limitAge }, 3600);
    await expect(append(stream, batchOf(0, 1))).rejects.toBeInstanceOf(StoreUnavailable);
    expect(store.log).toHaveLength(0);
    isAway = false;
    expect((await append(stream, batchOf(0, 1))).revision).toBe(0);
  });
  test('that failed is written once when it is sent again, wherever others have come meanwhile', async () => {
    for (const fault of ['lost', 'answer-lost', 'late'] as const) {
      let faults: Fault[] = [fault];
      let land = (): void => {};
      const store = memoryStore({
        fault: () => faults.shift() ?? 'none',
        delay: async (label) => {
          if (!label.startsWith('late')) return;
          await new Promise<void>((resolve) => {
            land = resolve;
          });
        },
      });
      const { append } = sharedStreamWriter(store, 3600);
      const failed = batchOf(0, 2);
      await expect(append(stream, failed)).rejects.toBeInstanceOf(StoreUnavailable);
      await append(stream, batchOf(2, 1));
      faults = [];
      await append(stream, failed);
      land();
      await new Promise((resolve) => setImmediate(resolve));
      expect(store.log.map(({ data }) => data.n).sort(), fault).toEqual([0, 1, 2]);
    }
  });
  test('gives way to others eight times and no more', async () => {
    let rivals = 8;
    const store = memoryStore({ fault: () => (rivals-- > 0 ? { rival: [event(9)] } : 'none') });
    await expect(sharedStreamWriter(store, 3600).append(stream, batchOf(0, 1))).rejects.toBeInstanceOf(WrongRevision);
    rivals = 7;
    await expect(sharedStreamWriter(store, 3600).append(stream, batchOf(0, 1))).resolves.toMatchObject({
      revision: 15,
    });
  });
});

test('whatever goes wrong, each batch is there once and whole when its sender has heard of it', async () => {
  const faults = fc.array(fc.constantFrom<Fault>('none', 'lost', 'answer-lost', { rival: [event(-1)] }), {
    maxLength: 30,
  });
  await fc.assert(
    fc.asyncProperty(
      faults,
      fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 8 }),
      async (plan, sizes) => {
        const left = [...plan];
        const store = memoryStore({
          fault: () => {
            const next = left.shift() ?? 'none';
            return typeof next === 'object' ? { rival: [event(-1)] } : next;
          },
        });
        const { append } = sharedStreamWriter(store, 3600);
        const batches = sizes.map((size, i) => batchOf(i * 10, size));
        const send = async (batch: readonly NewEvent[]): Promise<void> => {
          for (;;) {
            const error: unknown = await append(stream, batch).then(
              () => undefined,
              (failure: unknown) => failure,
            );
            if (error === undefined) return;
          }
        };
        await Promise.all(batches.map(send));
        const written = store.log.filter(({ data }) => data.n !== -1).map(({ id }) => id);
        expect([...written].sort()).toEqual(
          batches
            .flat()
            .map(({ id }) => id)
            .sort(),
        );
        for (const batch of batches) {
          const at = written.indexOf(batch[0]!.id);
          expect(written.slice(at, at + batch.length)).toEqual(batch.map(({ id }) => id));
        }
      },
    ),
    { numRuns: 300 },
  );
});
