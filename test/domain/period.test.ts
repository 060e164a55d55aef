import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addSpent, intervals, periodAt, spentIn, spentNothing, startOf } from '../../src/domain/usage/period.ts';

const at = fc.integer({ min: 0, max: Date.UTC(2150, 0) });

describe('periods', () => {
  test.each(intervals)('of a %s follow each other without a gap, and have every moment once', (interval) => {
    fc.assert(
      fc.property(at, (moment) => {
        const period = periodAt(interval, moment);
        expect(startOf(interval, period)).toBeLessThanOrEqual(moment);
        expect(startOf(interval, period + 1)).toBeGreaterThan(moment);
        expect(periodAt(interval, startOf(interval, period))).toBe(period);
        expect(periodAt(interval, startOf(interval, period) - 1)).toBe(period - 1);
      }),
    );
  });

  test('begin at midnight, on Monday and on the first, in UTC', () => {
    const moment = Date.UTC(2026, 10, 26, 21, 5);
    expect(intervals.map((interval) => new Date(startOf(interval, periodAt(interval, moment))).toISOString())).toEqual([
      '2026-11-26T00:00:00.000Z',
      '2026-11-23T00:00:00.000Z',
      '2026-11-01T00:00:00.000Z',
    ]);
  });
});

/** Of clocks that were wrong. */
const [ahead, behind] = [
  [1_000, 1_001],
  [-1_001, -1_000],
];
const days = fc.nat(6);

test.each([
  ['in whatever order they come', days],
  ['also with a clock that is ahead', fc.oneof(days, fc.constantFrom(...ahead))],
  ['also with a clock that is behind', fc.oneof(days, fc.constantFrom(...behind))],
])('the sums of a period and of the one before it are those of the charges, %s', (_, some) => {
  const charge = fc.record({ day: some, amount: fc.nat(9) });
  fc.assert(
    fc.property(fc.array(charge, { maxLength: 30 }), (charges) => {
      const spent = charges.reduce((sum, { day, amount }) => addSpent(sum, day, amount), spentNothing);
      expect(spent.length).toBeLessThanOrEqual(4);
      const newest = Math.max(0, ...charges.map(({ day }) => day).filter((day) => day < ahead[0]!));
      const summed = (period: number): number =>
        charges.reduce((sum, { day, amount }) => sum + (day === period ? amount : 0), 0);
      for (const period of [newest - 1, newest, newest + 1]) expect(spentIn(spent, period)).toBe(summed(period));
    }),
  );
});

test('what is long over leaves the sums, whose number stays small', () => {
  let spent = spentNothing;
  for (let day = 0; day < 100; day++) spent = addSpent(spent, day, 1);
  expect(spent.map(([day]) => day)).toEqual([96, 97, 98, 99]);
  expect(addSpent(spent, 5, 1)).toEqual(spent);
});
