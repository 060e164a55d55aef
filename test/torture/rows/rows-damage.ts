import { type Damaged, damage } from '../damage.ts';
import type { Random } from '../random.ts';

const PAGE = 4096;
const [KIND, LOWER, HEADER, NODE] = [18, 20, 24, 8];
const [LEAF, PLAIN] = [2, 0];
/** As many as the report had from which this torture came. */
const MANY = 60;

const flipped = (sound: Buffer, random: Random, places: readonly number[]): Buffer => {
  const bytes = Buffer.from(sound);
  for (const at of places) bytes[at]! ^= 1 << random.between(0, 7);
  return bytes;
};

/** Where the rows are that lie beside their keys: of those that are used, and of some that were. */
export const placesOfRows = (file: Buffer): { readonly at: number; readonly length: number }[] => {
  const places: { at: number; length: number }[] = [];
  for (let page = 2 * PAGE; page + PAGE <= file.length; page += PAGE) {
    if (file.readUInt16LE(page + KIND) !== LEAF) continue;
    for (let i = 0; i < file.readUInt16LE(page + LOWER) >> 1; i++) {
      const node = page + HEADER + file.readUInt16LE(page + HEADER + 2 * i);
      const length = file.readUInt16LE(node) + file.readUInt16LE(node + 2) * 2 ** 16;
      if (file.readUInt16LE(node + 4) === PLAIN) places.push({ at: node + NODE + file.readUInt16LE(node + 6), length });
    }
  }
  return places;
};

/** The ways of D6, and those of read models. What a page was before only the sums of a closed file tell from what it is. */
export const damageRows = (sound: Buffer, older: readonly Buffer[], random: Random, cycle: number): Damaged => {
  const anywhere = () => random.between(0, sound.length - 1);
  if (cycle % 3 > 0) {
    const damaged = damage(sound, older, random, Math.floor(cycle / 3) * 2 + (cycle % 3));
    return { ...damaged, needsSeal: damaged.what.startsWith('stale page') };
  }
  if (cycle % 2 === 0) {
    const bytes = flipped(sound, random, Array.from({ length: MANY }, anywhere));
    return { bytes, what: `${MANY} flipped bits`, needsSeal: false };
  }
  const { at, length } = random.pick(placesOfRows(sound));
  const place = random.between(at, at + length - 1);
  return { bytes: flipped(sound, random, [place]), what: `flipped bit in a row, byte ${place}`, needsSeal: false };
};
