import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { rpmField, tpmField } from '../../src/limits/window/kinds.ts';
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

/** Every protection once switched off: the comparison with plain lists must see it, or it sees nothing. */
describe('canary: histories notice', () => {
  test('nothing in a sound store', () => expect(noticed(() => {})).toBe(false));

  test('a clock that is let go back', () =>
    expect(
      noticed(({ store }) => {
        const { setNow } = store;
        store.setNow = (nowMs) => {
          store.now = 0;
          setNow.call(store, nowMs);
        };
      }),
    ).toBe(true));

  test('a ticket that can be ended twice', () =>
    expect(
      noticed(({ store }) => {
        store.tickets.isOpen = (ticket) => store.tickets.pageOf(ticket) !== undefined;
      }),
    ).toBe(true));

  test('a handle whose generation is not looked at', () =>
    expect(
      noticed(({ store }) => {
        store.slots.slotOf = (handle) => (handle === 0 ? -1 : handle & 0x3ff_ffff);
      }),
    ).toBe(true));

  test('a limit on requests that is one too high', () =>
    expect(
      noticed(({ store }) => {
        store.kinds.words[rpmField]!++;
      }),
    ).toBe(true));

  test('a limit on tokens that is one too high', () =>
    expect(
      noticed(({ store }) => {
        store.kinds.words[tpmField]!++;
      }),
    ).toBe(true));

  test('a record that is freed while it is counted in', () =>
    expect(
      noticed((world) => {
        world.sweep = () => {
          const { slots } = world.store;
          const slot = slots.find(0, 'k0');
          if (slot !== undefined) slots.release(0, slot);
        };
      }),
    ).toBe(true));

  test('slots of memory that are not emptied before they are used again', () =>
    expect(
      noticed(({ store }) => {
        const { take } = store.slab;
        store.slab.take = (units) => {
          const address = take.call(store.slab, units);
          store.slab.i32.fill(7, address + 16, address + units * 4);
          return address;
        };
      }),
    ).toBe(true));
});
