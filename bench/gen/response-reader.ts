const lineFeed = 10;
const carriageReturn = 13;
const zero = 48;
const nine = 57;
const space = 32;
const prefix = Buffer.from('HTTP/1.1 ');
const lengthName = Buffer.from('content-length:');
const encodingName = Buffer.from('transfer-encoding:');
const chunked = Buffer.from('chunked');
/** ASCII letters differ from their lower case in this bit; the other characters of the name have it set already. */
const lowerCase = 32;

const inStatusLine = 0;
const inHeader = 1;
const inBody = 2;
const inChunkSize = 3;
const afterChunk = 4;
const inTrailer = 5;

const noLength = -1;
const isChunked = -2;

/** Who is told what the reader finds. */
export interface Readers {
  /** The response is complete. */
  end(status: number): void;
  /** The head is complete; an `end` without a body follows at once. */
  head?(status: number): void;
  /** A piece of the body, valid until this returns. */
  body?(bytes: Uint8Array, from: number, to: number): void;
}

/**
 * Reads HTTP/1.1 responses out of pieces cut anywhere: the status and the framing of the body, nothing else. What the
 * servers under test never send (unframed bodies, other encodings, interim responses) is an error, since it would be
 * miscounted.
 */
export class ResponseReader {
  #place = inStatusLine;
  /** Bytes of the present line that were read. */
  #at = 0;
  #status = 0;
  /** Bytes of the present header line that agree with `#name`; -1 for another header. */
  #agrees = 0;
  #name = lengthName;
  #length = noLength;
  /** Bytes of the body, or of the present chunk, that are still to come. */
  #left = 0;
  readonly #readers: Readers;

  constructor(readers: Readers) {
    this.#readers = readers;
  }

  /** Whether the last response is complete and nothing follows it. */
  get isBetween(): boolean {
    return this.#place === inStatusLine && this.#at === 0;
  }

  /** @throws Error for bytes that are not a response of the supported kind */
  read(bytes: Uint8Array, end: number): void {
    let i = 0;
    while (i < end) {
      if (this.#place === inBody) {
        const taken = Math.min(this.#left, end - i);
        this.#readers.body?.(bytes, i, i + taken);
        i += taken;
        this.#left -= taken;
        if (this.#left === 0) this.#bodyEnded();
      } else if (this.#place === inStatusLine) {
        this.#statusByte(bytes[i++]!);
      } else if (this.#place === inHeader) {
        i = this.#header(bytes, i, end);
      } else {
        this.#chunkByte(bytes[i++]!);
      }
    }
  }

  #statusByte(byte: number): void {
    const at = this.#at++;
    if (at < prefix.length) {
      if (byte !== prefix[at]) throw new Error('The server sent something that is not an HTTP/1.1 response.');
    } else if (at < prefix.length + 3) {
      if (byte < zero || byte > nine) throw new Error('The server sent a status line without a status.');
      this.#status = this.#status * 10 + byte - zero;
    } else if (byte === lineFeed) {
      this.#place = inHeader;
      this.#at = 0;
      this.#agrees = 0;
    }
  }

  #header(bytes: Uint8Array, from: number, end: number): number {
    for (let i = from; i < end; i++) {
      // A line that is known to be of no interest is most of the bytes: its end is looked for and nothing else.
      if (this.#agrees < 0) {
        while (i < end && bytes[i] !== lineFeed) i++;
        if (i === end) return end;
      }
      const byte = bytes[i]!;
      if (byte === lineFeed) {
        if (this.#at === 0) {
          this.#headEnded();
          return i + 1;
        }
        this.#at = 0;
        this.#agrees = 0;
      } else if (byte !== carriageReturn) {
        this.#at++;
        this.#nameOrLength(byte);
      }
    }
    return end;
  }

  #nameOrLength(byte: number): void {
    const at = this.#agrees;
    // The first letter tells which of the two names it can be.
    if (at === 0) this.#name = (byte | lowerCase) === encodingName[0] ? encodingName : lengthName;
    const name = this.#name;
    if (at < name.length) {
      this.#agrees = (byte | lowerCase) === name[at] ? at + 1 : -1;
      if (this.#agrees === name.length) this.#length = name === lengthName ? 0 : isChunked;
    } else if (byte === space) {
      return;
    } else if (name === encodingName) {
      if ((byte | lowerCase) !== chunked[at - name.length]) throw new Error('The server sent an unknown encoding.');
      this.#agrees++;
    } else if (byte >= zero && byte <= nine) {
      this.#length = this.#length * 10 + byte - zero;
    } else {
      throw new Error('The server sent a content-length that is not a number.');
    }
  }

  #headEnded(): void {
    const status = this.#status;
    const isBare = status === 204 || status === 304;
    if (this.#length === noLength && !isBare) throw new Error(`The server sent a ${status} without a content-length.`);
    this.#readers.head?.(status);
    this.#left = 0;
    if (isBare || this.#length === 0) this.#finish();
    else if (this.#length === isChunked) this.#place = inChunkSize;
    else {
      this.#left = this.#length;
      this.#place = inBody;
    }
  }

  #bodyEnded(): void {
    if (this.#length === isChunked) this.#place = afterChunk;
    else this.#finish();
  }

  /** The framing around chunks: sizes, the line ends behind them, and the (empty) trailer. */
  #chunkByte(byte: number): void {
    if (byte === carriageReturn) return;
    if (this.#place === inChunkSize) {
      if (byte !== lineFeed) this.#left = this.#left * 16 + hexDigit(byte);
      else this.#place = this.#left > 0 ? inBody : inTrailer;
    } else if (byte !== lineFeed) {
      throw new Error('The server sent a chunk with something behind it.');
    } else if (this.#place === afterChunk) {
      this.#place = inChunkSize;
    } else {
      this.#finish();
    }
  }

  #finish(): void {
    const status = this.#status;
    this.#place = inStatusLine;
    this.#at = 0;
    this.#status = 0;
    this.#length = noLength;
    this.#readers.end(status);
  }
}

const hexDigit = (byte: number): number => {
  if (byte >= zero && byte <= nine) return byte - zero;
  const digit = (byte | lowerCase) - 87;
  if (digit < 10 || digit > 15) throw new Error('The server sent a chunk without a size.');
  return digit;
};
