import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KnownToken, KnownTokens } from '../../src/data/access/known-tokens.ts';
import type { BearerPrincipal } from '../../src/data/access/principal.ts';

const known = (text: string): KnownToken => new KnownToken(text, `digest of ${text}`, {} as BearerPrincipal);

const cacheOf = (most: number) => new KnownTokens(most);

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
    fc.property(fc.array(texts, { maxLength: 60 }), (asked) => {
      const one = cacheOf(8);
      const many = cacheOf(64);
      const newest: KnownToken[] = [];
      for (const text of asked) {
        const listed = newest.slice(0, 8).find((each) => each.text === text);
        expect(one.get(text)).toBe(listed);
        const elsewhere = many.get(text);
        expect(elsewhere === undefined || elsewhere.text === text).toBe(true);
        // A cache of its own, as an entry knows its place in one alone.
        if (elsewhere === undefined) many.add(known(text));
        if (listed !== undefined) continue;
        const entry = known(text);
        one.add(entry);
        newest.unshift(entry);
      }
    }),
  );
});
