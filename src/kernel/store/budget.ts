import type { Clock, Millis } from '../../clock.ts';

/** The longest time of a command (contract K.1). */
const commandMs: Millis = 5_000;

/** The time of one command, shared by its calls and their repeats; starts with the first call. */
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
