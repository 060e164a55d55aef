import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dueBetween } from '../../src/cli/record-access.ts';
import { newId } from '../../src/ids.ts';
import { fixedClock } from '../support/fixed-clock.ts';

const organization = fc.integer({ min: 0, max: 2 ** 40 }).map((at) => newId('org', fixedClock(at)));

test('each organization is due once in any sixty seconds, however they are cut into turns', () => {
  fc.assert(
    fc.property(organization, fc.nat(2_000_000_000), fc.array(fc.integer({ min: 1, max: 59 })), (id, start, turns) => {
      let [now, times] = [start, 0];
      for (const length of [...turns, 60 - (turns.reduce((sum, each) => sum + each, 0) % 60)]) {
        if (dueBetween(now, now + length)(id)) times++;
        now += length;
      }
      expect(times).toBe((now - start) / 60);
    }),
  );
});

test('everybody is due after a minute without a turn', () => {
  fc.assert(
    fc.property(organization, fc.nat(2_000_000_000), fc.integer({ min: 60, max: 10_000 }), (id, since, length) => {
      expect(dueBetween(since, since + length)(id)).toBe(true);
    }),
  );
});

test('a thousand organizations are spread over the minute', () => {
  const ids = Array.from({ length: 1000 }, () => newId('org', fixedClock(1)));
  const counts = Array.from({ length: 60 }, (_, second) => ids.filter(dueBetween(second, second + 1)).length);
  expect(counts.reduce((sum, each) => sum + each)).toBe(1000);
  expect(Math.max(...counts)).toBeLessThan(60);
});
