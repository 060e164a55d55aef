import type { Code } from '../errors.ts';

/** Request bytes held in memory, over all requests of a server. */
export interface Budget {
  used: number;
  readonly most: number;
}

const leastCapacity = 16 * 1024;

/** Collects a body that arrives in several pieces; the core's memory is only lent, so each piece is copied. */
export class Body {
  #bytes: Buffer = Buffer.alloc(0);
  #size = 0;
  readonly #limit: number;
  readonly #announced: number;
  readonly #budget: Budget;

  /** @param announced Content-Length, or -1 */
  constructor(budget: Budget, limit: number, announced: number) {
    this.#budget = budget;
    this.#limit = limit;
    this.#announced = announced;
  }

  get size(): number {
    return this.#size;
  }

  /** @returns why no more of the body is kept: 413, or 503 when all requests together hold too much */
  add(piece: Uint8Array): Code | undefined {
    const size = this.#size + piece.length;
    if (size > this.#limit) return 'request_too_large';
    if (this.#budget.used + piece.length > this.#budget.most) return 'server_busy';
    this.#budget.used += piece.length;
    if (size > this.#bytes.length) this.#grow(size);
    this.#bytes.set(piece, this.#size);
    this.#size = size;
    return undefined;
  }

  #grow(needed: number): void {
    // Doubling, but never past what was announced: memory follows what has arrived, not what was promised.
    const ceiling = this.#announced === -1 ? this.#limit : Math.max(needed, this.#announced);
    const capacity = Math.max(needed, Math.min(ceiling, Math.max(leastCapacity, this.#bytes.length * 2)));
    const wider = Buffer.allocUnsafeSlow(capacity);
    wider.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = wider;
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }

  /** Gives the bytes back to the budget. Safe to call again. */
  release(): void {
    this.#budget.used -= this.#size;
    this.#size = 0;
    this.#bytes = Buffer.alloc(0);
  }
}
