import { describe, expect, test } from 'vitest';
import { tiers } from '../../src/domain/tiers.ts';
import { countRequest, start } from '../../src/limits/count-request.ts';
import { creditWindows, inferenceWindows, plansOf } from '../../src/limits/families.ts';
import { inspect } from '../../src/limits/inspect.ts';
import { reserve } from '../../src/limits/reserve.ts';
import { release, settle } from '../../src/limits/settle.ts';
import { sweepSlots } from '../../src/limits/sweep.ts';
import { layoutOf } from '../../src/limits/window/layout.ts';
import { Slots } from '../../src/limits/window/slots.ts';
import type { Ticket } from '../../src/limits/window/ticket.ts';
import { limitSubject, type WindowStore } from '../../src/limits/window/window-store.ts';

const day = 86_400_000;
const sweepAll = (store: WindowStore, now: number) => {
  let freed = 0;
  // Three rounds: keys, then their projects, then their organizations.
  for (let round = 0; round < 3; round++) freed += sweepSlots(store, now, 1_000_000);
  return freed;
};
const visit = (store: WindowStore, n: number, now: number) => {
  const me = limitSubject(`key_${n}`, `proj_${n >> 2}`, `org_${n >> 4}`);
  release(store, start(store, me, now) as Ticket);
  return me;
};

describe('slots', () => {
  test('are handed out once and used again after a day of rest', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    for (let n = 0; n < 32; n++) visit(store, n, 0);
    expect(store.slots.live).toBe(32 + 8 + 2);
    const bytes = store.slab.bytes;
    expect(sweepAll(store, day)).toBe(0);
    expect(sweepAll(store, day + 600_000)).toBe(42);
    expect(store.slots.live).toBe(0);
    for (let n = 96; n < 128; n++) visit(store, n, day + 700_000);
    expect(store.slots.length).toBe(42);
    expect(store.slab.bytes).toBe(bytes);
  });

  test('of a family that counts minutes alone are free after the minute', () => {
    const store = creditWindows();
    countRequest(store, limitSubject('k', null, 'o'), 0);
    expect(sweepAll(store, 59_999)).toBe(0);
    expect(sweepAll(store, 60_000)).toBe(2);
  });

  test('stay while anything is in flight, counted, or below', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    const ticket = start(store, limitSubject('k', 'p', 'o'), 0);
    expect(sweepAll(store, 3 * day)).toBe(0);
    release(store, ticket as Ticket);
    start(store, limitSubject('k2', 'p', 'o'), 3 * day);
    expect(sweepAll(store, 3 * day)).toBe(1);
    expect(inspect(store, 'project', 'p', 3 * day)).not.toBeNull();
  });

  test('that were given to somebody else are not touched through an old handle', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    const old = visit(store, 0, 0);
    const { handle } = old.owner;
    sweepAll(store, 2 * day);
    // Enough newcomers to take every slot that was freed.
    for (let n = 16; n < 32; n++) visit(store, n, 2 * day);
    expect(store.slots.slotOf(handle)).toBe(-1);
    for (let attempt = 0; attempt < 5; attempt++) countRequest(store, old, 2 * day);
    expect(old.owner.handle).not.toBe(handle);
    for (let n = 16; n < 32; n++) {
      expect(inspect(store, 'key', `key_${n}`, 2 * day)?.windows[0]?.used).toBe(1);
    }
    expect(inspect(store, 'key', 'key_0', 2 * day)?.windows[0]?.used).toBe(5);
  });

  test('begin empty even in memory that was full', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    const me = limitSubject('key_0', 'proj_0', 'org_0');
    for (let n = 0; n < 80; n++) countRequest(store, me, n * 700);
    settle(
      store,
      reserve(store, start(store, me, 100_000) as Ticket<'admitted'>, 500, 100_000) as Ticket<'reserved'>,
      500,
    );
    sweepAll(store, 2 * day);
    visit(store, 1, 2 * day);
    for (const [scope, id] of [
      ['key', 'key_1'],
      ['project', 'proj_0'],
      ['organization', 'org_0'],
    ] as const) {
      const used = inspect(store, scope, id, 2 * day)!.windows.map((window) => window.used);
      expect(used.slice(0, 4)).toEqual([1, 1, 0, 0]);
    }
  });

  test('and the slab grows to tens of thousands without moving anything', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    const first = visit(store, 0, 0);
    const where = store.slots.address(store.slots.slotOf(first.owner.handle));
    for (let n = 0; n < 60_000; n++) visit(store, n, 1);
    expect(store.slab.i32.length).toBeGreaterThan(10 * 2 ** 20);
    expect(store.slots.pages).toHaveLength(2);
    expect(store.slots.address(store.slots.slotOf(first.owner.handle))).toBe(where);
    expect(inspect(store, 'key', 'key_0', 1)?.windows[0]?.used).toBe(2);
    expect(inspect(store, 'key', 'key_59999', 1)?.windows[0]?.used).toBe(1);
  });

  test('never come back once their generations are used up', () => {
    const slots = new Slots(1);
    const slot = slots.take(0, 'a', 1);
    slots.pages[0]![slot * 2 + 1] = 0x7ff_ffff;
    const last = slots.handleOf(slot);
    expect(slots.slotOf(last)).toBe(slot);
    slots.release(0, slot);
    expect(slots.take(0, 'b', 2)).not.toBe(slot);
  });

  test('a whole free-tier key with its share of the rest is no more than 1 KiB, one of tier 5 no more than 4', () => {
    const share = (tier: number) => {
      const [key, project, organization] = plansOf(tiers)[tier]!.map((limits) => layoutOf(limits).units * 16 + 8) as [
        number,
        number,
        number,
      ];
      return key + project / 4 + organization / 16;
    };
    expect(share(0)).toBeLessThanOrEqual(1_024);
    expect(share(5)).toBeLessThanOrEqual(4_096);
  });
});
