const leastCapacity = 16 * 1024;

/** Collects a body that arrives in several pieces; the core's memory is only lent, so each piece is copied. */
export class Body {
  #bytes: Buffer = Buffer.alloc(0);
  #size = 0;
  /** Bytes that the body may come to have: those announced, or the most of its route. */
  readonly #ceiling: number;

  constructor(ceiling: number) {
    this.#ceiling = ceiling;
  }

  get size(): number {
    return this.#size;
  }

  add(piece: Uint8Array): void {
    const size = this.#size + piece.length;
    if (size > this.#bytes.length) this.#grow(size);
    this.#bytes.set(piece, this.#size);
    this.#size = size;
  }

  #grow(needed: number): void {
    // Doubling, but never past what was announced: memory follows what has arrived, not what was promised.
    const capacity = Math.max(needed, Math.min(this.#ceiling, Math.max(leastCapacity, this.#bytes.length * 2)));
    const wider = Buffer.allocUnsafeSlow(capacity);
    wider.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = wider;
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }
}
