/** A piece of bytes. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const quote = 0x22;
const backslash = 0x5c;
const lineFeed = 0x0a;
const letterU = 0x75;

const nothing = Buffer.alloc(0);

/**
 * Most chunks of a stream are alike but for the one text that they carry: what is before it and after it is the same, byte for
 * byte, so that whatever the last one meant the next one means. Such a chunk need not be read.
 */
export class AlikeChunks {
  #head: Buffer = nothing;
  #tail: Buffer = nothing;

  /** No event is like the last any more. */
  forget(): void {
    this.#head = nothing;
  }

  /** @param text where the one text of an event is, between its quotes */
  learn(frame: Buffer, { start, end }: Span): void {
    this.#head = Buffer.from(frame.subarray(0, start));
    this.#tail = Buffer.from(frame.subarray(end));
  }

  /**
   * The end of the event that begins there, and the bytes of its text in UTF-8; null for one that is not like the last.
   */
  textAt(bytes: Buffer, from: number): { readonly end: number; readonly bytes: number } | null {
    const [head, tail] = [this.#head, this.#tail];
    const start = from + head.length;
    if (head.length === 0 || start >= bytes.length || bytes.compare(head, 0, head.length, from, start) !== 0)
      return null;
    let escapes = 0;
    let at = start;
    for (; bytes[at] !== quote; at++) {
      if (at >= bytes.length || bytes[at] === lineFeed) return null;
      if (bytes[at] !== backslash) continue;
      // It stands for one byte; \u for one to four.
      if (bytes[at + 1] === letterU) return null;
      escapes += 1;
      at += 1;
    }
    const end = at + tail.length;
    if (end > bytes.length || bytes.compare(tail, 0, tail.length, at, end) !== 0) return null;
    return { end, bytes: at - start - escapes };
  }
}
