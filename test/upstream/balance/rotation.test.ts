import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Rotation } from '../../../src/data/upstream/balance/rotation.ts';

const weights = fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 16 });

test('of every so many picks as the weights sum up to, each candidate has exactly its weight', () => {
  fc.assert(
    fc.property(weights, fc.integer({ min: 1, max: 3 }), (list, rounds) => {
      const candidates = list.map((weight) => ({ weight, picks: 0 }));
      const rotation = new Rotation<(typeof candidates)[number]>();
      const sum = list.reduce((total, weight) => total + weight, 0);
      for (let round = 1; round <= rounds; round++) {
        for (let pick = 0; pick < sum; pick++) rotation.pick(candidates).picks++;
        expect(candidates.map(({ picks }) => picks)).toEqual(list.map((weight) => weight * round));
      }
    }),
    { numRuns: 30 },
  );
});

test('at any moment nobody is further from its share than all candidates together', () => {
  fc.assert(
    fc.property(weights, fc.integer({ min: 1, max: 5000 }), (list, picks) => {
      const candidates = list.map((weight) => ({ weight, picks: 0 }));
      const rotation = new Rotation<(typeof candidates)[number]>();
      const sum = list.reduce((total, weight) => total + weight, 0);
      let most = 0;
      for (let pick = 1; pick <= picks; pick++) {
        rotation.pick(candidates).picks++;
        for (const each of candidates) most = Math.max(most, Math.abs(each.picks - (pick * each.weight) / sum));
      }
      expect(most).toBeLessThan(candidates.length);
    }),
    { numRuns: 30 },
  );
});

test('while some rest, the others share by their weights', () => {
  const all = [{ weight: 1 }, { weight: 2 }, { weight: 3 }];
  const rotation = new Rotation<{ weight: number }>();
  for (let pick = 0; pick < 7; pick++) rotation.pick(all);
  const picked = Array.from({ length: 300 }, () => rotation.pick(all.slice(0, 2)));
  expect(picked.filter((each) => each === all[0])).toHaveLength(100);
});
