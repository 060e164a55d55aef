import { unitWords } from './layout.ts';

/** A slab is 4 MiB: small enough to be waste nowhere, and pages that no record has touched are not resident. */
export const slabShift = 18;
export const slabMask = (1 << slabShift) - 1;
const slabBytes = (unitWords * 4) << slabShift;

/** Gives zeroed memory: an ArrayBuffer, or a SharedArrayBuffer for several workers. */
export type Allocate = (bytes: number) => ArrayBuffer | SharedArrayBuffer;

/**
 * Memory for records. It grows by whole slabs, so no record ever moves for it. An address counts units of 16 bytes over
 * all slabs: slab `address >>> slabShift`, word `(address & slabMask) << 2`.
 */
export class Slabs {
  readonly i32: Int32Array[] = [];
  readonly u16: Uint16Array[] = [];
  readonly f64: Float64Array[] = [];
  readonly #allocate: Allocate;
  /** First unit of the newest slab that has never been used. */
  #next = slabMask + 1;
  /** Runs that have been given back, by their length. */
  readonly #free = new Map<number, number[]>();

  constructor(allocate: Allocate) {
    this.#allocate = allocate;
  }

  /** Bytes of all slabs, used or not. */
  get bytes(): number {
    return this.i32.length * slabBytes;
  }

  /** The address of a zeroed run. */
  take(units: number): number {
    const reused = this.#free.get(units)?.pop();
    if (reused !== undefined) {
      const word = (reused & slabMask) * unitWords;
      this.i32[reused >>> slabShift]!.fill(0, word, word + units * unitWords);
      return reused;
    }
    if (this.#next + units > slabMask + 1) this.#grow();
    const address = ((this.i32.length - 1) << slabShift) + this.#next;
    this.#next += units;
    return address;
  }

  give(address: number, units: number): void {
    const runs = this.#free.get(units);
    if (runs) runs.push(address);
    else this.#free.set(units, [address]);
  }

  #grow(): void {
    const memory = this.#allocate(slabBytes);
    this.i32.push(new Int32Array(memory));
    this.u16.push(new Uint16Array(memory));
    this.f64.push(new Float64Array(memory));
    this.#next = 0;
  }
}
