/** A number in [0, 1), another at each call. */
export type Random = () => number;

/** Mulberry32: the same seed gives the same numbers, on every machine. */
export const randomFrom = (seed: number): Random => {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** Waiting time of a Poisson process, of mean 1. */
export const exponential = (random: Random): number => -Math.log(1 - random());

/** Box and Muller's; one of the two values is thrown away, so that no state is kept. */
const normal = (random: Random): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** A skewed time or length with the given median; `sigma` 0 is the median itself. */
export const lognormal = (random: Random, median: number, sigma: number): number =>
  sigma === 0 ? median : median * Math.exp(sigma * normal(random));

/**
 * Ranks 0 to `count` − 1, rank r drawn in proportion to 1 / (r + 1)^s; `s` 0 is uniform. A table of 8 bytes a rank is
 * searched: 20 comparisons for a million keys.
 */
export const zipf = (count: number, s: number, random: Random): (() => number) => {
  if (s === 0) return () => Math.floor(random() * count);
  const sums = new Float64Array(count);
  let sum = 0;
  for (let rank = 0; rank < count; rank++) {
    sum += (rank + 1) ** -s;
    sums[rank] = sum;
  }
  return () => {
    const wanted = random() * sum;
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle]! > wanted) high = middle;
      else low = middle + 1;
    }
    return low;
  };
};
