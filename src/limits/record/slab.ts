/** Runs begin and end at 16 bytes: 64 would be kinder to the cache and costs 6 % more memory per Free key. */
export const unitWords = 4;
/** What the slab grows by: 4 MiB. Pages that no record has touched are not resident. */
const stepBytes = 2 ** 22;
/** Where an index of two bytes is still an int32: four million active Free keys. */
const mostBytes = 2 ** 32;
/** No record begins at 0: nothing that was forgotten to be set is one. */
const firstWord = unitWords;

/**
 * Memory for records: one run of words, of which an address is an index. It is a SharedArrayBuffer, the one kind of
 * memory that grows where it is: nothing is copied, and a view from before the growth still shows what it did.
 */
export class Slab {
  i32!: Int32Array;
  u16!: Uint16Array;
  f64!: Float64Array;
  readonly #memory: SharedArrayBuffer;
  readonly #stepBytes: number;
  #next = firstWord;
  /** Runs that have been given back, by their length. */
  readonly #free = new Map<number, number[]>();

  constructor(limits: { readonly mostBytes: number; readonly stepBytes: number } = { mostBytes, stepBytes }) {
    this.#stepBytes = limits.stepBytes;
    this.#memory = new SharedArrayBuffer(limits.stepBytes, { maxByteLength: limits.mostBytes });
    this.#look();
  }

  /** Bytes that records have ever taken. */
  get bytes(): number {
    return this.#next * Int32Array.BYTES_PER_ELEMENT;
  }

  /** The address of a run, with whatever lay there before. @throws RangeError when all of the memory is taken */
  take(units: number): number {
    const words = units * unitWords;
    const reused = this.#free.get(units)?.pop();
    if (reused !== undefined) return reused;
    while (this.#next + words > this.i32.length) this.#grow();
    const address = this.#next;
    this.#next += words;
    return address;
  }

  give(address: number, units: number): void {
    const runs = this.#free.get(units);
    if (runs) runs.push(address);
    else this.#free.set(units, [address]);
  }

  #grow(): void {
    const { byteLength, maxByteLength } = this.#memory;
    if (byteLength === maxByteLength) {
      throw new RangeError(`All ${maxByteLength} bytes for the windows of active credentials are taken.`);
    }
    this.#memory.grow(Math.min(byteLength + this.#stepBytes, maxByteLength));
    this.#look();
  }

  /** Views of a fixed length: those that follow a buffer's length cost more with every access. */
  #look(): void {
    const { byteLength } = this.#memory;
    this.i32 = new Int32Array(this.#memory, 0, byteLength / Int32Array.BYTES_PER_ELEMENT);
    this.u16 = new Uint16Array(this.#memory, 0, byteLength / Uint16Array.BYTES_PER_ELEMENT);
    this.f64 = new Float64Array(this.#memory, 0, byteLength / Float64Array.BYTES_PER_ELEMENT);
  }
}
