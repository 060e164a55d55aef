import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isToken, SseReader } from '../../../bench/gen/sse.ts';

type Event = [name: string, data: string];

const read = (pieces: readonly Buffer[]): Event[] => {
  const events: Event[] = [];
  const reader = new SseReader((name, data) => events.push([name, data]));
  for (const piece of pieces) reader.read(piece, 0, piece.length);
  return events;
};

const stream =
  'event: a\ndata: one\n\n: comment\r\ndata: two\r\ndata:three\r\n\r\nevent: b\n\nid: 7\rdata\r\rdata: end\n\n';
const expected: Event[] = [
  ['a', 'one'],
  ['', 'two\nthree'],
  ['', ''],
  ['', 'end'],
];

describe('server-sent events', () => {
  test('are read with every line end, with comments and without data', () => {
    expect(read([Buffer.from(stream)])).toEqual(expected);
  });

  test('are the same cut at every byte', () => {
    const bytes = Buffer.from(stream);
    for (let at = 0; at <= bytes.length; at++) {
      expect(read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(expected);
    }
    expect(read([...bytes].map((byte) => Buffer.from([byte])))).toEqual(expected);
  });

  test('are the same cut anywhere, whatever they hold', () => {
    const line = fc.stringMatching(/^(event|data|id|retry|:)?:? ?[ -~]{0,12}$/);
    const text = fc
      .array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r', '\n\n')))
      .map((lines) => lines.flat().join(''));
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 8 }), (source, places) => {
        const bytes = Buffer.from(source);
        const at = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        expect(read(at.slice(1).map((place, i) => bytes.subarray(at[i], place)))).toEqual(read([bytes]));
      }),
    );
  });

  test('an event that has not ended is none', () => {
    expect(read([Buffer.from('data: one\n')])).toEqual([]);
  });
});

test('tokens are told from what frames them, in the three APIs', () => {
  expect(isToken('content_block_delta', '{}')).toBe(true);
  expect(isToken('message_start', '{"message":{"content":[]}}')).toBe(false);
  expect(isToken('response.output_text.delta', '{}')).toBe(true);
  expect(isToken('', '{"choices":[{"delta":{"role":"assistant","content":""}}]}')).toBe(false);
  expect(isToken('', '{"choices":[{"delta":{"content":"Hi"}}]}')).toBe(true);
  expect(isToken('', '[DONE]')).toBe(false);
});
