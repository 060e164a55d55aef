import { malformed } from '../transport/upstream-errors.ts';

const quote = 0x22;
const backslash = 0x5c;
const brace = 0x7b;
const opening: ReadonlySet<number> = new Set([0x5b, brace]);
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d]);
const blank: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const none = 'null';

/** Finds the end of a call's arguments, a JSON object in pieces, or `null` for none. */
export class ArgumentsEnd {
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  /** Letters of `null` that have come. */
  #letters = 0;
  /** Only white space may follow. */
  isWhole = false;

  get isBegun(): boolean {
    return this.isWhole || this.#depth > 0 || this.#letters > 0;
  }

  /** Returns what of it is in the object or behind it. @throws UpstreamError for bytes around the object */
  add(piece: string): string {
    let start = this.#depth > 0 ? 0 : piece.length;
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      if (this.#isText) this.#inText(code);
      else if (this.#depth === 0) {
        this.#outside(code);
        if (this.#depth > 0) start = at;
      } else if (code === quote) this.#isText = true;
      else if (opening.has(code)) this.#depth += 1;
      else if (closing.has(code)) {
        this.#depth -= 1;
        this.isWhole = this.#depth === 0;
      }
    }
    return start === 0 ? piece : piece.slice(start);
  }

  #outside(code: number): void {
    if (blank.has(code)) return;
    if (!this.isWhole && code === none.charCodeAt(this.#letters)) {
      this.#letters += 1;
      this.isWhole = this.#letters === none.length;
      return;
    }
    if (this.isWhole || this.#letters > 0 || code !== brace) throw malformed('the arguments of a call are no object');
    this.#depth = 1;
  }

  #inText(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === backslash) this.#isEscaped = true;
    else if (code === quote) this.#isText = false;
  }
}
