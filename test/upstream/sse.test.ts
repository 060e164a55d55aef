import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dataOf } from './data-of.ts';

const limit = 1024;

const cutAt = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const bounds = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return bounds.slice(1).map((to, index) => bytes.subarray(bounds[index], to));
};

/** The data of the events, and the fault that ended them. */
const parse = (pieces: readonly Buffer[], most = limit): { events: string[]; fault: string | null } => {
  const events: string[] = [];
  try {
    for (const data of dataOf(lent(pieces), most)) events.push(data);
  } catch (error) {
    return { events, fault: (error as Error).message };
  }
  return { events, fault: null };
};

/** A copy of each piece that is wiped afterwards: nothing must hold on to what it was lent. */
function* lent(pieces: readonly Buffer[]): Generator<Buffer> {
  for (const piece of pieces) {
    const copy = Buffer.from(piece);
    yield copy;
    copy.fill(0x21);
  }
}

const parseText = (text: string) => parse([Buffer.from(text)]);

/** What the standard says, written for whole texts and without regard to speed; lines of data are joined by a space. */
const naive = (text: string): string[] => {
  const events: string[] = [];
  let data: string[] = [];
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  for (const line of lines.slice(0, -1)) {
    if (line === '') {
      if (data.length > 0) events.push(data.join(' '));
      data = [];
      continue;
    }
    const [, name, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
    if (name === 'data' && value !== undefined) data.push(value);
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

describe('events', () => {
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
          const whole = parse([Buffer.concat(parts)], most);
          for (const places of [cuts, [...Buffer.concat(parts).keys()]]) {
            expect(parse(cutAt(Buffer.concat(parts), places), most)).toEqual(whole);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  test('takes one space after the colon, and only one', () => {
    expect(parseText('data:  a\ndata:b\n\n').events).toEqual([' a b']);
  });

  test('an event without its blank line, or without data, is none', () => {
    expect(parseText('data: a\n').events).toEqual([]);
    expect(parseText('event: a\n\ndata: b\n\n').events).toEqual(['b']);
  });

  test('a byte order mark before the first event is none of its bytes, however it is cut', () => {
    const bytes = Buffer.from('\ufeffdata: a\n\n\ufeffdata: b\n\ndata: c\n\n');
    for (let cut = 0; cut <= bytes.length; cut += 1) expect(parse(cutAt(bytes, [cut])).events).toEqual(['a', 'c']);
  });

  test('an event may be as large as the limit and no larger, in one line, in many, and in comments', () => {
    const fits = `data: ${'a'.repeat(limit - 8)}`;
    expect(parseText(`${fits}\n\n${fits}\n\n`).fault).toBeNull();
    const marked = Buffer.from(`\ufeff${fits}\n\n`);
    for (let cut = 0; cut <= marked.length; cut += 1) expect(parse(cutAt(marked, [cut])).fault).toBeNull();
    expect(parseText(`${fits}a\n\n`).fault).toBe('an event is too large');
    expect(parseText('data: ab\n'.repeat(limit)).fault).toBe('an event is too large');
    expect(parseText(':\n'.repeat(limit + 1)).fault).toBe('an event is too large');
  });
});
