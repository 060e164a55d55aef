import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { countInactive, countRequest, start } from '../../src/limits/count-request.ts';
import { inspect, inspectModels } from '../../src/limits/inspect.ts';
import { restore } from '../../src/limits/snapshot/restore.ts';
import { isRefused } from '../../src/limits/window/ticket.ts';
import { limitSubject, WindowStore as Store, type WindowStoreOptions } from '../../src/limits/window/window-store.ts';
import { histories, live } from './operations.ts';
import { busy, drain, inferenceOf, used, wall } from './snapshots.ts';
import { ownOf, people, World } from './world.ts';

vi.setConfig({ testTimeout: 120_000 });

describe('a snapshot', () => {
  test('brings every window back on another monotonic clock', () => {
    const { store } = busy(5_000_000);
    const chunks = drain(store, wall, 5_002_000);
    const other = inferenceOf();
    expect(restore(other, chunks, wall + 3_000, 250)).toEqual({ records: 3, refused: [], halfFull: false });
    const tokensOfDay = [undefined, undefined, 600];
    expect(used(other, 250)).toEqual(tokensOfDay.map((day) => [21, 21, 0, 600, ...(day === undefined ? [] : [day])]));
    // The first attempt was 5 s before; the newest, and the tokens, 3 s. The bucket may last one second longer.
    expect(used(other, 250 + 55_000)[0]?.[0]).toBe(20);
    expect(used(other, 250 + 56_999)[0]).toEqual([1, 21, 0, 600]);
    expect(used(other, 250 + 57_000)[0]?.[0]).toBe(0);
    expect(used(other, 250 + 59_000)[0]?.[3]).toBe(0);
    expect(used(other, 86_400_000 - 10_000)[0]?.[1]).toBe(21);
    expect(used(other, 86_400_000 + 1_200_000)).toEqual(
      [0, 1, 2].map((s) => (s === 2 ? [0, 0, 0, 0, 0] : [0, 0, 0, 0])),
    );
  });

  test('holds what has changed since the last one, and everything when a new file begins', () => {
    const { store } = busy();
    expect(drain(store, wall, 3_000)).toHaveLength(1);
    expect(drain(store, wall, 3_000)).toEqual([]);
    for (let n = 0; n < 10; n++) countRequest(store, limitSubject(`k${n}`, `p${n}`, `o${n}`), 3_000);
    const chunks = drain(store, wall, 3_000, 7);
    expect(chunks).toHaveLength(Math.ceil(30 / 7));
    const other = inferenceOf();
    expect(restore(other, [Buffer.concat(chunks)], wall, 0).records).toBe(30);
    for (const record of store.all()) store.changed(record);
    expect(restore(inferenceOf(), drain(store, wall, 3_000), wall, 0).records).toBe(33);
  });

  test('replaces what an older chunk says of the same record', () => {
    const { store, me } = busy();
    const first = drain(store, wall, 3_000);
    countRequest(store, me, 4_000);
    const second = drain(store, wall + 1_000, 4_000);
    const other = inferenceOf();
    restore(other, [...first, ...second], wall + 1_000, 0);
    expect(used(other, 0)[0]).toEqual([22, 22, 0, 600]);
  });

  test('starts with nothing in flight, whatever was', () => {
    const store = inferenceOf();
    const me = limitSubject('k', 'p', 'o');
    for (let n = 0; n < 4; n++) start(store, me, 0);
    const other = inferenceOf();
    restore(other, drain(store, wall, 0), wall, 0);
    expect(used(other, 0)[0]?.[2]).toBe(0);
    expect(isRefused(start(other, limitSubject('k', 'p', 'o'), 0))).toBe(false);
  });

  test('of a wall clock that has gone back counts as taken just now', () => {
    const { store } = busy();
    const chunks = drain(store, wall, 2_000);
    const other = inferenceOf();
    restore(other, chunks, wall - 86_400_000, 0);
    expect(used(other, 57_999)[0]?.[0]).toBeGreaterThan(0);
  });

  test('tells of attempts alone in a few bytes each, whatever is in the records', () => {
    const { store, me } = busy();
    const whole = drain(store, wall, 3_000);
    for (let n = 0; n < 10; n++) countRequest(store, me, 3_000 + n);
    const inactive = limitSubject('k', 'p', 'o');
    countInactive(store, inactive, 3_010);
    const more = drain(store, wall + 1_000, 4_000);
    expect(Buffer.concat(more).length).toBe(60 + 11 * 8);
    const other = inferenceOf();
    expect(restore(other, [...whole, ...more], wall + 1_000, 0).records).toBe(3);
    expect(used(other, 0).map((windows) => windows?.slice(0, 2))).toEqual([
      [32, 32],
      [31, 31],
      [31, 31],
    ]);
  });

  test('whose attempts were too many to be kept has the records instead', () => {
    const store = inferenceOf(5);
    const me = limitSubject('k', 'p', 'o');
    countRequest(store, me, 0);
    const first = drain(store, wall, 0);
    for (let n = 0; n <= 2 ** 20; n++) countRequest(store, me, 100);
    const rest = drain(store, wall + 100, 100);
    const other = inferenceOf(5);
    expect(restore(other, [...first, ...rest], wall + 100, 0).records).toBe(6);
    expect(used(other, 0)).toEqual(used(store, 100));
  });

  test('of another run does not take its slots for those of this one', () => {
    const store = inferenceOf();
    countRequest(store, limitSubject('k1', 'p', 'o'), 0);
    const first = drain(store, wall, 0);
    const second = inferenceOf();
    const late = limitSubject('k2', 'p', 'o');
    countRequest(second, late, 0);
    drain(second, wall, 0);
    countRequest(second, late, 0);
    const other = inferenceOf();
    restore(other, [...first, ...drain(second, wall, 0)], wall, 0);
    expect(used(other, 0, ['k1'])[0]?.[0]).toBe(1);
  });

  test('follows a tier that changed while nobody ran', () => {
    const store = inferenceOf(5);
    const me = limitSubject('k', 'p', 'o');
    for (let n = 0; n < 500; n++) countRequest(store, me, n);
    const lower = inferenceOf(0);
    restore(lower, drain(store, wall, 500), wall, 0);
    expect(used(lower, 0)[0]?.slice(0, 2)).toEqual([60, 500]);
    // The 60 newest, from 440 ms on, at 500 ms.
    expect(used(lower, 59_939)[0]?.[0]).toBe(60);
    expect(used(lower, 59_940)[0]?.[0]).toBe(59);
  });

  test('never opens a window wider than it was, over any history', () => {
    fc.assert(
      fc.property(histories(80), fc.nat(200_000), fc.nat(5_000_000), fc.nat(70_000), (history, away, born, after) => {
        const world = new World();
        live(world, history);
        const { store, oracle } = world;
        const next = new Store({
          name: 'test',
          scopes: ['key', 'project', 'organization'],
          plans: oracle.plans,
          tierOf: (organization) => oracle.tiers.get(organization) ?? 0,
          own: ownOf(oracle),
        } satisfies WindowStoreOptions);
        world.save(3);
        expect(restore(next, world.saved, world.wall + away, born).refused).toEqual([]);
        if (store.size === 0) return;
        for (const who of people) {
          // Time as the dead process would have had it.
          const then = oracle.now + away + after;
          const [, project, organization] = who;
          const tier = oracle.tiers.get(organization) ?? 0;
          const ofModels = inspectModels(next, project, organization, tier, born + after);
          const all = [
            ...oracle.of(who).map((one, scope) => {
              const real = inspect(next, next.scopes[scope]!, who[scope]!, born + after);
              return [one, real] as const;
            }),
            ...ofModels.map((real) => [oracle.modelOf(who, real.model!)!, real] as const),
          ];
          for (const [one, real] of all) {
            const { place } = one;
            const seen = (name: string) => real?.windows.find(({ metric }) => metric === name)?.used ?? 0;
            // A limit that was raised after attempts were forgotten: the journal may know them still.
            const known = one.allAttempts.filter((at) => then - at < 60_000).length;
            expect(seen('requests_per_minute')).toBeGreaterThanOrEqual(
              Math.min(one.limits.rpm, oracle.rpmUsed(one, then)),
            );
            expect(seen('requests_per_minute')).toBeLessThanOrEqual(Math.min(one.limits.rpm, known));
            // Not one less than counts, and no more than one bucket longer.
            expect(seen('requests_per_day')).toBeGreaterThanOrEqual(oracle.rpdUsed(one, then + 600_000));
            expect(seen('requests_per_day')).toBeLessThanOrEqual(oracle.rpdUsed(one, then - 600_000));
            // Of a record that was dropped because it held nothing any more, the snapshot tells what it held before.
            const most = (entry: { minute: number[]; reserved: readonly number[] }) =>
              Math.max(entry.minute[place]!, world.swept ? entry.reserved[place]! : 0);
            const inTrue = (window: number) => (sum: number, entry: { at: number; minute: number[] }) =>
              sum + (then - entry.at < window ? entry.minute[place]! : 0);
            expect(seen('tokens_per_minute')).toBeGreaterThanOrEqual(one.entries.reduce(inTrue(60_000), 0));
            const young = one.entries.filter(({ at }) => then - at < 61_000);
            expect(seen('tokens_per_minute')).toBeLessThanOrEqual(young.reduce((sum, entry) => sum + most(entry), 0));
            if (place === 2) {
              const day = one.entries.reduce((sum, entry) => sum + (then - entry.at < 86_400_000 ? entry.day : 0), 0);
              expect(seen('tokens_per_day')).toBeGreaterThanOrEqual(day);
            }
          }
        }
      }),
      { numRuns: 150 },
    );
  });
});
