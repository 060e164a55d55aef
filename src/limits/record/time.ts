import { dayMs, type Millis } from '../../clock.ts';

export const secondMs = 1_000;
export const tenMinutesMs = 600_000;

/** Inner time starts above a day, so that windows from before the start have ticks that are not negative. */
const base = 10 * dayMs;

/** The time of a family of windows: whole milliseconds of the monotonic clock, never going back, and the parts of it. */
export class WindowTime {
  now = base;
  /** `now` modulo 2^32, as a signed number. */
  ms = base | 0;
  second = base / secondMs;
  tenMinutes = base / tenMinutesMs;
  #nextSecond = base + secondMs;

  /** Moves on to `nowMs` of the monotonic clock; a time that is not later, or no number, changes nothing. */
  set(nowMs: Millis): void {
    const now = Math.floor(nowMs) + base;
    if (!(now > this.now)) return;
    this.now = now;
    this.ms = now | 0;
    if (now < this.#nextSecond) return;
    this.second = Math.floor(now / secondMs);
    this.tenMinutes = Math.floor(now / tenMinutesMs);
    this.#nextSecond = (this.second + 1) * secondMs;
  }
}
