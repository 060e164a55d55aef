import { ExactNumber } from '../../json/exact-number.ts';

export type Random = () => number;

/** Two independent 32-bit hashes of the same content. */
export interface Seed {
  readonly a: number;
  readonly b: number;
}

/** Only both ends and the length of a longer string are hashed: 5 MiB would take 7 ms. */
const longest = 8192;

/** Not collision-resistant; about 1 ns per character. */
export const seedOf = (...values: readonly unknown[]): Seed => {
  const lanes = { a: 0x243f6a88, b: 0x85a308d3 };
  for (const value of values) addValue(lanes, value);
  return { a: lanes.a >>> 0, b: lanes.b >>> 0 };
};

interface Lanes {
  a: number;
  b: number;
}

const addValue = (lanes: Lanes, value: unknown): void => {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) {
    addString(lanes, String(value));
  } else if (Array.isArray(value)) {
    mix(lanes, value.length);
    for (const item of value) addValue(lanes, item);
  } else {
    for (const [name, field] of Object.entries(value)) {
      if (field === undefined) continue;
      addString(lanes, name);
      addValue(lanes, field);
    }
  }
};

const addString = (lanes: Lanes, text: string): void => {
  mix(lanes, text.length);
  const head = text.length <= longest ? text.length : longest / 2;
  addRange(lanes, text, 0, head);
  if (head < text.length) addRange(lanes, text, text.length - longest / 2, text.length);
};

const mixA = (a: number, word: number): number => Math.imul(a ^ word, 0x01000193);
const mixB = (b: number, word: number): number => Math.imul((b + word) ^ (b >>> 15), 0x2c1b3c6d);

const addRange = (lanes: Lanes, text: string, from: number, to: number): void => {
  let { a, b } = lanes;
  for (let index = from; index < to; index += 1) {
    const unit = text.charCodeAt(index);
    a = mixA(a, unit);
    b = mixB(b, unit);
  }
  lanes.a = a;
  lanes.b = b;
};

const mix = (lanes: Lanes, word: number): void => {
  lanes.a = mixA(lanes.a, word);
  lanes.b = mixB(lanes.b, word);
};

/** A Weyl sequence through a multiplicative finalizer. */
export const seededRandom = (state: number): Random => {
  let weyl = state | 0;
  return () => {
    weyl = (weyl + 0x9e3779b9) | 0;
    let word = Math.imul(weyl ^ (weyl >>> 16), 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    return ((word ^ (word >>> 15)) >>> 0) / 2 ** 32;
  };
};

export const integerBetween = (random: Random, least: number, most: number): number =>
  least + Math.floor(random() * (most - least + 1));

/** Crockford's base32 in lower case, the alphabet of ids (contract A.1). */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

export const seededId = (seed: Seed, salt: number, length = 26): string => {
  const [first, second] = [seededRandom(seed.a + salt), seededRandom(seed.b - salt)];
  let id = '';
  for (let index = 0; index < length; index += 1) id += alphabet[Math.floor((index % 2 ? first() : second()) * 32)];
  return id;
};
