import fc from 'fast-check';
import { expect, test } from 'vitest';
import { turnsBetween } from '../../src/app/log/record-access.ts';

const sorted = (turns: readonly number[]) => [...turns].sort((a, b) => a - b);
const everyTurn = Array.from({ length: 60 }, (_, turn) => turn);

test('each turn comes once in any sixty seconds, however they are cut', () => {
  fc.assert(
    fc.property(fc.nat(2_000_000_000), fc.array(fc.integer({ min: 1, max: 59 })), (start, cuts) => {
      let now = start;
      const came: number[] = [];
      for (const length of [...cuts, 60 - (cuts.reduce((sum, each) => sum + each, 0) % 60)]) {
        came.push(...turnsBetween(now, now + length));
        now += length;
      }
      const minutes = (now - start) / 60;
      expect(sorted(came)).toEqual(everyTurn.flatMap((turn) => Array<number>(minutes).fill(turn)));
    }),
  );
});

test('all turns come after a minute without one, each once', () => {
  fc.assert(
    fc.property(fc.nat(2_000_000_000), fc.integer({ min: 60, max: 10_000 }), (since, length) => {
      expect(sorted(turnsBetween(since, since + length))).toEqual(everyTurn);
    }),
  );
});
