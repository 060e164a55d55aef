import { expect, test } from 'vitest';
import { CountedCrowd } from '../../../bench/micro/crowd.ts';
import { tiers } from '../../../src/domain/organization/tiers.ts';

test('a crowd of one key is let through as often as its tier allows; what it used at first has left the window', () => {
  const crowd = new CountedCrowd(1, 0, 0);
  const outcomes = Array.from({ length: 100 }, () => crowd.request(61_000, false));
  expect(outcomes.filter(Boolean)).toHaveLength(tiers[0].rpm);
  expect(outcomes.lastIndexOf(true)).toBe(tiers[0].rpm - 1);
  // Nothing is left in flight: the next minute is the same.
  expect(Array.from({ length: 100 }, () => crowd.request(122_000, true)).filter(Boolean)).toHaveLength(tiers[0].rpm);
  expect(crowd.headerBytes).toBeGreaterThan(100 * 50);
});
