import { appended } from './appended.ts';
import { maxEventBytes } from './limits.ts';

/** Server-sent events by the HTML standard, as bytes: a line end is one byte in UTF-8. */

export class SseError extends Error {}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
const blankLine = Buffer.from('\n\n');
const noBytes = Buffer.alloc(0);

/** -1 without one. A line at `from` may be blank. */
const frameEnd = (bytes: Buffer, from: number): number => {
  let lineStart = from;
  for (;;) {
    const feed = bytes.indexOf(lineFeed, lineStart);
    if (feed === -1) return -1;
    if (feed === lineStart) return feed + 1;
    lineStart = feed + 1;
  }
};

/** @throws SseError above the limit */
export const frameAt = (events: Buffer, at: number, most = maxEventBytes): Buffer => {
  const end = frameEnd(events, at);
  if (end - at > most) throw new SseError('an event is too large');
  return events.subarray(at, end);
};

/** From here on a native call is cheaper. */
const longPart = 64;

export const isAt = (bytes: Buffer, at: number, what: Buffer): boolean => {
  const { length } = what;
  if (at + length > bytes.length) return false;
  if (length >= longPart) return bytes.compare(what, 0, length, at, at + length) === 0;
  for (let index = 0; index < length; index++) if (bytes[at + index] !== what[index]) return false;
  return true;
};

const field = Buffer.from('data:');
const nextField = Buffer.from('\ndata:');
const blank = Buffer.from(' ');

/** The data of an event that is JSON; null without any. JSON has no line end inside a string, so a space can replace it. */
export const documentIn = (frame: Buffer): Buffer | null => {
  let document: Buffer | null = null;
  let at = isAt(frame, 0, field) ? 0 : frame.indexOf(nextField) + 1 || -1;
  while (at !== -1) {
    const start = at + field.length + (frame[at + field.length] === space ? 1 : 0);
    const end = frame.indexOf(lineFeed, start);
    const line = frame.subarray(start, end);
    document = document === null ? line : Buffer.concat([document, blank, line]);
    at = end === frame.length - 2 ? -1 : frame.indexOf(nextField, end) + 1 || -1;
  }
  return document;
};

/** Whether the event has that name, which is letters. */
export const isNamed = (frame: Buffer, name: string): boolean =>
  new RegExp(`^event: ?${name}$`, 'm').test(frame.toString('latin1'));

/** Cuts a stream after its last whole event without parsing it. Line ends become line feeds; other bytes stay. */
export class EventFrames {
  readonly #maxEventBytes: number;
  /** An incomplete event, with room to grow. */
  #hold: Buffer = noBytes;
  #held = 0;
  #afterReturn = false;
  #isFirst = true;
  /** Why nothing follows the events that have been given. */
  fault: SseError | null = null;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** The completed events with their blank lines. An event above the limit is the `fault`. */
  push(piece: Buffer): Buffer {
    const fresh = this.#afterReturn || piece.includes(carriageReturn) ? this.#withLineFeeds(piece) : piece;
    // The last held byte may be half of a blank line.
    const searched = Math.max(0, this.#held - 1);
    const bytes = this.#held === 0 ? fresh : this.#joined(fresh);
    const start = this.#isFirst && isAt(bytes, 0, byteOrderMark) ? byteOrderMark.length : 0;
    const end = lastFrameEnd(bytes, start, searched);
    const isTooLarge = bytes.length - Math.max(start, end) > this.#maxEventBytes;
    if (isTooLarge) this.fault = new SseError('an event is too large');
    if (end === 0 && this.#held > 0) return noBytes;
    // The held bytes go out with these events, so the rest needs a new buffer.
    this.#hold = noBytes;
    this.#held = 0;
    if (end < bytes.length && !isTooLarge) this.#joined(bytes.subarray(end));
    if (end === 0) return noBytes;
    this.#isFirst = false;
    return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
  }

  /** The body has ended. Some servers leave out the last blank line, and the SDKs read that event all the same. */
  rest(): Buffer {
    if (this.#held === 0 || this.fault !== null) return noBytes;
    const bytes = this.#joined(blankLine);
    return this.#isFirst && isAt(bytes, 0, byteOrderMark) ? bytes.subarray(byteOrderMark.length) : bytes;
  }

  #joined(more: Buffer): Buffer {
    this.#hold = appended(this.#hold, this.#held, more);
    this.#held += more.length;
    return this.#hold.subarray(0, this.#held);
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

/** 0 without one. @param from where its blank line may begin @param start of an event, which a blank line alone ends */
const lastFrameEnd = (bytes: Buffer, start: number, from: number): number => {
  // Most pieces end with an event.
  for (let at = bytes.length - 1; at > from; at--) {
    if (bytes[at] === lineFeed && bytes[at - 1] === lineFeed) return at + 1;
  }
  return bytes[start] === lineFeed ? start + 1 : 0;
};
