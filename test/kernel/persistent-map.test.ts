import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PersistentMap, PersistentSet } from '../../src/kernel/aggregate/persistent-map.ts';

interface Version {
  readonly map: PersistentMap<{ readonly n: number }>;
  readonly model: ReadonlyMap<string, { readonly n: number }>;
}

test('every version stays what it was, whichever is changed or asked next', () => {
  const change = fc.record({
    of: fc.nat(60),
    key: fc.constantFrom('a', 'b', 'c', 'd'),
    value: fc.option(fc.nat(9).map((n) => ({ n }))),
    asked: fc.nat(60),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
      const versions: Version[] = [{ map: PersistentMap.empty(), model: new Map() }];
      const pick = (n: number): Version => versions[n % versions.length] as Version;
      const expectRight = ({ map, model }: Version): void => {
        expect(map.size).toBe(model.size);
        expect(map.keys().sort()).toEqual([...model.keys()].sort());
        expect(new Map(map.entries())).toEqual(model);
        for (const key of ['a', 'b', 'c', 'd', 'toString']) {
          expect(map.has(key)).toBe(model.has(key));
          expect(map.get(key)).toBe(model.get(key));
        }
      };
      for (const { of, key, value, asked } of changes) {
        const { map, model } = pick(of);
        const next = new Map(model);
        if (value) next.set(key, value);
        else next.delete(key);
        versions.push({ map: value ? map.with(key, value) : map.without(key), model: next });
        expectRight(pick(asked));
      }
      versions.forEach(expectRight);
    }),
  );
});

test('a chain of many versions is walked without a stack of its own', () => {
  const first = PersistentSet.empty().with('first');
  let last = first;
  for (let i = 0; i < 200_000; i++) last = last.with(`key_${i}`);
  expect([first.size, first.has('key_1'), first.ids()]).toEqual([1, false, ['first']]);
  expect([last.size, last.has('key_199999')]).toEqual([200_001, true]);
});

test('is written down as what it stands for', () => {
  expect(JSON.stringify(PersistentSet.empty().with('a').with('b').with('b').without('a'))).toBe('["b"]');
  expect(JSON.stringify(PersistentMap.empty<{ n: number }>().with('a', { n: 1 }))).toBe('{"a":{"n":1}}');
});
