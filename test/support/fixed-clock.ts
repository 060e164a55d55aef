import type { Clock } from '../../src/clock.ts';

/** A clock that stands still, or is set by hand. */
export const fixedClock = (at: number): Clock & { at: number } => {
  const clock = { at, wall: () => clock.at, monotonic: () => clock.at };
  return clock;
};
