import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextWholeSecond, promisedEnd, wholeSecond } from '../../src/domain/expiry.ts';

test('a promise of N seconds is at least N and less than N + 2, also from an answer a second later, and whole', () => {
  const moment = fc.oneof(fc.nat({ max: 2 ** 41 }), fc.double({ min: 0, max: 2 ** 41, noNaN: true }));
  fc.assert(
    fc.property(moment, fc.integer({ min: 1, max: 315_360_000 }), (at, wanted) => {
      const end = promisedEnd(at, wanted);
      expect(end % 1000).toBe(0);
      expect(end - (at + 1000)).toBeGreaterThanOrEqual(wanted * 1000);
      expect(end - at).toBeLessThan((wanted + 2) * 1000);
    }),
  );
});

test.each([
  [0, 0, 0],
  [1, 0, 1000],
  [999, 0, 1000],
  [1000, 1000, 1000],
])('%i ms are between whole seconds', (at, before, after) => {
  expect([wholeSecond(at), nextWholeSecond(at)]).toEqual([before, after]);
});
