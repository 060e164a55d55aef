import { describe, expect, test } from 'vitest';
import { tiers } from '../../src/domain/organization/tiers.ts';
import { countRequest, start } from '../../src/limits/count-request.ts';
import { creditWindows, inferenceWindows, plansOf } from '../../src/limits/families.ts';
import { inspect } from '../../src/limits/inspect.ts';
import { Plans } from '../../src/limits/record/kind.ts';
import { Slab } from '../../src/limits/record/slab.ts';
import { reserve } from '../../src/limits/reserve.ts';
import { release, settle } from '../../src/limits/settle.ts';
import { RecordSweep } from '../../src/limits/sweep.ts';
import type { Ticket } from '../../src/limits/window/ticket.ts';
import { limitSubject, type WindowStore } from '../../src/limits/window/window-store.ts';

const day = 86_400_000;
const sweepAll = (store: WindowStore, now: number) => {
  // Keys, then their projects, then their organizations.
  return new RecordSweep(store).sweep(now, 1_000_000);
};
const visit = (store: WindowStore, n: number, now: number) => {
  const me = limitSubject(`key_${n}`, `proj_${n >> 2}`, `org_${n >> 4}`);
  release(store, start(store, me, now) as Ticket);
  return me;
};

describe('records', () => {
  test('are handed out once and used again after a day of rest', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    for (let n = 0; n < 32; n++) visit(store, n, 0);
    expect(store.size).toBe(32 + 8 + 2);
    const bytes = store.slab.bytes;
    expect(sweepAll(store, day)).toBe(0);
    expect(sweepAll(store, day + 600_000)).toBe(42);
    expect(store.size).toBe(0);
    for (let n = 96; n < 128; n++) visit(store, n, day + 700_000);
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

  test('whose memory was given to somebody else are not counted in through an old subject', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    const old = visit(store, 0, 0);
    const { record } = old;
    sweepAll(store, 2 * day);
    // Enough newcomers to take all memory that was freed.
    for (let n = 16; n < 32; n++) visit(store, n, 2 * day);
    for (let attempt = 0; attempt < 5; attempt++) countRequest(store, old, 2 * day);
    expect(old.record).not.toBe(record);
    for (let n = 16; n < 32; n++) {
      expect(inspect(store, 'key', `key_${n}`, 2 * day)?.windows[0]?.used).toBe(1);
    }
    expect(inspect(store, 'key', 'key_0', 2 * day)?.windows[0]?.used).toBe(5);
  });

  test('begin empty even in memory that was full', () => {
    const store = inferenceWindows({ tierOf: () => 0 });
    const me = limitSubject('key_0', 'proj_0', 'org_0');
    for (let n = 0; n < 80; n++) countRequest(store, me, n * 700);
    settle(store, reserve(store, start(store, me, 100_000) as Ticket, 500, 100_000) as Ticket, 500);
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
    visit(store, 0, 0);
    for (let n = 0; n < 60_000; n++) visit(store, n, 1);
    expect(store.slab.i32.length).toBeGreaterThan(10 * 2 ** 20);
    expect(inspect(store, 'key', 'key_0', 1)?.windows[0]?.used).toBe(2);
    expect(inspect(store, 'key', 'key_59999', 1)?.windows[0]?.used).toBe(1);
  });

  test('a whole free-tier key with its share of the rest is no more than 1 KiB, one of tier 5 no more than 4', () => {
    const share = (tier: number) => {
      const [key, project, organization] = new Plans(new Slab(), 3, plansOf(tiers)).of(tier).kinds;
      return (key!.units + project!.units / 4 + organization!.units / 16) * 16;
    };
    expect(share(0)).toBeLessThanOrEqual(1_024);
    expect(share(5)).toBeLessThanOrEqual(4_096);
  });
});
