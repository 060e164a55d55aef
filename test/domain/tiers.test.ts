import { describe, expect, test } from 'vitest';
import { limitsFor, type Scope, type Tier, tiers } from '../../src/domain/organization/tiers.ts';

describe('the tables of the spec', () => {
  test('per key', () => {
    const rows = ([0, 1, 2, 3, 4, 5] as const).map((tier) => Object.values(limitsFor(tier, 'key')));
    expect(rows).toEqual([
      [60, 10_000, 1e6, null, 4],
      [120, 15_000, 2e6, null, 8],
      [300, 25_000, 4e6, null, 12],
      [500, 50_000, 6e6, null, 16],
      [700, 75_000, 8e6, null, 32],
      [900, 100_000, 10e6, null, 32],
    ]);
  });
  test('tokens per day are an organization’s alone', () => {
    expect(([0, 1, 2, 3, 4, 5] as const).map((tier) => limitsFor(tier, 'organization').tpd)).toEqual([
      1e9, 2e9, 5e9, 10e9, 20e9, 50e9,
    ]);
  });
  test('project limits are 1.5 times and organization limits twice the key’s, and whole', () => {
    for (const tier of [0, 1, 2, 3, 4, 5] as Tier[]) {
      for (const [scope, times] of [
        ['project', 1.5],
        ['organization', 2],
      ] as [Scope, number][]) {
        for (const metric of ['rpm', 'rpd', 'tpm'] as const) {
          expect(limitsFor(tier, scope)[metric]).toBe(limitsFor(tier, 'key')[metric] * times);
          expect(limitsFor(tier, scope)[metric] % 1).toBe(0);
        }
      }
    }
  });
  test('concurrency has a table of its own', () => {
    const slots = (scope: Scope) => ([0, 1, 2, 3, 4, 5] as Tier[]).map((tier) => limitsFor(tier, scope).concurrent);
    expect([slots('key'), slots('project'), slots('organization')]).toEqual([
      [4, 8, 12, 16, 32, 32],
      [6, 10, 14, 16, 32, 32],
      [8, 12, 16, 16, 32, 32],
    ]);
  });
  test('what reaches a tier', () => {
    expect(tiers.map(({ paid, subscription }) => [paid, subscription])).toEqual([
      [0, 'Free'],
      [20, 'Developer'],
      [50, 'Growth'],
      [200, 'Scale'],
      [1000, null],
      [5000, null],
    ]);
  });
});
