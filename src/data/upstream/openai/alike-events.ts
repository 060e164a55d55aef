const quote = 0x22;
const backslash = 0x5c;
const lineFeed = 0x0a;
const letterU = 0x75;
const zero = 0x30;
const nine = 0x39;

/** A string between its quotes or an unsigned whole number that differs between events. */
export interface Varying {
  readonly start: number;
  readonly end: number;
  readonly isText?: boolean;
  readonly isNumber?: boolean;
  /** It is constant, and left out. */
  readonly isCut?: boolean;
}

export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Alike {
  readonly end: number;
  readonly bytes: number;
  readonly cut: Span | null;
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= zero && byte <= nine;

/** From here on a native call is cheaper. */
const longPiece = 64;

const isAt = (bytes: Buffer, at: number, what: Buffer): boolean => {
  const { length } = what;
  if (at + length > bytes.length) return false;
  if (length >= longPiece) return bytes.compare(what, 0, length, at, at + length) === 0;
  for (let index = 0; index < length; index++) if (bytes[at + index] !== what[index]) return false;
  return true;
};

/**
 * Most events of a stream differ only in a few values, one of them the text. If the other bytes equal those of the
 * last event, so does the meaning, and the event need not be parsed.
 */
export class AlikeEvents {
  /** The constant parts between the values that differ; empty until an event is learnt. */
  #same: readonly Buffer[] = [];
  #varying: readonly Varying[] = [];
  #cut: Buffer = Buffer.alloc(0);

  forget(): void {
    this.#same = [];
  }

  /** @param varying in their order. @param start of the document in the frame */
  learn(frame: Buffer, varying: readonly Varying[], start: number): void {
    let from = 0;
    const same = varying.map((value) => {
      if (value.isCut) this.#cut = Buffer.from(frame.subarray(start + value.start, start + value.end));
      const piece = Buffer.from(frame.subarray(from, start + value.start));
      from = start + value.end;
      return piece;
    });
    this.#same = [...same, Buffer.from(frame.subarray(from))];
    this.#varying = varying;
  }

  /** Null if the event there is unlike the last. */
  textAt(bytes: Buffer, from: number): Alike | null {
    const same = this.#same;
    if (same.length === 0 || !isAt(bytes, from, same[0]!)) return null;
    let at = from + same[0]!.length;
    let textBytes = 0;
    let cut: Span | null = null;
    for (let index = 1; index < same.length; index++) {
      const { isText, isNumber, isCut } = this.#varying[index - 1]!;
      const start = at;
      if (isCut) {
        if (!isAt(bytes, at, this.#cut)) return null;
        at += this.#cut.length;
        cut = { start, end: at };
      } else if (isNumber) {
        while (isDigit(bytes[at])) at++;
        if (at === start) return null;
      } else {
        let escapes = 0;
        for (; bytes[at] !== quote; at++) {
          if (at >= bytes.length || bytes[at] === lineFeed) return null;
          if (bytes[at] !== backslash) continue;
          // A simple escape is one byte; \u is one to four.
          if (bytes[at + 1] === letterU) return null;
          escapes += 1;
          at += 1;
        }
        if (isText) textBytes += at - start - escapes;
      }
      if (!isAt(bytes, at, same[index]!)) return null;
      at += same[index]!.length;
    }
    return { end: at, bytes: textBytes, cut };
  }
}
