import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type SseEvent, SseParser } from '../../src/data/upstream/transport/sse.ts';

const limit = 1024;

const cutAt = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const bounds = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return bounds.slice(1).map((to, index) => bytes.subarray(bounds[index], to));
};

/** The events of the pieces, and the fault that ended them. */
const parse = (pieces: readonly Buffer[], most = limit): { events: SseEvent[]; fault: string | null } => {
  const parser = new SseParser(most);
  const events: SseEvent[] = [];
  try {
    // A copy of each piece that is wiped afterwards: the parser must not hold on to what it was lent.
    for (const piece of pieces) {
      const lent = Buffer.from(piece);
      for (const event of parser.push(lent)) events.push(event);
      lent.fill(0x21);
    }
  } catch (error) {
    return { events, fault: (error as Error).message };
  }
  return { events, fault: null };
};

const parseText = (text: string) => parse([Buffer.from(text)]);

/** What the standard says, written for whole texts and without regard to speed. */
const naive = (text: string): SseEvent[] => {
  const events: SseEvent[] = [];
  let event = '';
  let data: string[] = [];
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  for (const line of lines.slice(0, -1)) {
    if (line === '') {
      if (data.length > 0) events.push({ event: event === '' ? 'message' : event, data: data.join('\n') });
      event = '';
      data = [];
      continue;
    }
    const [, name, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
    if (name === 'data') data.push(value ?? '');
    if (name === 'event') event = value ?? '';
  }
  return events;
};

const pieces = fc.constantFrom(
  'data: x',
  'data:é😀',
  'data',
  'event: go',
  'event:',
  ': note',
  'id: 7',
  'data:  two',
  '\u2028',
  '\n',
  '\n\n',
  '\r',
  '\r\n',
  '\r\r',
  '\ufeff',
);
const streams = fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join(''));

describe('SseParser', () => {
  test('reads what a naive reading of the standard reads, whatever the cuts', () => {
    fc.assert(
      fc.property(streams, fc.array(fc.nat(), { maxLength: 12 }), (text, cuts) => {
        expect(parse(cutAt(Buffer.from(text), cuts))).toEqual({ events: naive(text), fault: null });
      }),
      { numRuns: 500 },
    );
  });

  test('gives the same events and the same fault for any cuts of any bytes', () => {
    const bytes = fc.array(
      fc.oneof(
        fc.uint8Array({ maxLength: 9 }),
        pieces.map((part) => Buffer.from(part)),
      ),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(
        bytes,
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.integer({ min: 4, max: 80 }),
        (parts, cuts, most) => {
          const whole = Buffer.concat(parts);
          expect(parse(cutAt(whole, cuts), most)).toEqual(parse([whole], most));
          expect(
            parse(
              Array.from(whole, (byte) => Buffer.from([byte])),
              most,
            ),
          ).toEqual(parse([whole], most));
        },
      ),
      { numRuns: 500 },
    );
  });

  test('takes one space after the colon, and only one', () => {
    expect(parseText('data:  a\ndata:b\ndata\n\n').events).toEqual([{ event: 'message', data: ' a\nb\n' }]);
  });

  test('an event without its blank line, or without data, is none', () => {
    expect(parseText('data: a\n').events).toEqual([]);
    expect(parseText('event: a\n\ndata: b\n\n').events).toEqual([{ event: 'message', data: 'b' }]);
  });

  test('bad UTF-8 is a fault, even where a cut hides it', () => {
    const bad = Buffer.concat([Buffer.from('data: a\n\ndata: '), Buffer.from([0xe2, 0x82]), Buffer.from('\n\n')]);
    for (let cut = 0; cut <= bad.length; cut += 1) {
      expect(parse(cutAt(bad, [cut]))).toEqual({
        events: [{ event: 'message', data: 'a' }],
        fault: 'the stream is not UTF-8',
      });
    }
  });

  test('an event may be as large as the limit and no larger, in one line, in many, and in comments', () => {
    const fits = `data: ${'a'.repeat(limit - 6)}`;
    expect(parseText(`${fits}\n\n${fits}\n\n`).fault).toBeNull();
    expect(parseText(`${fits}a`).fault).toBe('an event is too large');
    expect(parseText('data: ab\n'.repeat(limit)).fault).toBe('an event is too large');
    expect(parseText(':\n'.repeat(limit + 1)).fault).toBe('an event is too large');
  });
});
