/** One way to damage a file, chosen by a seed. Returns the damaged bytes and what was done. */
export interface Damaged {
  readonly bytes: Buffer;
  readonly what: string;
}

const PAGE = 4096;
const META = { start: 24, end: 160 };

/** The kinds of reliability.md D6. */
export const kinds = ['bit flip', 'zero page', 'swapped pages', 'truncation', 'stale page', 'meta page'] as const;

/** A generator of whole numbers below `n`, the same for the same seed (mulberry32). */
export function dice(seed: number): (n: number) => number {
  let state = seed >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % n;
  };
}

/** @param older the same file at an earlier time, from which stale pages come */
export function damage(sound: Buffer, older: Buffer, seed: number): Damaged {
  const below = dice(seed);
  const bytes = Buffer.from(sound);
  const pages = sound.length / PAGE;
  const page = () => 2 + below(pages - 2);
  const kind = kinds[seed % kinds.length]!;
  const at = page();
  if (kind === 'bit flip') {
    const byte = at * PAGE + below(PAGE);
    bytes[byte]! ^= 1 << below(8);
    return { bytes, what: `${kind} in byte ${byte}` };
  }
  if (kind === 'zero page') return { bytes: bytes.fill(0, at * PAGE, (at + 1) * PAGE), what: `${kind} ${at}` };
  if (kind === 'swapped pages') {
    const other = page();
    sound.copy(bytes, at * PAGE, other * PAGE, (other + 1) * PAGE);
    sound.copy(bytes, other * PAGE, at * PAGE, (at + 1) * PAGE);
    return { bytes, what: `${kind} ${at} and ${other}` };
  }
  if (kind === 'truncation')
    return { bytes: bytes.subarray(0, at * PAGE + below(PAGE)), what: `${kind} in page ${at}` };
  if (kind === 'stale page') {
    const changed: number[] = [];
    for (let p = 0; (p + 1) * PAGE <= Math.min(older.length, sound.length); p++) {
      if (Buffer.compare(older.subarray(p * PAGE, (p + 1) * PAGE), sound.subarray(p * PAGE, (p + 1) * PAGE)) !== 0)
        changed.push(p);
    }
    const stale = changed[below(changed.length)]!;
    older.copy(bytes, stale * PAGE, stale * PAGE, (stale + 1) * PAGE);
    return { bytes, what: `${kind} ${stale}` };
  }
  const meta = below(2) * PAGE;
  if (below(4) === 0) return { bytes: bytes.fill(0, meta, meta + PAGE), what: `${kind} ${meta / PAGE} zeroed` };
  const byte = meta + META.start + below(META.end - META.start);
  bytes[byte]! ^= 1 << below(8);
  return { bytes, what: `${kind}, bit flip in byte ${byte}` };
}
