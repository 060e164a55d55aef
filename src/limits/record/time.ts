import { dayMs, type Millis } from '../../clock.ts';

export const secondMs = 1_000;
export const tenMinutesMs = 600_000;

/** Starts above a day, so that ticks before the start are not negative. */
const base = 10 * dayMs;

/** The time of a family of windows: whole monotonic milliseconds, never going back. */
export class WindowTime {
  #base = base;
  now = base;
  /** `now` modulo 2^32, signed. */
  ms = base | 0;
  second = base / secondMs;
  tenMinutes = base / tenMinutesMs;
  #nextSecond = base + secondMs;

  /** Sets the time so that `into` of its ten minutes have passed. Before anything is counted. */
  begin(nowMs: Millis, into: Millis): void {
    this.#base = base + modulo(into - Math.floor(nowMs), tenMinutesMs);
    this.set(nowMs);
  }

  /** Ignores a time that is not later, or NaN. */
  set(nowMs: Millis): void {
    const now = Math.floor(nowMs) + this.#base;
    if (!(now > this.now)) return;
    this.now = now;
    this.ms = now | 0;
    if (now < this.#nextSecond) return;
    this.second = Math.floor(now / secondMs);
    this.tenMinutes = Math.floor(now / tenMinutesMs);
    this.#nextSecond = (this.second + 1) * secondMs;
  }
}

/** Never negative. */
export const modulo = (value: number, by: number): number => ((value % by) + by) % by;
