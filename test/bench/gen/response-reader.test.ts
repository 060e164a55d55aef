import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ResponseReader } from '../../../bench/gen/response-reader.ts';

const statusesOf = (pieces: readonly Uint8Array[]): { statuses: number[]; isBetween: boolean } => {
  const statuses: number[] = [];
  const reader = new ResponseReader((status) => statuses.push(status));
  for (const piece of pieces) reader.read(piece, piece.length);
  return { statuses, isBetween: reader.isBetween };
};
const read = (text: string) => statusesOf([Buffer.from(text, 'latin1')]);

/** Cut at the given places, which may repeat: an empty piece is a piece. */
const cut = (bytes: Buffer, at: readonly number[]): Buffer[] => {
  const places = [0, ...at.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((place, i) => bytes.subarray(places[i], place));
};

const header = fc.record({
  name: fc.constantFrom('Date', 'content-type', 'Content-Lengthy', 'x-content-length', 'content', 'c', 'request-id'),
  value: fc.stringMatching(/^[ -~]{0,20}$/),
});

const response = fc
  .record({
    status: fc.integer({ min: 200, max: 599 }),
    headers: fc.array(header, { maxLength: 5 }),
    place: fc.nat(5),
    length: fc.constantFrom('content-length', 'Content-Length', 'CONTENT-LENGTH'),
    body: fc.uint8Array({ maxLength: 200 }),
  })
  .map(({ status, headers, place, length, body }) => {
    const isBare = status === 204 || status === 304;
    const lines = headers.map(({ name, value }) => `${name}: ${value}`);
    if (!isBare) lines.splice(place, 0, `${length}: ${body.length}`);
    const head = `HTTP/1.1 ${status} Some Reason\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
    return { status, bytes: Buffer.concat([Buffer.from(head, 'latin1'), isBare ? Buffer.alloc(0) : body]) };
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
    const reader = new ResponseReader((status) => statuses.push(status));
    reader.read(Buffer.from(`${text}stale bytes of an earlier read`), text.length);
    expect(statuses).toEqual([200]);
    expect(reader.isBetween).toBe(true);
  });

  test.each([
    ['another protocol', 'SSH-2.0-OpenSSH\r\n', /not an HTTP\/1.1 response/],
    ['a status that is no number', 'HTTP/1.1 2x0 OK\r\n', /without a status/],
    ['a chunked body', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', /200 without a content-length/],
    ['a length that is no number', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n', /not a number/],
    ['bytes behind a response', 'HTTP/1.1 204 No Content\r\n\r\nmore', /not an HTTP\/1.1 response/],
  ])('refuses %s', (_, text, message) => {
    expect(() => read(text)).toThrow(message);
  });
});
