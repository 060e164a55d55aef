import { SseError } from './sse.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const noBytes = Buffer.alloc(0);

/**
 * Cuts an event stream into its events without reading them. Line ends of either kind become line feeds, so that an event
 * ends with a blank line of one byte; every other byte stays as it came.
 */
export class EventFrames {
  readonly #maxEventBytes: number;
  #held: Buffer = noBytes;
  #afterReturn = false;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  /**
   * The events that this piece completes, each with its blank line.
   * @throws SseError for an event above the limit
   */
  push(piece: Buffer): readonly Buffer[] {
    const fresh = this.#afterReturn || piece.includes(carriageReturn) ? this.#withLineFeeds(piece) : piece;
    const bytes = this.#held.length === 0 ? fresh : Buffer.concat([this.#held, fresh]);
    const frames: Buffer[] = [];
    let from = 0;
    // The held bytes have no blank line, but their last byte may be half of one.
    let at = Math.max(0, this.#held.length - 1);
    for (;;) {
      const feed = bytes.indexOf(lineFeed, at);
      if (feed === -1 || feed + 1 >= bytes.length) break;
      at = feed + 1;
      if (bytes[at] !== lineFeed) continue;
      at += 1;
      this.#check(at - from);
      frames.push(bytes.subarray(from, at));
      from = at;
    }
    this.#check(bytes.length - from);
    // Copied, since what came is only lent and a small rest would keep a large piece.
    this.#held = from === bytes.length ? noBytes : Buffer.from(bytes.subarray(from));
    return frames;
  }

  #check(bytes: number): void {
    if (bytes > this.#maxEventBytes) throw new SseError('an event is too large');
  }

  #withLineFeeds(piece: Buffer): Buffer {
    const bytes = Buffer.allocUnsafe(piece.length);
    let length = 0;
    for (const byte of piece) {
      const isSecondHalf = byte === lineFeed && this.#afterReturn;
      this.#afterReturn = byte === carriageReturn;
      if (!isSecondHalf) bytes[length++] = byte === carriageReturn ? lineFeed : byte;
    }
    return bytes.subarray(0, length);
  }
}
