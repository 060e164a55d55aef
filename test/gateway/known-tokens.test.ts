import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BearerPrincipal } from '../../projections/principal.ts';
import { KnownToken, KnownTokens } from '../../src/gateway/known-tokens.ts';

const known = (text: string): KnownToken => new KnownToken(text, `digest of ${text}`, {} as BearerPrincipal);

/** Few letters, so that many of them share a place. */
const texts = fc.stringMatching(/^Bearer gwp_[ab]{6}$/);

test('a token is found by its whole text, and never as another that has the same place', () => {
  const tokens = new KnownTokens(4);
  const mine = known('Bearer gwp_1_abcdef');
  tokens.add(mine);
  expect(tokens.get('Bearer gwp_1_abcdef')).toBe(mine);
  // The same last characters, and in a cache of one set every place is the same.
  expect(tokens.get('Bearer gwp_2_abcdef')).toBeUndefined();
  expect(tokens.get('Bearer gwp_1_abcdeg')).toBeUndefined();
  expect(tokens.get('')).toBeUndefined();
});

test('in a full set the one that came first gives way', () => {
  const tokens = new KnownTokens(4);
  const five = ['a', 'b', 'c', 'd', 'e'].map((letter) => known(`Bearer gwp_${letter.repeat(6)}`));
  for (const each of five.slice(0, 4)) tokens.add(each);
  for (const each of five.slice(0, 4)) expect(tokens.get(each.text)).toBe(each);
  tokens.add(five[4]!);
  expect(five.map(({ text }) => tokens.get(text))).toEqual([undefined, ...five.slice(1)]);
});

test('tokens are spread over all places: of as many as there is room for, most are found again', () => {
  const tokens = new KnownTokens(4096);
  const all = Array.from({ length: 4096 }, (_, n) => known(`Bearer gwp_${n.toString(36).padStart(6, '0')}`));
  for (const each of all) tokens.add(each);
  const found = all.filter((each) => tokens.get(each.text) === each).length;
  // Spread at random, a set of four keeps 80 % of what comes to it.
  expect(found).toBeGreaterThan(4096 * 0.75);
});

test('agrees with a list of the newest four in a cache of one set, and in a larger one tells of nothing else', () => {
  fc.assert(
    fc.property(fc.array(texts, { maxLength: 40 }), texts, (added, asked) => {
      const one = new KnownTokens(4);
      const many = new KnownTokens(64);
      const entries = added.map(known);
      for (const entry of entries) {
        one.add(entry);
        many.add(entry);
      }
      const newest = entries.toReversed();
      expect(one.get(asked)).toBe(newest.slice(0, 4).find(({ text }) => text === asked));
      expect([undefined, newest.find(({ text }) => text === asked)]).toContain(many.get(asked));
    }),
  );
});
