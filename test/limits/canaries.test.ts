import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { requestsPerMinute, tokensPerMinute } from '../../src/limits/record/metrics.ts';
import type { Ticket } from '../../src/limits/window/ticket.ts';
import type { WindowStore } from '../../src/limits/window/window-store.ts';
import { checkMemory } from './memory.ts';
import { histories, live } from './operations.ts';
import { World } from './world.ts';

vi.setConfig({ testTimeout: 120_000 });

/** Whether histories tell a store with this damage from a sound one. */
const noticed = (damage: (world: World) => void): boolean =>
  fc.check(
    fc.property(histories(250), (history) => {
      const world = new World();
      damage(world);
      live(world, history);
      checkMemory(world);
    }),
    { numRuns: 60, seed: 11, endOnFailure: true },
  ).failed;

const raise = ({ plans }: WindowStore, metric: number): void => {
  plans.of(0).kinds[0]!.limits[metric]!++;
};

/** Every protection once switched off: the comparison with plain lists must see it, or it sees nothing. */
describe('canary: histories notice', () => {
  test('nothing in a sound store', () => expect(noticed(() => {})).toBe(false));

  test('a clock that is let go back', () =>
    expect(
      noticed(({ store }) => {
        const { time } = store;
        const { set } = time;
        time.set = (nowMs) => {
          time.now = 0;
          set.call(time, nowMs);
        };
      }),
    ).toBe(true));

  test('a ticket that can be ended twice', () =>
    expect(
      noticed(({ store }) => {
        const { take } = store.tickets;
        store.tickets.take = (key, started): Ticket =>
          Object.defineProperty(take.call(store.tickets, key, started), 'isOpen', { get: () => true, set: () => {} });
      }),
    ).toBe(true));

  test('a credential that goes on counting in a record that was freed', () =>
    expect(
      noticed(({ store }) => {
        const keys = store.records[0]!;
        const { set } = keys;
        keys.set = (id, record) => set.call(keys, id, Object.defineProperty(record, 'freed', { value: false }));
      }),
    ).toBe(true));

  test('a limit on requests that is one too high', () =>
    expect(
      noticed(({ store }) => {
        raise(store, requestsPerMinute);
      }),
    ).toBe(true));

  test('a limit on tokens that is one too high', () =>
    expect(
      noticed(({ store }) => {
        raise(store, tokensPerMinute);
      }),
    ).toBe(true));

  test('a record that is freed while it is counted in', () =>
    expect(
      noticed((world) => {
        world.sweep = () => {
          const keys = world.store.records[0]!;
          keys.get('k0')?.free();
          keys.delete('k0');
        };
      }),
    ).toBe(true));

  test('memory of somebody before, only where it is not emptied', () => {
    const dirty = ({ store }: World): void => {
      const { take } = store.slab;
      store.slab.take = (units) => {
        const address = take.call(store.slab, units);
        store.slab.i32.fill(7, address, address + units * 4);
        return address;
      };
    };
    expect(noticed(dirty)).toBe(false);
    expect(
      noticed((world) => {
        dirty(world);
        for (const { minuteTokens } of world.store.plans.of(0).kinds) minuteTokens!.clear = () => {};
      }),
    ).toBe(true);
  });
});
