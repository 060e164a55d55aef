import { connect, type Socket } from 'node:net';
import { expect } from 'vitest';

/** One answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly headerLines: readonly string[];
  readonly body: string;
}

export interface RawResult {
  readonly answers: readonly RawAnswer[];
  readonly statuses: readonly number[];
  /** Bytes after the last complete answer. */
  readonly rest: string;
  /** The server ended the connection. */
  readonly closed: boolean;
  readonly text: string;
}

const readChunked = (text: string, from: number): { body: string; end: number } | undefined => {
  let at = from;
  let body = '';
  for (;;) {
    const line = text.indexOf('\r\n', at);
    if (line === -1) return undefined;
    const size = Number.parseInt(text.slice(at, line), 16);
    if (Number.isNaN(size)) return undefined;
    if (size === 0) {
      // Fields may follow, up to an empty line.
      const end = text.indexOf('\r\n\r\n', line);
      return end === -1 ? undefined : { body, end: end + 4 };
    }
    body += text.slice(line + 2, line + 2 + size);
    at = line + 2 + size;
    if (!text.startsWith('\r\n', at)) return undefined;
    at += 2;
  }
};

/** Splits what a server wrote into answers, strictly: what does not frame is left in `rest`. */
const parseAnswers = (text: string, isHead = false): { answers: RawAnswer[]; rest: string } => {
  const answers: RawAnswer[] = [];
  let at = 0;
  for (;;) {
    const end = text.indexOf('\r\n\r\n', at);
    if (end === -1) break;
    const [first = '', ...headerLines] = text.slice(at, end).split('\r\n');
    const found = /^HTTP\/1\.1 (\d{3}) /.exec(first);
    if (!found) break;
    const headers = new Map<string, string>();
    for (const line of headerLines)
      headers.set(line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim());
    const status = Number(found[1]);
    let body = '';
    let next = end + 4;
    if (headers.get('transfer-encoding') === 'chunked') {
      const chunked = readChunked(text, next);
      if (!chunked) break;
      body = chunked.body;
      next = chunked.end;
    } else if (!isHead && status >= 200) {
      const length = headers.has('content-length') ? Number(headers.get('content-length')) : text.length - next;
      if (status !== 204 && status !== 304) {
        if (text.length < next + length) break;
        body = text.slice(next, next + length);
        next += length;
      }
    }
    answers.push({ status, headers, headerLines, body });
    at = next;
  }
  return { answers, rest: text.slice(at) };
};

export interface RawOptions {
  readonly isHead?: boolean;
  /** Stop when this many answers are complete. */
  readonly answers?: number;
  /** The server is expected to close: wait for that. */
  readonly closes?: boolean;
  /** Milliseconds to look for more once the answers are complete. */
  readonly settleMs?: number;
  /** Milliseconds without a byte after which it is over; long where something is expected. */
  readonly quietMs?: number;
  /** The request in pieces instead of one write. */
  readonly pieces?: readonly (string | Buffer)[];
  /** Milliseconds between the pieces; by default one turn of the loop. */
  readonly pauseMs?: number;
  /** Each piece waits for the answer to the one before, or the end of the connection. */
  readonly inTurn?: boolean;
}

/** Far beyond what a loaded machine needs; reached only by a test that fails. */
const patienceMs = 15_000;
const silenceMs = 250;

const toBytes = (bytes: string | Buffer): Buffer => (typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);

const wait = (ms: number | undefined): Promise<void> =>
  new Promise((resolve) => (ms === undefined ? setImmediate(resolve) : setTimeout(resolve, ms)));

class Conversation {
  readonly socket: Socket;
  readonly isHead: boolean;
  text = '';
  closed = false;
  private woken = (): void => {};

  constructor(port: number, isHead: boolean) {
    this.isHead = isHead;
    this.socket = connect(port, '127.0.0.1');
    this.socket.setNoDelay(true);
    this.socket.on('data', (data) => {
      this.text += data.toString('latin1');
      this.woken();
    });
    for (const event of ['end', 'error', 'close']) {
      this.socket.on(event, () => {
        this.closed = true;
        this.woken();
      });
    }
  }

  get count(): number {
    return parseAnswers(this.text, this.isHead).answers.length;
  }

  /** Waits until the claim holds, the connection ends or `quietMs` pass without a byte. */
  async until(holds: () => boolean, quietMs: number): Promise<void> {
    while (!this.closed && !holds()) {
      const heard = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(false), quietMs);
        this.woken = () => {
          clearTimeout(timer);
          resolve(true);
        };
      });
      if (!heard) return;
    }
  }
}

/** Sends bytes as they are and reads until the server has given enough answers, closes or falls silent. */
export const send = async (port: number, bytes: string | Buffer, options: RawOptions = {}): Promise<RawResult> => {
  const { isHead = false, answers, closes = false, pieces = [bytes], pauseMs, inTurn = false, settleMs } = options;
  const talk = new Conversation(port, isHead);
  const quietMs = options.quietMs ?? (closes || answers !== undefined ? patienceMs : silenceMs);
  for (const [turn, piece] of pieces.entries()) {
    if (turn > 0 && inTurn) await talk.until(() => talk.count >= turn, quietMs);
    else if (turn > 0) await wait(pauseMs);
    if (talk.socket.destroyed) break;
    talk.socket.write(toBytes(piece));
  }
  await talk.until(() => answers !== undefined && talk.count >= answers, quietMs);
  if (settleMs !== undefined) await talk.until(() => false, settleMs);
  talk.socket.destroy();
  const { text, closed } = talk;
  const { answers: found, rest } = parseAnswers(text, isHead);
  return { answers: found, statuses: found.map(({ status }) => status), rest, closed, text };
};

/** Asks again and again, with patience for a loaded machine. */
export const eventually = <T>(read: () => T) => expect.poll(read, { timeout: patienceMs, interval: 5 });

/** A request with its lines joined; `body` is appended as it is. */
export const request = (line: string, headers: readonly string[] = [], body = ''): string =>
  `${[`${line} HTTP/1.1`, 'Host: localhost', ...headers].join('\r\n')}\r\n\r\n${body}`;
