import { SseError } from './sse.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const noBytes = Buffer.alloc(0);

/** The place after the first blank line at or after `from`, -1 where there is none. A line that begins at `from` may be blank. */
export const frameEnd = (bytes: Buffer, from: number): number => {
  let lineStart = from;
  for (;;) {
    const feed = bytes.indexOf(lineFeed, lineStart);
    if (feed === -1) return -1;
    if (feed === lineStart) return feed + 1;
    lineStart = feed + 1;
  }
};

/** The values of an event's `data` lines, joined by line feeds; null for an event without any. */
export const dataOf = (frame: Buffer): string | null => {
  let data: string | null = null;
  for (const line of frame.toString('utf8').split('\n')) {
    if (!line.startsWith('data:')) continue;
    const value = line.slice(line[5] === ' ' ? 6 : 5);
    data = data === null ? value : `${data}\n${value}`;
  }
  return data;
};

/**
 * Cuts an event stream after its last whole event without reading it. Line ends of either kind become line feeds, so that an
 * event ends with a blank line of one byte; every other byte stays as it came.
 */
export class EventFrames {
  readonly #maxEventBytes: number;
  #held: Buffer = noBytes;
  #afterReturn = false;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  /**
   * The events that this piece completes, as they lie one after another, each with its blank line.
   * @throws SseError for one that is above the limit and goes on
   */
  push(piece: Buffer): Buffer {
    const fresh = this.#afterReturn || piece.includes(carriageReturn) ? this.#withLineFeeds(piece) : piece;
    const bytes = this.#held.length === 0 ? fresh : Buffer.concat([this.#held, fresh]);
    // What is held has no blank line, but its last byte may be half of one.
    const end = lastFrameEnd(bytes, Math.max(0, this.#held.length - 1));
    if (bytes.length - end > this.#maxEventBytes) throw new SseError('an event is too large');
    this.#held = end === bytes.length ? noBytes : Buffer.from(bytes.subarray(end));
    return end === bytes.length ? bytes : bytes.subarray(0, end);
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

/** The place after the last blank line, 0 where there is none; nothing before `from` can be its beginning. */
const lastFrameEnd = (bytes: Buffer, from: number): number => {
  // Most pieces end with an event.
  for (let at = bytes.length - 1; at > from; at--) {
    if (bytes[at] === lineFeed && bytes[at - 1] === lineFeed) return at + 1;
  }
  return 0;
};
