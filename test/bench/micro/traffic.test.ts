import { expect, test } from 'vitest';
import { ownersOf, popularKeys } from '../../../bench/micro/traffic.ts';

test('keys are asked for by Zipf, the same each time, and the popular ones do not lie together', () => {
  const drawn = popularKeys(1_000, 100_000);
  expect(popularKeys(1_000, 100_000)).toEqual(drawn);
  const counts = new Map<number, number>();
  for (const key of drawn) counts.set(key, (counts.get(key) ?? 0) + 1);
  const byCount = [...counts].sort(([, a], [, b]) => b - a);
  // The harmonic sum of 1,000 is 7.485.
  const share = (rank: number) => 100_000 / 7.485 / rank;
  for (const rank of [1, 2, 5, 10]) {
    expect(byCount[rank - 1]![1]).toBeGreaterThan(share(rank) * 0.9);
    expect(byCount[rank - 1]![1]).toBeLessThan(share(rank) * 1.1);
  }
  const popular = byCount.slice(0, 20).map(([key]) => key);
  expect(Math.max(...popular) - Math.min(...popular)).toBeGreaterThan(500);
});

test('four keys have one project, and four projects one organization', () => {
  const projects = new Set(Array.from({ length: 32 }, (_, key) => ownersOf(key).project));
  const organizations = new Set(Array.from({ length: 32 }, (_, key) => ownersOf(key).organization));
  expect([projects.size, organizations.size]).toEqual([8, 2]);
});
