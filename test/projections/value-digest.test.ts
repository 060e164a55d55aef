import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addTo, emptyDigest, mayHold, type ValueDigest } from '../../projections/value-digest.ts';

const digestOf = (texts: readonly string[]): ValueDigest => {
  const digest = emptyDigest();
  for (const text of texts) addTo(digest, text);
  return digest;
};

test('never denies what was added, in any order and however often', () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { maxLength: 300 }), (texts) => {
      const digest = digestOf(texts);
      expect(digestOf([...texts, ...texts].reverse())).toEqual(digest);
      for (const text of texts) expect(mayHold(digest, text)).toBe(true);
    }),
  );
  expect(emptyDigest().every((byte) => byte === 0)).toBe(true);
});

test('takes few of what was not for present, full as it gets', () => {
  const id = (n: number): string => `key_${n.toString(36).padStart(26, '0')}`;
  const full = digestOf(Array.from({ length: 700 }, (_, i) => id(i)));
  let mistaken = 0;
  for (let i = 700; i < 20_700; i++) if (mayHold(full, id(i))) mistaken += 1;
  expect(mistaken / 20_000).toBeLessThan(0.03);
});
