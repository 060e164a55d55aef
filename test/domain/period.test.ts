import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dayMs } from '../../src/clock.ts';
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

test('the sums of a period and of the one before it are those of the charges, in whatever order they come', () => {
  const charge = fc.record({ day: fc.nat(6), amount: fc.nat(9) });
  fc.assert(
    fc.property(fc.array(charge, { maxLength: 20 }), (charges) => {
      let spent = spentNothing;
      // Without what came when two later periods had begun.
      const counted = new Map<number, number>();
      let newest = 0;
      for (const { day, amount } of charges) {
        const period = periodAt('day', Date.UTC(2026, 0) + day * dayMs);
        spent = addSpent(spent, period, amount);
        if (period >= newest - 1) counted.set(period, (counted.get(period) ?? 0) + amount);
        newest = Math.max(newest, period);
      }
      expect(spentIn(spent, newest)).toBe(counted.get(newest) ?? 0);
      expect(spentIn(spent, newest - 1)).toBe(counted.get(newest - 1) ?? 0);
      expect([newest + 1, newest - 2].map((period) => spentIn(spent, period))).toEqual([0, 0]);
    }),
  );
});
