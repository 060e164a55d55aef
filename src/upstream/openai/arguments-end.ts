const quote = 0x22;
const backslash = 0x5c;
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Follows the arguments of a call, which are a JSON object, from piece to piece, and tells when it is whole. */
export class ArgumentsEnd {
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  /** Whether it is: nothing but white space can follow. */
  isWhole = false;

  add(piece: string): void {
    for (let at = 0; at < piece.length && !this.isWhole; at++) {
      const code = piece.charCodeAt(at);
      if (this.#isText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (code === backslash) this.#isEscaped = true;
        else if (code === quote) this.#isText = false;
      } else if (code === quote) this.#isText = true;
      else if (opening.has(code)) this.#depth += 1;
      else if (closing.has(code)) {
        this.#depth -= 1;
        this.isWhole = this.#depth <= 0;
      }
    }
  }
}
