import { closeSync, openSync, readlinkSync, readSync } from 'node:fs';

/** Where the system tells how long a thread has had a processor; null where it does not, as beside Linux. */
export type ThreadPlace = string | null;

/** Of the thread that asks. */
export const thisThread = (): ThreadPlace => {
  try {
    return `/proc/${readlinkSync('/proc/thread-self')}/schedstat`;
  } catch {
    return null;
  }
};

/** How long the thread of that place has had a processor. A file that stays open, for opening it takes a hundred times as long. */
export class ProcessorClock {
  #file: number | null;
  readonly #read = Buffer.alloc(64);

  constructor(place: ThreadPlace) {
    this.#file = fileAt(place);
  }

  /** Milliseconds; null where the system does not tell, or the thread has ended. */
  get millis(): number | null {
    if (this.#file === null) return null;
    try {
      const length = readSync(this.#file, this.#read, 0, this.#read.length, 0);
      return Number(this.#read.toString('latin1', 0, length).split(' ', 1)[0]) / 1e6;
    } catch {
      return null;
    }
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }
}

const fileAt = (place: ThreadPlace): number | null => {
  try {
    return place === null ? null : openSync(place, 'r');
  } catch {
    return null;
  }
};

/** Where others have the processors too, work may take so many times as long by the clock. */
const patience = 3;

/** How long the work of one thread may take, from now on: milliseconds of a processor, so that it is the same whoever else works. */
export class Deadline {
  readonly #millis: number;
  readonly #clock: ProcessorClock;
  readonly #beganAt: number;
  readonly #processorAt: number | null;

  constructor(millis: number, clock: ProcessorClock) {
    this.#millis = millis;
    this.#clock = clock;
    this.#beganAt = performance.now();
    this.#processorAt = clock.millis;
  }

  /** What the work has taken so far; by the clock where the system does not tell. */
  get spent(): number {
    const now = this.#clock.millis;
    return now === null || this.#processorAt === null ? performance.now() - this.#beganAt : now - this.#processorAt;
  }

  /** By the clock, the time that is left at least; at most 0 where all is over. */
  get left(): number {
    const passed = performance.now() - this.#beganAt;
    // The thread has not had the processor for longer than that.
    if (passed < this.#millis) return this.#millis - passed;
    return Math.min(this.#millis - this.spent, patience * this.#millis - passed);
  }

  /** Whether it is over because others have had the processors. */
  get isCrowdedOut(): boolean {
    return this.spent < this.#millis;
  }
}
