/**
 * Which short texts a group of rows holds, in a kilobyte: a Bloom filter. It never denies what was added; of what was not
 * it takes about one text in a hundred for present while it holds 700 or fewer.
 */
export type ValueDigest = Uint8Array;

const bits = 8192;
const probes = 5;

export const emptyDigest: ValueDigest = new Uint8Array(bits / 8);

/** FNV-1a, from two different starts: the probes are combinations of the two. */
const hash = (text: string, start: number): number => {
  let value = start;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return (value ^ (value >>> 15)) >>> 0;
};

const placesOf = (text: string): number[] => {
  const first = hash(text, 0x811c9dc5);
  const step = hash(text, 0x2545f491) | 1;
  return Array.from({ length: probes }, (_, i) => ((first + Math.imul(i, step)) >>> 0) & (bits - 1));
};

/** A digest that holds these texts too. */
export const addTo = (digest: ValueDigest, texts: readonly string[]): ValueDigest => {
  const next = digest.slice();
  for (const text of texts) for (const place of placesOf(text)) next[place >> 3]! |= 1 << (place & 7);
  return next;
};

export const mayHold = (digest: ValueDigest, text: string): boolean =>
  placesOf(text).every((place) => ((digest[place >> 3] ?? 0) & (1 << (place & 7))) !== 0);
