import { closeSync, openSync, readlinkSync, readSync } from 'node:fs';

/** Linux's file with a thread's processor time; null on other systems. */
export type ThreadPlace = string | null;

export const thisThread = (): ThreadPlace => {
  try {
    return `/proc/${readlinkSync('/proc/thread-self')}/schedstat`;
  } catch {
    return null;
  }
};

/** Processor time of a thread. Keeps the file open, because opening it takes a hundred times as long as reading. */
export class ProcessorClock {
  #file: number | null;
  readonly #read = Buffer.alloc(64);

  constructor(place: ThreadPlace) {
    this.#file = fileAt(place);
  }

  /** Milliseconds; null if unknown or the thread has ended. */
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

/** Limit by the clock on a busy machine, as a multiple of the processor time. */
const patience = 3;

/** Limit on a thread's work in milliseconds of processor time, so that other load does not count. */
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

  /** Processor time so far, or elapsed time if that is unknown. */
  get spent(): number {
    const now = this.#clock.millis;
    return now === null || this.#processorAt === null ? performance.now() - this.#beganAt : now - this.#processorAt;
  }

  /** Least remaining time by the clock; 0 or less once it is over. */
  get left(): number {
    const passed = performance.now() - this.#beganAt;
    // Processor time cannot exceed elapsed time.
    if (passed < this.#millis) return this.#millis - passed;
    return Math.min(this.#millis - this.spent, patience * this.#millis - passed);
  }

  /** Whether the limit was reached because of other load. */
  get isCrowdedOut(): boolean {
    return this.spent < this.#millis;
  }
}
