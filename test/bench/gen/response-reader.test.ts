import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ResponseReader } from '../../../bench/gen/response-reader.ts';

const statusesOf = (pieces: readonly Uint8Array[]): { statuses: number[]; isBetween: boolean } => {
  const statuses: number[] = [];
  const reader = new ResponseReader({ end: (status) => statuses.push(status) });
  for (const piece of pieces) reader.read(piece, piece.length);
  return { statuses, isBetween: reader.isBetween };
};
const read = (text: string) => statusesOf([Buffer.from(text, 'latin1')]);

/** Cut at the given places, which may repeat: an empty piece is a piece. */
const cut = (bytes: Buffer, at: readonly number[]): Buffer[] => {
  const places = [0, ...at.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((place, i) => bytes.subarray(places[i], place));
};

/** In two chunks, or in none. */
const inChunks = (body: Uint8Array): Buffer => {
  const middle = Math.ceil(body.length / 2);
  const chunks = [body.subarray(0, middle), body.subarray(middle)].filter(({ length }) => length > 0);
  const parts = chunks.flatMap((chunk) => [
    Buffer.from(`${chunk.length.toString(16)}\r\n`),
    chunk,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
};

const header = fc.record({
  name: fc.constantFrom(
    'Date',
    'content-type',
    'Content-Lengthy',
    'transfer',
    'Transfer-Encodings',
    'x-content-length',
    'c',
    't',
  ),
  value: fc.stringMatching(/^[ -~]{0,20}$/),
});

const response = fc
  .record({
    isChunked: fc.boolean(),
    status: fc.integer({ min: 200, max: 599 }),
    headers: fc.array(header, { maxLength: 5 }),
    place: fc.nat(5),
    length: fc.constantFrom('content-length', 'Content-Length', 'CONTENT-LENGTH'),
    body: fc.uint8Array({ maxLength: 200 }),
  })
  .map(({ isChunked, status, headers, place, length, body }) => {
    const isBare = status === 204 || status === 304;
    const lines = headers.map(({ name, value }) => `${name}: ${value}`);
    const framing = isChunked ? 'Transfer-Encoding: chunked' : `${length}: ${body.length}`;
    if (!isBare) lines.splice(place, 0, framing);
    const head = `HTTP/1.1 ${status} Some Reason\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
    return {
      status,
      bytes: Buffer.concat([Buffer.from(head, 'latin1'), isBare ? Buffer.alloc(0) : isChunked ? inChunks(body) : body]),
    };
  });

describe('the response reader', () => {
  test('finds the same responses however they are cut', () => {
    const responses = fc.array(response, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(responses, fc.array(fc.nat(), { maxLength: 20 }), (sent, places) => {
        const bytes = Buffer.concat(sent.map((each) => each.bytes));
        const expected = { statuses: sent.map(({ status }) => status), isBetween: true };
        expect(statusesOf(cut(bytes, places))).toEqual(expected);
      }),
      { numRuns: 200 },
    );
  });

  test('finds them byte by byte', () => {
    fc.assert(
      fc.property(response, ({ status, bytes }) => {
        expect(statusesOf([...bytes].map((byte) => Buffer.from([byte])))).toEqual({
          statuses: [status],
          isBetween: true,
        });
      }),
    );
  });

  test('hands on the body, however it is framed and cut', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 100 }),
        fc.boolean(),
        fc.array(fc.nat(), { maxLength: 20 }),
        (body, isChunked, places) => {
          const framing = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`;
          const head = Buffer.from(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n`);
          const read: Buffer[] = [];
          const reader = new ResponseReader({
            end: () => {},
            body: (bytes, from, to) => read.push(Buffer.from(bytes.subarray(from, to))),
          });
          for (const piece of cut(Buffer.concat([head, isChunked ? inChunks(body) : body]), places))
            reader.read(piece, piece.length);
          expect(Buffer.concat(read).equals(body)).toBe(true);
          expect(reader.isBetween).toBe(true);
        },
      ),
    );
  });

  test('does not report a response before its last byte', () => {
    fc.assert(
      fc.property(response, fc.nat(), ({ bytes }, place) => {
        const kept = place % bytes.length;
        expect(statusesOf([bytes.subarray(0, kept)]).statuses).toEqual([]);
      }),
    );
  });

  test('does not look beyond the length of a piece in a larger buffer', () => {
    const statuses: number[] = [];
    const text = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
    const reader = new ResponseReader({ end: (status) => statuses.push(status) });
    reader.read(Buffer.from(`${text}stale bytes of an earlier read`), text.length);
    expect(statuses).toEqual([200]);
    expect(reader.isBetween).toBe(true);
  });

  test.each([
    ['another protocol', 'SSH-2.0-OpenSSH\r\n', /not an HTTP\/1.1 response/],
    ['a status that is no number', 'HTTP/1.1 2x0 OK\r\n', /without a status/],
    ['an encoding that is not chunked', 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n', /unknown encoding/],
    ['a chunk without a size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n', /without a size/],
    ['a chunk that is longer', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab', /something behind/],
    ['a body without framing', 'HTTP/1.1 200 OK\r\n\r\n', /200 without a content-length/],
    ['a length that is no number', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n', /not a number/],
    ['bytes behind a response', 'HTTP/1.1 204 No Content\r\n\r\nmore', /not an HTTP\/1.1 response/],
  ])('refuses %s', (_, text, message) => {
    expect(() => read(text)).toThrow(message);
  });
});
