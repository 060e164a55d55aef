import fc from 'fast-check';
import { HttpFault } from '../../../src/data/upstream/http1/fault.ts';
import type { ResponseHead } from '../../../src/data/upstream/http1/response-head.ts';
import { ResponseParser, type ResponseReader } from '../../../src/data/upstream/http1/response-parser.ts';

/** What a reader is told of an answer. */
export interface Told {
  readonly heads: readonly string[];
  readonly body: string;
  readonly ended: boolean;
  /** The code of the fault that ended it. */
  readonly fault: string | null;
  readonly keepMs: number;
}

/** Reads an answer from pieces; `closes`: the other side ends the connection after them. */
export const read = (pieces: readonly Buffer[], closes: boolean): Told => {
  const heads: string[] = [];
  const body: Buffer[] = [];
  let ended = false;
  const reader: ResponseReader = {
    head: (head: ResponseHead) => {
      heads.push([head.status, ...['content-type', 'x-a', 'x-b'].map((name) => head.header(name) ?? '-')].join('|'));
    },
    body: (piece) => {
      if (ended || heads.length === 0) throw new Error('a body out of place');
      body.push(Buffer.from(piece));
    },
    end: () => {
      if (ended || heads.length === 0) throw new Error('an end out of place');
      ended = true;
    },
  };
  const parser = new ResponseParser(reader);
  let fault: string | null = null;
  try {
    for (const piece of pieces) {
      // Lent, as a connection does: the next read overwrites it.
      const lent = Buffer.from(piece);
      parser.push(lent);
      lent.fill('?');
    }
    if (closes) parser.close();
  } catch (error) {
    if (!(error instanceof HttpFault)) throw error;
    fault = error.code;
  }
  return { heads, body: Buffer.concat(body).toString('latin1'), ended, fault, keepMs: parser.keepMs };
};

/** Cut after each of these shares of a thousand. */
export const cut = (bytes: Buffer, places: readonly number[]): Buffer[] => {
  const ends = [...places.map((place) => Math.floor((place * bytes.length) / 1000)), bytes.length].sort(
    (a, b) => a - b,
  );
  let from = 0;
  return ends.map((end) => {
    const piece = bytes.subarray(from, end);
    from = end;
    return piece;
  });
};

export const anyPlaces = fc.array(fc.integer({ min: 0, max: 1000 }), { maxLength: 40 });

const anyBody = fc.string({ unit: fc.constantFrom('a', '\r', '\n', '0', ';', '\xff', 'HTTP/1.1 '), maxLength: 200 });
const anyCase = (name: string) =>
  fc.constantFrom(
    name,
    name.toUpperCase(),
    name.replace(/\b./g, (c) => c.toUpperCase()),
  );
const anyValue = fc.string({ unit: fc.constantFrom('a', ' ', '\t', ':', ',', '\xe9', '~'), maxLength: 12 });

const field = (name: string, value: fc.Arbitrary<string>) =>
  fc.tuple(anyCase(name), value).map((pair) => pair.join(':'));
const anyFields = fc.array(
  fc.oneof(
    field('content-type', fc.constantFrom(' application/json', 'text/event-stream', '\ta; b=c ')),
    field('x-a', anyValue),
    field('x-b', anyValue),
    field('keep-alive', fc.constantFrom(' timeout=5', 'max=3, timeout=9', 'timeout=0')),
  ),
  { maxLength: 6 },
);

const anyExtension = fc.constantFrom('', ';a', ';a=b', ';a="b"');
const anyChunks = fc.array(fc.tuple(anyBody, anyExtension, fc.boolean()), { maxLength: 8 }).map((chunks) =>
  chunks
    .filter(([body]) => body !== '')
    .map(([body, extension, upper]) => {
      const size = body.length.toString(16);
      return { body, text: `${upper ? size.toUpperCase() : size}${extension}\r\n${body}\r\n` };
    }),
);
const anyTrailers = fc.array(field('x-t', anyValue), { maxLength: 3 });

const lines = (all: readonly string[]): string => all.map((line) => `${line}\r\n`).join('');

/** A sound answer, and what of it a reader has to be told. */
export interface Sound {
  readonly text: string;
  readonly body: string;
  /** Whether the end of the connection is the end of the answer. */
  readonly closes: boolean;
}

const anyInterim = fc
  .array(fc.constantFrom('HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'), {
    maxLength: 3,
  })
  .map((all) => all.join(''));
const anyStatus = fc.constantFrom('200 OK', '200', '404 Not Found', '529 \xe9 ~', '400 ');

const sized = fc
  .tuple(anyStatus, anyFields, anyBody, anyCase('content-length'))
  .map(([status, fields, body, name]) => ({
    text: `HTTP/1.1 ${status}\r\n${lines([...fields, `${name}: ${body.length}`])}\r\n${body}`,
    body,
    closes: false,
  }));
const chunked = fc
  .tuple(anyStatus, anyFields, anyChunks, anyTrailers, fc.constantFrom('0', '00', '0;last'))
  .map(([status, fields, chunks, trailers, last]) => ({
    text: `HTTP/1.1 ${status}\r\n${lines([...fields, 'Transfer-Encoding: Chunked'])}\r\n${chunks.map(({ text }) => text).join('')}${last}\r\n${lines(trailers)}\r\n`,
    body: chunks.map(({ body }) => body).join(''),
    closes: false,
  }));
const closing = fc
  .tuple(fc.constantFrom('0', '1'), anyStatus, anyFields, anyBody)
  .map(([minor, status, fields, body]) => ({
    text: `HTTP/1.${minor} ${status}\r\n${lines(fields)}\r\n${body}`,
    body,
    closes: true,
  }));
const empty = fc
  .tuple(fc.constantFrom('204 No Content', '304 Not Modified'), anyFields)
  .map(([status, fields]) => ({ text: `HTTP/1.1 ${status}\r\n${lines(fields)}\r\n`, body: '', closes: false }));

export const anySound: fc.Arbitrary<Sound> = fc
  .tuple(anyInterim, fc.oneof(sized, chunked, closing, empty))
  .map(([interim, answer]) => ({ ...answer, text: interim + answer.text }));

/** One that is sound but for a few bytes. */
export const anyMutant: fc.Arbitrary<Buffer> = fc
  .tuple(
    anySound,
    fc.array(
      fc.tuple(
        fc.integer({ min: 0, max: 1000 }),
        fc.constantFrom('put', 'take', 'change'),
        fc.constantFrom(...[0, 9, 10, 13, 32, 48, 58, 59, 97, 127, 255]),
      ),
      { maxLength: 4 },
    ),
  )
  .map(([{ text }, changes]) => {
    const bytes = [...Buffer.from(text, 'latin1')];
    for (const [place, kind, byte] of changes) {
      const at = Math.floor((place * bytes.length) / 1001);
      if (kind === 'put') bytes.splice(at, 0, byte);
      else if (kind === 'take') bytes.splice(at, 1);
      else bytes[at] = byte;
    }
    return Buffer.from(bytes);
  });
