const lineFeed = 10;
const carriageReturn = 13;
const zero = 48;
const nine = 57;
const space = 32;
const prefix = Buffer.from('HTTP/1.1 ');
const lengthName = Buffer.from('content-length:');
/** ASCII letters differ from their lower case in this bit; the other characters of the name have it set already. */
const lowerCase = 32;

const inStatusLine = 0;
const inHeader = 1;
const inBody = 2;

/**
 * Reads HTTP/1.1 responses out of pieces cut anywhere: the status and the body's length, nothing else. What the servers
 * under test never send (chunked or unframed bodies, interim responses) is an error, since it would be miscounted.
 */
export class ResponseReader {
  #place = inStatusLine;
  /** Bytes of the present line that were read. */
  #at = 0;
  #status = 0;
  /** Bytes of the present header line that agree with `content-length:`; -1 for another header. */
  #agrees = 0;
  /** -1 until there is a length. */
  #length = -1;
  #left = 0;
  readonly #done: (status: number) => void;

  constructor(done: (status: number) => void) {
    this.#done = done;
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
        i += taken;
        this.#left -= taken;
        if (this.#left === 0) this.#finish();
      } else if (this.#place === inStatusLine) {
        this.#statusByte(bytes[i++]!);
      } else {
        i = this.#header(bytes, i, end);
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
        if (this.#agrees >= 0) this.#nameOrLength(byte);
      }
    }
    return end;
  }

  #nameOrLength(byte: number): void {
    if (this.#agrees < lengthName.length) {
      this.#agrees = (byte | lowerCase) === lengthName[this.#agrees] ? this.#agrees + 1 : -1;
      if (this.#agrees === lengthName.length) this.#length = 0;
    } else if (byte >= zero && byte <= nine) {
      this.#length = this.#length * 10 + byte - zero;
    } else if (byte !== space) {
      throw new Error('The server sent a content-length that is not a number.');
    }
  }

  #headEnded(): void {
    const isBare = this.#status === 204 || this.#status === 304;
    if (this.#length < 0 && !isBare) throw new Error(`The server sent a ${this.#status} without a content-length.`);
    this.#left = isBare ? 0 : this.#length;
    if (this.#left > 0) this.#place = inBody;
    else this.#finish();
  }

  #finish(): void {
    const status = this.#status;
    this.#place = inStatusLine;
    this.#at = 0;
    this.#status = 0;
    this.#length = -1;
    this.#done(status);
  }
}
