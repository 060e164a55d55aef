/** A seeded source of numbers: the same seed makes the same plan. */
export interface Random {
  /** From 0 inclusive to 1 exclusive. */
  next(): number;
  /** A whole number from `low` to `high`, both inclusive. */
  between(low: number, high: number): number;
  pick<T>(from: readonly T[]): T;
}

/** Mulberry32. `part` names one cycle, so that it can be repeated without those before it. */
export function seeded(seed: number, part = 0): Random {
  let state = (seed + Math.imul(part, 0x9e3779b1)) >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    pick: (from) => from[Math.floor(next() * from.length)]!,
  };
}
