import type { Millis } from '../../../clock.ts';
import { HttpFault, unsound } from './fault.ts';
import { checkTrailers, ResponseHead } from './response-head.ts';

/** Calls come in this order, `body` any number of times. */
export interface ResponseReader {
  head(head: ResponseHead): void;
  body(piece: Buffer): void;
  end(): void;
}

const maxBlockBytes = 16_384;
/** Interim answers (100 to 199) before the one that counts. */
const maxInterim = 16;
const maxExtensionBytes = 16_384;
/** Digits of a chunk's length: up to 4 GiB. */
const maxSizeDigits = 8;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const semicolon = 0x3b;
const space = 0x20;
const tab = 0x09;
const blankLine = '\r\n\r\n';

type State =
  | 'head'
  | 'length'
  | 'size'
  | 'extension'
  | 'size feed'
  | 'chunk'
  | 'chunk return'
  | 'chunk feed'
  | 'trailers'
  | 'to close'
  | 'over';

/** Parses one answer from bytes cut anywhere; refuses everything that two readers could understand differently. */
export class ResponseParser {
  readonly #reader: ResponseReader;
  #state: State = 'head';
  #held: Buffer | null = null;
  #interim = 0;
  #left = 0;
  #digits = 0;
  #extensionBytes = 0;
  #keepMs: Millis = 0;
  #hasExcess = false;

  constructor(reader: ResponseReader) {
    this.#reader = reader;
  }

