/** A Bloom filter of a kilobyte: with up to 700 texts it has about 1 % false positives. */
export type ValueDigest = Uint8Array;

const bits = 8192;
const probes = 5;

export const emptyDigest = (): ValueDigest => new Uint8Array(bits / 8);

/** FNV-1a with two seeds, whose combinations are the probes. */
const hash = (text: string, start: number): number => {
  let value = start;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return (value ^ (value >>> 15)) >>> 0;
};

/** Whether `each` is true for all bits of a text. */
const everyPlace = (text: string, each: (place: number) => boolean): boolean => {
  const step = hash(text, 0x2545f491) | 1;
  let place = hash(text, 0x811c9dc5);
  for (let i = 0; i < probes; i++, place = (place + step) >>> 0) if (!each(place & (bits - 1))) return false;
  return true;
};

export const addTo = (digest: ValueDigest, text: string): void => {
  everyPlace(text, (place) => {
    digest[place >> 3]! |= 1 << (place & 7);
    return true;
  });
};

export const mayHold = (digest: ValueDigest, text: string): boolean =>
  everyPlace(text, (place) => ((digest[place >> 3] ?? 0) & (1 << (place & 7))) !== 0);
