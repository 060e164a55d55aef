import type { Millis } from '../../../clock.ts';
import { unsound } from './fault.ts';

const value = '[\\t\\x20-\\x7e\\x80-\\xff]*';
const fields = `(?:\\r\\n[!#$%&'*+.^_\`|~0-9A-Za-z-]+:${value})*`;
/** Refuses what other readers could parse differently: bare line ends, folded lines, spaces before colons. */
const headForm = new RegExp(`^HTTP/1\\.[01] [1-9]\\d\\d(?: ${value})?${fields}$`);
const trailerForm = new RegExp(`^${fields}$`);

export interface Framing {
  readonly by: 'length' | 'chunks' | 'close';
  /** 0 unless the body has a length. */
  readonly bytes: number;
}

export class ResponseHead {
  readonly status: number;
  readonly framing: Framing;
  /** 0: not reusable; Infinity: the upstream names no time. */
  readonly keepMs: Millis;
  readonly #text: string;
  /** The same length as the text, since only Latin-1 is in it. */
  readonly #lower: string;

  /** @param text of a head as Latin-1, without its blank line. @throws HttpFault */
  constructor(text: string) {
    if (!text.startsWith('HTTP/1.')) throw unsound('the answer is not HTTP/1');
    if (!headForm.test(text)) throw unsound('the head of the answer has a malformed line');
    this.#text = text;
    this.#lower = text.toLowerCase();
    this.status = Number(text.slice(9, 12));
    this.framing = this.#framing();
    this.keepMs = this.#keepMs();
  }

  /** @param name in lower case */
  header(name: string): string | undefined {
    const start = startOf(name);
    let found: string | undefined;
    for (let at = this.#lower.indexOf(start); at !== -1; at = this.#lower.indexOf(start, at + 1)) {
      const end = this.#text.indexOf('\r\n', at + 2);
      const own = valueIn(this.#text, at + start.length, end === -1 ? this.#text.length : end);
      found = found === undefined ? own : `${found}, ${own}`;
    }
    return found;
  }

  #framing(): Framing {
    const length = this.header('content-length');
    const coding = this.header('transfer-encoding');
    if (length !== undefined && !/^\d{1,15}$/.test(length)) throw unsound('the answer has no single content-length');
    if (coding !== undefined) {
      if (length !== undefined) throw unsound('the answer has a content-length beside a transfer-encoding');
      if (coding.toLowerCase() !== 'chunked') throw unsound('the answer has an unknown transfer-encoding');
      if (this.#isOld()) throw unsound('the answer is HTTP/1.0 with a transfer-encoding');
    }
    if (this.status < 200 || this.status === 204 || this.status === 304) return { by: 'length', bytes: 0 };
    if (coding !== undefined) return { by: 'chunks', bytes: 0 };
    return length === undefined ? { by: 'close', bytes: 0 } : { by: 'length', bytes: Number(length) };
  }

  #keepMs(): Millis {
    if (this.framing.by === 'close' || this.#isOld() || this.#isBodyUnsure()) return 0;
    const connection = this.header('connection');
    if (connection !== undefined && /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i.test(connection)) return 0;
    const timeout = /(?:^|[,\t ])timeout=(\d{1,9})/i.exec(this.header('keep-alive') ?? '')?.[1];
    // A second less: the upstream began to count when it sent this.
    return timeout === undefined ? Number.POSITIVE_INFINITY : Math.max(0, (Number(timeout) - 1) * 1000);
  }

  #isOld(): boolean {
    return this.#text[7] === '0';
  }

  /** A bodiless status with fields that announce a body: it may come. */
  #isBodyUnsure(): boolean {
    const isEmpty = this.status === 204 || this.status === 304;
    return isEmpty && (this.header('content-length') ?? this.header('transfer-encoding') ?? '0') !== '0';
  }
}

/** @throws HttpFault unless it is nothing but header fields, each after a line end */
export const checkTrailers = (text: string): void => {
  if (!trailerForm.test(text)) throw unsound('the trailers of the answer have a malformed line');
};

/** By name; only names of our own are asked for. */
const starts = new Map<string, string>();

const startOf = (name: string): string => {
  let start = starts.get(name);
  if (start === undefined) {
    start = `\r\n${name}:`;
    starts.set(name, start);
  }
  return start;
};

const isSpace = (text: string, at: number): boolean => text[at] === ' ' || text[at] === '\t';

/** Without the spaces around it; `trim` would also remove a no-break space. */
const valueIn = (text: string, from: number, to: number): string => {
  let [start, end] = [from, to];
  while (start < end && isSpace(text, start)) start += 1;
  while (end > start && isSpace(text, end - 1)) end -= 1;
  return text.slice(start, end);
};
