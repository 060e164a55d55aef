const leastCapacity = 16 * 1024;

/** Copies each piece: uWebSockets only lends its memory. */
export class Body {
  #bytes: Buffer = Buffer.alloc(0);
  #size = 0;
  /** Announced, or the route's maximum. */
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
    // Doubles up to the announced length: memory follows what has arrived.
    const capacity = Math.max(needed, Math.min(this.#ceiling, Math.max(leastCapacity, this.#bytes.length * 2)));
    const wider = Buffer.allocUnsafeSlow(capacity);
    wider.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = wider;
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }
}
