import { appended } from './appended.ts';
import { maxEventBytes } from './limits.ts';
import { SseError } from './sse.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
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
export const frameAt = (events: Buffer, at: number): Buffer => {
  const end = frameEnd(events, at);
  if (end - at > maxEventBytes) throw new SseError('an event is too large');
  return events.subarray(at, end);
};

/** Passed parts of events; adjacent parts are one piece. */
export class Passage {
  readonly #pieces: Buffer[] = [];
  #events: Buffer = noBytes;
  #start = 0;
  #end = 0;

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

/** Reads events one after another, and passes on parts of them. */
export abstract class FrameReader {
  protected passed = new Passage();
  ended = false;

  protected abstract readAt(events: Buffer, at: number): number;

  /** Up to the last event of the stream or a failure, which it returns. */
  readAll(events: Buffer): { readonly events: Buffer; readonly failure: unknown } {
    this.passed = new Passage();
    let failure: unknown = null;
    try {
      for (let at = 0; at < events.length && !this.ended; ) at = this.readAt(events, at);
    } catch (error) {
      failure = error;
    }
    return { events: this.passed.whole, failure };
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

/** Cuts a stream after its last whole event without parsing it. Line ends become line feeds; other bytes stay. */
export class EventFrames {
  readonly #maxEventBytes: number;
  /** An incomplete event, with room to grow. */
  #hold: Buffer = noBytes;
  #held = 0;
  #afterReturn = false;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** The completed events with their blank lines. @throws SseError for an event above the limit */
  push(piece: Buffer): Buffer {
    const fresh = this.#afterReturn || piece.includes(carriageReturn) ? this.#withLineFeeds(piece) : piece;
    // The last held byte may be half of a blank line.
    const searched = Math.max(0, this.#held - 1);
    const bytes = this.#held === 0 ? fresh : this.#joined(fresh);
    const end = lastFrameEnd(bytes, searched);
    if (bytes.length - end > this.#maxEventBytes) throw new SseError('an event is too large');
    if (end === 0 && this.#held > 0) return noBytes;
    // The held bytes go out with these events, so the rest needs a new buffer.
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

/** 0 without one; it cannot begin before `from`. */
const lastFrameEnd = (bytes: Buffer, from: number): number => {
  // Most pieces end with an event.
  for (let at = bytes.length - 1; at > from; at--) {
    if (bytes[at] === lineFeed && bytes[at - 1] === lineFeed) return at + 1;
  }
  return 0;
};
