import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BearerPrincipal } from '../../projections/principal.ts';
import { KnownToken, KnownTokens } from '../../src/gateway/known-tokens.ts';

const known = (text: string): KnownToken => new KnownToken(text, `digest of ${text}`, {} as BearerPrincipal);

const cacheOf = (most: number, ahead: (likely: KnownToken) => number = () => 0) => new KnownTokens(ahead, most);

/** Few letters, so that many of them share a place. */
const texts = fc.stringMatching(/^Bearer gwp_[ab]{6}$/);

test('a token is found by its whole text, and never as another that has the same place', () => {
  const tokens = cacheOf(8);
  const mine = known('Bearer gwp_1_abcdef');
  tokens.add(mine);
  expect(tokens.get('Bearer gwp_1_abcdef')).toBe(mine);
  // The same last characters, and in a cache of one set every place is the same.
  expect(tokens.get('Bearer gwp_2_abcdef')).toBeUndefined();
  expect(tokens.get('Bearer gwp_1_abcdeg')).toBeUndefined();
  expect(tokens.get('')).toBeUndefined();
});

test('in a full set the one that came first gives way', () => {
  const tokens = cacheOf(8);
  const nine = [...'abcdefghi'].map((letter) => known(`Bearer gwp_${letter.repeat(6)}`));
  for (const each of nine.slice(0, 8)) tokens.add(each);
  for (const each of nine.slice(0, 8)) expect(tokens.get(each.text)).toBe(each);
  tokens.add(nine[8]!);
  expect(nine.map(({ text }) => tokens.get(text))).toEqual([undefined, ...nine.slice(1)]);
});

test('tokens are spread over all places: of as many as there is room for, most are found again', () => {
  const tokens = cacheOf(4096);
  const all = Array.from({ length: 4096 }, (_, n) => known(`Bearer gwp_${n.toString(36).padStart(6, '0')}`));
  for (const each of all) tokens.add(each);
  const found = all.filter((each) => tokens.get(each.text) === each).length;
  // Spread at random, a set of eight keeps 86 % of what comes to it.
  expect(found).toBeGreaterThan(4096 * 0.82);
});

test('agrees with a list of the newest eight in a cache of one set, and in a larger one tells of nothing else', () => {
  fc.assert(
    fc.property(fc.array(texts, { maxLength: 40 }), texts, (added, asked) => {
      const one = cacheOf(8);
      const many = cacheOf(64);
      const entries = added.map(known);
      for (const entry of entries) {
        one.add(entry);
        many.add(entry);
      }
      const newest = entries.toReversed();
      expect(one.get(asked)).toBe(newest.slice(0, 8).find(({ text }) => text === asked));
      expect([undefined, newest.find(({ text }) => text === asked)]).toContain(many.get(asked));
    }),
  );
});

test('what is likely the one is read of before it is compared, and nothing else is', () => {
  const told: string[] = [];
  const tokens = cacheOf(8, ({ text }) => told.push(text));
  for (const text of ['Bearer gwp_1_abcdef', 'Bearer gwp_2_abcdef', 'Bearer gwp_1_fedcba']) tokens.add(known(text));
  expect(tokens.get('Bearer gwp_1_fedcba')).toBeDefined();
  expect(told.splice(0)).toEqual(['Bearer gwp_1_fedcba']);
  // The same last characters: the newer one is looked at first.
  expect(tokens.get('Bearer gwp_1_abcdef')).toBeDefined();
  expect(told.splice(0)).toEqual(['Bearer gwp_2_abcdef', 'Bearer gwp_1_abcdef']);
  expect(tokens.get('Bearer gwp_1_uvwxyz')).toBeUndefined();
  expect(told).toEqual([]);
});
