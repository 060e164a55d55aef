import { Buffer, isUtf8 } from 'node:buffer';
import { appended } from './appended.ts';

export interface SseEvent {
  readonly event: string;
  readonly data: string;
}

export class SseError extends Error {}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;
const space = 0x20;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
const smallestHold = 4096;

/** Server-sent events by the HTML standard. Lines are cut before decoding: a line end is one byte in UTF-8. */
export class SseParser {
  readonly #maxEventBytes: number;
  /** An incomplete line; only the first `#held` bytes count. */
  #hold: Buffer = Buffer.allocUnsafe(smallestHold);
  #held = 0;
  #afterReturn = false;
  #firstLine = true;
  #eventBytes = 0;
  #event = '';
  #data: string | null = null;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** Events before a fault are yielded first. @throws SseError above the limit, or for invalid UTF-8 */
  *push(piece: Buffer): Generator<SseEvent, void, undefined> {
    let from = 0;
    if (this.#afterReturn && piece.length > 0) {
      this.#afterReturn = false;
      if (piece[0] === lineFeed) from = 1;
    }
    let nextReturn = piece.indexOf(carriageReturn, from);
    while (from < piece.length) {
      const feed = piece.indexOf(lineFeed, from);
      if (nextReturn >= 0 && nextReturn < from) nextReturn = piece.indexOf(carriageReturn, from);
      const returns = nextReturn >= 0 && (feed < 0 || nextReturn < feed);
      const end = returns ? nextReturn : feed;
      if (end < 0) break;
      const event = this.#line(this.#whole(piece.subarray(from, end)));
      if (event !== null) yield event;
      from = end + 1;
      if (!returns) continue;
      if (from === piece.length) this.#afterReturn = true;
      else if (piece[from] === lineFeed) from += 1;
    }
    if (from < piece.length) this.#keep(piece.subarray(from));
  }

  #keep(bytes: Buffer): void {
    this.#count(bytes.length);
    this.#hold = appended(this.#hold, this.#held, bytes);
    this.#held += bytes.length;
  }

  #whole(rest: Buffer): Buffer {
    if (this.#held === 0) {
      this.#count(rest.length);
      return rest;
    }
    this.#keep(rest);
    const line = this.#hold.subarray(0, this.#held);
    this.#held = 0;
    return line;
  }

  #count(bytes: number): void {
    this.#eventBytes += bytes;
    if (this.#eventBytes > this.#maxEventBytes) throw new SseError('an event is too large');
  }

  #line(bytes: Buffer): SseEvent | null {
    let line = bytes;
    if (this.#firstLine) {
      this.#firstLine = false;
      if (line.subarray(0, 3).equals(byteOrderMark)) line = line.subarray(3);
    }
    if (line.length === 0) return this.#dispatch();
    if (line[0] !== colon) this.#field(line);
    return null;
  }

  #field(line: Buffer): void {
    const end = line.indexOf(colon);
    const name = line.toString('latin1', 0, end < 0 ? line.length : end);
    if (name !== 'data' && name !== 'event') return;
    const from = end < 0 ? line.length : line[end + 1] === space ? end + 2 : end + 1;
    const bytes = line.subarray(from);
    if (!isUtf8(bytes)) throw new SseError('the stream is not UTF-8');
    const value = bytes.toString('utf8');
    if (name === 'event') this.#event = value;
    else this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
  }

  #dispatch(): SseEvent | null {
    const event =
      this.#data === null ? null : { event: this.#event === '' ? 'message' : this.#event, data: this.#data };
    this.#event = '';
    this.#data = null;
    this.#eventBytes = 0;
    return event;
  }
}
