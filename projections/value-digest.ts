/**
 * Which short texts a group of rows holds, in a kilobyte: a Bloom filter. It never denies what was added; of what was not
 * it takes about one text in a hundred for present while it holds 700 or fewer.
 */
export type ValueDigest = Uint8Array;

const bits = 8192;
const probes = 5;

export const emptyDigest = (): ValueDigest => new Uint8Array(bits / 8);

/** FNV-1a, from two different starts: the probes are combinations of the two. */
const hash = (text: string, start: number): number => {
  let value = start;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return (value ^ (value >>> 15)) >>> 0;
};

/** Calls `each` with the bits of a text, as long as that returns true. @returns whether it always did */
const everyPlace = (text: string, each: (place: number) => boolean): boolean => {
  const step = hash(text, 0x2545f491) | 1;
  let place = hash(text, 0x811c9dc5);
  for (let i = 0; i < probes; i++, place = (place + step) >>> 0) if (!each(place & (bits - 1))) return false;
  return true;
};

/** From now on the digest holds this text too. */
export const addTo = (digest: ValueDigest, text: string): void => {
  everyPlace(text, (place) => {
    digest[place >> 3]! |= 1 << (place & 7);
    return true;
  });
};

export const mayHold = (digest: ValueDigest, text: string): boolean =>
  everyPlace(text, (place) => ((digest[place >> 3] ?? 0) & (1 << (place & 7))) !== 0);
