import type { Clock, Millis } from '../../clock.ts';

/** No command takes longer (contract K.1). */
const commandMs: Millis = 5_000;

/** The time of one command, which all of its calls and their repeats share; it begins with the first of them. */
export class Budget {
  #from: Millis | undefined;
  readonly #ms: Millis;

  constructor(ms: Millis = commandMs) {
    this.#ms = ms;
  }

  /** Monotonic. */
  from(clock: Clock): Millis {
    this.#from ??= clock.monotonic();
    return this.#from;
  }

  until(clock: Clock): Millis {
    return this.from(clock) + this.#ms;
  }
}
