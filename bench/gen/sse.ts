/** Takes one server-sent event: its name, empty where it has none, and its data. */
export type OnEvent = (name: string, data: string) => void;

const lineFeed = 10;
const carriageReturn = 13;

/**
 * Reads server-sent events out of pieces cut anywhere, by the rules of the WHATWG: lines end with LF, CR or CRLF, a
 * comment begins with a colon, an empty line ends an event, and an event without data is none. The text stays latin1:
 * it is counted, not shown.
 */
export class SseReader {
  #line = '';
  #name = '';
  #data = '';
  #hasData = false;
  #afterReturn = false;
  readonly #onEvent: OnEvent;

  constructor(onEvent: OnEvent) {
    this.#onEvent = onEvent;
  }

  read(bytes: Uint8Array, from: number, to: number): void {
    let start = from;
    for (let i = from; i < to; i++) {
      const byte = bytes[i];
      if (byte !== lineFeed && byte !== carriageReturn) {
        this.#afterReturn = false;
        continue;
      }
      // The second half of CRLF ends nothing.
      if (byte === lineFeed && this.#afterReturn) {
        this.#afterReturn = false;
        start = i + 1;
        continue;
      }
      this.#afterReturn = byte === carriageReturn;
      this.#endLine(this.#line + text(bytes, start, i));
      this.#line = '';
      start = i + 1;
    }
    if (start < to) this.#line += text(bytes, start, to);
  }

  #endLine(line: string): void {
    if (line === '') {
      if (this.#hasData) this.#onEvent(this.#name, this.#data);
      this.#name = '';
      this.#data = '';
      this.#hasData = false;
      return;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') this.#name = value;
    else if (field === 'data') {
      this.#data = this.#hasData ? `${this.#data}\n${value}` : value;
      this.#hasData = true;
    }
  }
}

const text = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1');

const lastNames = ['message_stop', 'response.completed', 'response.incomplete'];
const failureNames = ['error', 'response.failed'];

/** How a stream ends with an event, whichever of the three APIs it is of; null where it does not. */
export const endOf = (name: string, data: string): 'whole' | 'failed' | null => {
  if (lastNames.includes(name) || (name === '' && data === '[DONE]')) return 'whole';
  return failureNames.includes(name) || (name === '' && /^\s*\{\s*"error"/.test(data)) ? 'failed' : null;
};

const tokenNames = ['content_block_delta', 'response.output_text.delta'];

/** Whether an event carries tokens: of the messages API, of the responses API, or of chat completions (no name). */
export const isToken = (name: string, data: string): boolean =>
  tokenNames.includes(name) || (name === '' && /"content":\s*"[^"]/.test(data));
