import { connect, type Socket } from 'node:net';

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
    if (size === 0) return text.startsWith('\r\n', line + 2) ? { body, end: line + 4 } : undefined;
    body += text.slice(line + 2, line + 2 + size);
    at = line + 2 + size;
    if (!text.startsWith('\r\n', at)) return undefined;
    at += 2;
  }
};

/** Splits what a server wrote into answers, strictly: what does not frame is left in `rest`. */
export const parseAnswers = (text: string, isHead = false): { answers: RawAnswer[]; rest: string } => {
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
  /** Milliseconds without a byte after which the exchange counts as over. */
  readonly quietMs?: number;
  readonly isHead?: boolean;
  /** Stop as soon as this many answers are complete. */
  readonly answers?: number;
  /** The request in pieces instead of one write. */
  readonly pieces?: readonly Buffer[];
  /** Milliseconds between the pieces; by default one turn of the loop. */
  readonly pauseMs?: number;
}

const toBytes = (bytes: string | Buffer): Buffer => (typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);

const pause = (ms: number | undefined): Promise<void> =>
  new Promise((resolve) => (ms === undefined ? setImmediate(resolve) : setTimeout(resolve, ms)));

const sendPieces = async (socket: Socket, pieces: readonly Buffer[], pauseMs: number | undefined): Promise<void> => {
  for (const piece of pieces) {
    if (socket.destroyed) return;
    socket.write(piece);
    await pause(pauseMs);
  }
};

/** Sends bytes as they are and reads until the server closes, falls quiet or has given enough answers. */
export const send = (port: number, bytes: string | Buffer, options: RawOptions = {}): Promise<RawResult> =>
  new Promise((resolve) => {
    const { quietMs = 250, isHead = false } = options;
    const socket = connect(port, '127.0.0.1');
    socket.setNoDelay(true);
    let text = '';
    let closed = false;
    let timer: NodeJS.Timeout | undefined;
    const done = (): void => {
      clearTimeout(timer);
      socket.destroy();
      const { answers, rest } = parseAnswers(text, isHead);
      resolve({ answers, statuses: answers.map(({ status }) => status), rest, closed, text });
    };
    const wait = (): void => {
      clearTimeout(timer);
      timer = setTimeout(done, quietMs);
    };
    socket.on('data', (data) => {
      text += data.toString('latin1');
      if (options.answers !== undefined && parseAnswers(text, isHead).answers.length >= options.answers) done();
      else wait();
    });
    socket.on('end', () => {
      closed = true;
    });
    socket.on('error', () => {
      closed = true;
    });
    socket.on('close', () => {
      if (!closed && timer === undefined) return;
      done();
    });
    if (options.pieces) void sendPieces(socket, options.pieces, options.pauseMs).then(wait);
    else socket.write(toBytes(bytes));
    wait();
  });

/** A request with its lines joined; `body` is appended as it is. */
export const request = (line: string, headers: readonly string[] = [], body = ''): string =>
  `${[`${line} HTTP/1.1`, 'Host: localhost', ...headers].join('\r\n')}\r\n\r\n${body}`;
