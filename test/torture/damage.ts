import type { Random } from './random.ts';

/** A damaged file and what was done to it. */
export interface Damaged {
  /** No file can tell that its last commit never happened, which only a proper stop has put down elsewhere. */
  readonly needsSeal: boolean;
  readonly bytes: Buffer;
  readonly what: string;
}

const PAGE = 4096;
/** What LMDB reads of a meta page lies within. */
const META_BYTES = 200;

type Kind = (
  sound: Buffer,
  older: readonly Buffer[],
  random: Random,
) => { readonly bytes: Buffer; readonly where: string };

const pageOf = (file: Buffer, random: Random): number => random.between(2, file.length / PAGE - 1);

const changedPages = (sound: Buffer, older: Buffer): number[] => {
  const changed: number[] = [];
  for (let page = 0; (page + 1) * PAGE <= Math.min(older.length, sound.length); page++) {
    const end = (page + 1) * PAGE;
    if (older.compare(sound, page * PAGE, end, page * PAGE, end) !== 0) changed.push(page);
  }
  return changed;
};

const withPageOf = (sound: Buffer, older: Buffer, page: number): Buffer => {
  const bytes = Buffer.from(sound);
  older.copy(bytes, page * PAGE, page * PAGE, (page + 1) * PAGE);
  return bytes;
};

/** Kinds of damage, for the torture D6. Stale pages come from the same file at an earlier time. */
const kinds: Readonly<Record<string, Kind>> = {
  'flipped bit': (sound, _, random) => {
    const bytes = Buffer.from(sound);
    const at = random.between(0, sound.length - 1);
    bytes[at]! ^= 1 << random.between(0, 7);
    return { bytes, where: `byte ${at}` };
  },
  'zeroed page': (sound, _, random) => {
    const page = pageOf(sound, random);
    return { bytes: Buffer.from(sound).fill(0, page * PAGE, (page + 1) * PAGE), where: `page ${page}` };
  },
  'swapped pages': (sound, _, random) => {
    const [a, b] = [pageOf(sound, random), pageOf(sound, random)];
    const bytes = Buffer.from(sound);
    sound.copy(bytes, a * PAGE, b * PAGE, (b + 1) * PAGE);
    sound.copy(bytes, b * PAGE, a * PAGE, (a + 1) * PAGE);
    return { bytes, where: `pages ${a} and ${b}` };
  },
  truncation: (sound, _, random) => {
    const length = random.between(1, sound.length - 1);
    return { bytes: Buffer.from(sound.subarray(0, length)), where: `at ${length}` };
  },
  'stale page': (sound, older, random) => {
    const which = random.between(0, older.length - 1);
    const page = random.pick(changedPages(sound, older[which]!).filter((each) => each > 1));
    return { bytes: withPageOf(sound, older[which]!, page), where: `page ${page} of version ${which}` };
  },
  'stale meta page': (sound, older, random) => {
    const which = random.between(0, older.length - 1);
    const page = random.pick(changedPages(sound, older[which]!).filter((each) => each < 2));
    return { bytes: withPageOf(sound, older[which]!, page), where: `page ${page} of version ${which}` };
  },
  'damaged meta page': (sound, _, random) => {
    const bytes = Buffer.from(sound);
    const start = random.between(0, 1) * PAGE;
    const at = start + random.between(0, META_BYTES - 1);
    const kind = random.pick(['zeroed', 'flipped bit', 'flipped bit', 'overwritten'] as const);
    if (kind === 'zeroed') bytes.fill(0, start, start + PAGE);
    else if (kind === 'flipped bit') bytes[at]! ^= 1 << random.between(0, 7);
    else bytes.fill(random.between(1, 255), at, start + META_BYTES);
    return { bytes, where: `${kind} at ${at}` };
  },
};

const names = Object.keys(kinds);

/** Damages a file in the way whose turn it is in this cycle. */
export function damage(sound: Buffer, older: readonly Buffer[], random: Random, cycle: number): Damaged {
  const name = names[cycle % names.length]!;
  const { bytes, where } = kinds[name]!(sound, older, random);
  return { bytes, what: `${name}, ${where}`, needsSeal: name === 'stale meta page' };
}

/** Flips a bit of the data of one event, which nothing but its checksum can tell. */
export function damageData(sound: Buffer, mark: string, random: Random): Damaged {
  const marks: number[] = [];
  for (let at = sound.indexOf(mark); at >= 0; at = sound.indexOf(mark, at + 1)) marks.push(at);
  const bytes = Buffer.from(sound);
  const at = random.pick(marks) + random.between(0, mark.length - 1);
  bytes[at]! ^= 1;
  return { bytes, what: `flipped bit in an event, byte ${at}`, needsSeal: false };
}
