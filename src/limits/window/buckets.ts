/**
 * Rings of counters, one bucket per tick that is over. A tick lies in cell `tick % length`, and only the newest `length` of
 * them count, besides the running one, which is counted elsewhere. All functions walk from a tick that is known not to be
 * after the oldest non-empty one, so a ring that has been looked at before costs a step or two and not its length.
 */

type Cells = Int32Array | Uint16Array;

/** Empties the buckets of ticks `from` to `to` and returns what they held. */
export const emptyBuckets = (cells: Cells, at: number, length: number, from: number, to: number): number => {
  let held = 0;
  let cell = from % length;
  for (let left = to - from; left >= 0; left--) {
    const amount = cells[at + cell]!;
    if (amount !== 0) {
      held += amount;
      cells[at + cell] = 0;
    }
    if (++cell === length) cell = 0;
  }
  return held;
};

/** The oldest tick with anything in it, `from` or later; the running one `now` where no other has. */
export const oldestBucket = (cells: Cells, at: number, length: number, from: number, now: number): number => {
  let tick = from;
  while (tick < now && cells[at + (tick % length)] === 0) tick++;
  return tick;
};

/** The tick whose leaving brings the sum down to `target` or below; the sum must be above it now. */
export const lastToLeave = (
  cells: Cells,
  at: number,
  length: number,
  from: number,
  now: number,
  sum: number,
  target: number,
): number => {
  let left = sum;
  for (let tick = from; tick < now; tick++) {
    left -= cells[at + (tick % length)]!;
    if (left <= target) return tick;
  }
  return now;
};
