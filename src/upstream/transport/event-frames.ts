import { appended } from './appended.ts';
import { maxEventBytes } from './limits.ts';
import { SseError } from './sse.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const noBytes = Buffer.alloc(0);

/** The place after the first blank line at or after `from`, -1 where there is none. A line that begins at `from` may be blank. */
const frameEnd = (bytes: Buffer, from: number): number => {
  let lineStart = from;
  for (;;) {
    const feed = bytes.indexOf(lineFeed, lineStart);
    if (feed === -1) return -1;
    if (feed === lineStart) return feed + 1;
    lineStart = feed + 1;
  }
};

/** The event that begins there. @throws SseError for one that is above the limit */
export const frameAt = (events: Buffer, at: number): Buffer => {
  const end = frameEnd(events, at);
  if (end - at > maxEventBytes) throw new SseError('an event is too large');
  return events.subarray(at, end);
};

/** Reads events one after another. */
export interface FrameReader {
  /** Whether the last has been read. */
  readonly ended: boolean;
  /** Reads the event that begins there. @returns the place after it */
  readAt(events: Buffer, at: number): number;
}

/** Reads whole events up to the last of the stream, or up to one that fails. @returns the failure, null without one */
export const readFrames = (reader: FrameReader, events: Buffer): unknown => {
  try {
    for (let at = 0; at < events.length && !reader.ended; ) at = reader.readAt(events, at);
    return null;
  } catch (failure) {
    return failure;
  }
};

/** What is passed on of events, in order. Those that follow each other pass in one piece. */
export class Passage {
  readonly #pieces: Buffer[] = [];
  #events: Buffer = noBytes;
  #start = 0;
  #end = 0;

  /** A part of these events as it is. */
  pass(events: Buffer, start: number, end: number): void {
    if (events !== this.#events || start !== this.#end) {
      this.#cut();
      this.#events = events;
      this.#start = start;
    }
    this.#end = end;
  }

  put(bytes: Buffer): void {
    this.#cut();
    this.#pieces.push(bytes);
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0 && this.#end === this.#start;
  }

  /** All of it. Of a single piece nothing is copied. */
  get whole(): Buffer {
    this.#cut();
    const pieces = this.#pieces;
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  #cut(): void {
    if (this.#end > this.#start) this.#pieces.push(this.#events.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }
}

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
  /** The beginning of an event, in a buffer that has room for more of it. */
  #hold: Buffer = noBytes;
  #held = 0;
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
    // What is held has no blank line, but its last byte may be half of one.
    const searched = Math.max(0, this.#held - 1);
    const bytes = this.#held === 0 ? fresh : this.#joined(fresh);
    const end = lastFrameEnd(bytes, searched);
    if (bytes.length - end > this.#maxEventBytes) throw new SseError('an event is too large');
    if (end === 0 && this.#held > 0) return noBytes;
    // What was held goes out with these events, so the rest begins a buffer of its own.
    this.#hold = noBytes;
    this.#held = 0;
    if (end === bytes.length) return bytes;
    this.#joined(bytes.subarray(end));
    return bytes.subarray(0, end);
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

/** The place after the last blank line, 0 where there is none; nothing before `from` can be its beginning. */
const lastFrameEnd = (bytes: Buffer, from: number): number => {
  // Most pieces end with an event.
  for (let at = bytes.length - 1; at > from; at--) {
    if (bytes[at] === lineFeed && bytes[at - 1] === lineFeed) return at + 1;
  }
  return 0;
};