  /** @throws HttpFault; earlier bytes have reached the reader */
  push(piece: Buffer): void {
    let at = 0;
    while (at < piece.length && this.#state !== 'over') at = this.#step(piece, at);
  }

  /** The peer has ended its side. @throws HttpFault unless that ends the answer */
  close(): void {
    if (this.#state === 'to close') this.#finish(true);
    else if (this.#state !== 'over') throw new HttpFault('closed', 'the connection was closed before the answer ended');
  }

  /** No further calls to the reader. */
  stop(): void {
    this.#state = 'over';
  }

  get begun(): boolean {
    return this.#state !== 'head' || this.#held !== null;
  }

  get over(): boolean {
    return this.#state === 'over';
  }

  /** 0: the connection is not reusable. */
  get keepMs(): Millis {
    return this.#keepMs;
  }

  /** Whether more came with its end. */
  get hasExcess(): boolean {
    return this.#hasExcess;
  }

  #step(piece: Buffer, at: number): number {
    switch (this.#state) {
      case 'head':
      case 'trailers':
        return this.#block(piece, at);
      case 'length':
      case 'chunk':
      case 'to close':
        return this.#body(piece, at);
      case 'size':
        return this.#size(piece, at);
      case 'extension':
        return this.#extension(piece, at);
      case 'size feed':
        this.#expect(piece[at], lineFeed);
        this.#held = this.#left === 0 ? Buffer.from('\r\n') : null;
        this.#state = this.#left === 0 ? 'trailers' : 'chunk';
        return at + 1;
      case 'chunk return':
        this.#expect(piece[at], carriageReturn);
        this.#state = 'chunk feed';
        return at + 1;
      case 'chunk feed':
        this.#expect(piece[at], lineFeed);
        this.#nextChunk();
        return at + 1;
      case 'over':
        return piece.length;
    }
  }

  /** Trailers begin with the line end of the last chunk's length. */
  #block(piece: Buffer, at: number): number {
    const fresh = at === 0 ? piece : piece.subarray(at);
    const held = this.#held?.length ?? 0;
    const bytes = this.#held === null ? fresh : Buffer.concat([this.#held, fresh]);
    const end = bytes.indexOf(blankLine, Math.max(0, held - blankLine.length + 1), 'latin1');
    if (end > maxBlockBytes || (end === -1 && bytes.length >= maxBlockBytes + blankLine.length)) {
      throw unsound(`the ${this.#state} of the answer ${this.#state === 'head' ? 'is' : 'are'} too large`);
    }
    if (end === -1) {
      this.#checkUnfinished(bytes, held);
      this.#held = held === 0 ? Buffer.from(bytes) : bytes;
      return piece.length;
    }
    this.#held = null;
    const next = at + end + blankLine.length - held;
    const text = bytes.toString('latin1', 0, end);
    if (this.#state === 'head') this.#begin(new ResponseHead(text), next === piece.length);
    else {
      checkTrailers(text);
      this.#finish(next === piece.length);
    }
    return next;
  }

  /** Refuses a broken head at once instead of at the deadline. */
  #checkUnfinished(bytes: Buffer, held: number): void {
    for (let feed = bytes.indexOf(lineFeed, held); feed !== -1; feed = bytes.indexOf(lineFeed, feed + 1)) {
      if (bytes[feed - 1] !== carriageReturn) throw unsound(`the ${this.#state} of the answer has a bare line feed`);
    }
    if (this.#state === 'head' && !'HTTP/1.'.startsWith(bytes.toString('latin1', 0, 7)))
      throw unsound('the answer is not HTTP/1');
  }

  /** @param isLast whether nothing follows the head in its piece */
  #begin(head: ResponseHead, isLast: boolean): void {
    if (head.status < 200) {
      if (head.status === 101) throw unsound('the answer switches to a protocol that nobody asked for');
      this.#interim += 1;
      if (this.#interim > maxInterim) throw unsound('the answer is preceded by too many interim answers');
      return;
    }
    const { framing } = head;
    this.#keepMs = head.keepMs;
    this.#reader.head(head);
    // The reader may have stopped it.
    if (this.#state === 'over') return;
    if (framing.by === 'chunks') this.#nextChunk();
    else if (framing.by === 'close') this.#state = 'to close';
    else if (framing.bytes === 0) this.#finish(isLast);
    else {
      this.#state = 'length';
      this.#left = framing.bytes;
    }
  }

  #body(piece: Buffer, at: number): number {
    const state = this.#state;
    const to = state === 'to close' ? piece.length : Math.min(piece.length, at + this.#left);
    this.#left -= to - at;
    this.#reader.body(at === 0 && to === piece.length ? piece : piece.subarray(at, to));
    if (state === 'to close' || this.#left > 0 || (this.#state as State) === 'over') return to;
    if (state === 'chunk') this.#state = 'chunk return';
    else this.#finish(to === piece.length);
    return to;
  }

  #nextChunk(): void {
    this.#state = 'size';
    this.#left = 0;
    this.#digits = 0;
  }

  #size(piece: Buffer, from: number): number {
    for (let at = from; at < piece.length; at++) {
      const byte = piece[at]!;
      const digit = hexDigit(byte);
      if (digit === -1) {
        const isEnd = byte === carriageReturn;
        if (this.#digits === 0 || !(isEnd || byte === semicolon || byte === space || byte === tab)) {
          throw unsound('a chunk of the answer has a malformed length');
        }
        this.#state = isEnd ? 'size feed' : 'extension';
        return at + 1;
      }
      this.#digits += 1;
      if (this.#digits > maxSizeDigits) throw unsound('a chunk of the answer is too large');
      this.#left = this.#left * 16 + digit;
    }
    return piece.length;
  }

  #extension(piece: Buffer, from: number): number {
    for (let at = from; at < piece.length; at++) {
      const byte = piece[at]!;
      if (byte === carriageReturn) {
        this.#state = 'size feed';
        return at + 1;
      }
      if ((byte < space && byte !== tab) || byte === 0x7f)
        throw unsound('a chunk of the answer has a malformed extension');
      this.#extensionBytes += 1;
      if (this.#extensionBytes > maxExtensionBytes) throw unsound('the chunks of the answer have too long extensions');
    }
    return piece.length;
  }

  #expect(byte: number | undefined, expected: number): void {
    if (byte !== expected) throw unsound('a chunk of the answer does not end where its length says');
  }

  /** @param isLast whether nothing follows: a peer that sends more than the answer gets no further request */
  #finish(isLast: boolean): void {
    this.#state = 'over';
    this.#hasExcess = !isLast;
    if (!isLast) this.#keepMs = 0;
    this.#reader.end();
  }
}

const hexDigit = (byte: number): number => {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
};
