/** Records begin and end at 16 bytes; 64 would suit the cache better but take 6 % more memory per Free key. */
export const unitWords = 4;
/** 4 MiB. Untouched pages are not resident. */
const stepBytes = 2 ** 22;
/** Keeps byte indexes of two-byte elements within int32: four million active Free keys. */
const mostBytes = 2 ** 32;
/** Address 0 is reserved for freed records. */
const firstWord = unitWords;

/** Memory for records, addressed by word. Only a SharedArrayBuffer grows in place, and older views of it stay valid. */
export class Slab {
  i32!: Int32Array;
  u16!: Uint16Array;
  f64!: Float64Array;
  readonly #memory: SharedArrayBuffer;
  readonly #stepBytes: number;
  #next = firstWord;
  /** Returned runs by length. */
  readonly #free = new Map<number, number[]>();

  constructor(limits: { readonly mostBytes: number; readonly stepBytes: number } = { mostBytes, stepBytes }) {
    this.#stepBytes = limits.stepBytes;
    this.#memory = new SharedArrayBuffer(limits.stepBytes, { maxByteLength: limits.mostBytes });
    this.#look();
  }

  get bytes(): number {
    return this.#next * Int32Array.BYTES_PER_ELEMENT;
  }

  /** The address of a run with arbitrary contents. @throws RangeError when the memory is full */
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

  /** Fixed-length views, because views that follow the buffer's length are slower. */
  #look(): void {
    const { byteLength } = this.#memory;
    this.i32 = new Int32Array(this.#memory, 0, byteLength / Int32Array.BYTES_PER_ELEMENT);
    this.u16 = new Uint16Array(this.#memory, 0, byteLength / Uint16Array.BYTES_PER_ELEMENT);
    this.f64 = new Float64Array(this.#memory, 0, byteLength / Float64Array.BYTES_PER_ELEMENT);
  }
}
