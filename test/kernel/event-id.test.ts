import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonical } from '../../src/kernel/canonical.ts';
import { eventId } from '../../src/kernel/event-id.ts';

describe('canonical', () => {
  test('does not depend on the order of keys, and reads back as the same value', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
        const reversed = Object.fromEntries(Object.entries(object).reverse());
        expect(canonical(reversed)).toBe(canonical(object));
        expect(JSON.parse(canonical(object))).toEqual(JSON.parse(JSON.stringify(object)));
      }),
    );
  });

  test('is what RFC 8785 shows', () => {
    const sample = { '\u20ac': 1, '\r': 2, '\ufb33': 3, 1: 4, '\u{1f600}': 5, '\u0080': 6, '\u00f6': 7 };
    const expected = '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\u{1f600}":5,"\ufb33":3}';
    expect(canonical(sample)).toBe(expected);
    expect(canonical({ n: [1e21, 4.5, 2e-3, 1e-27, -0], s: '\u20ac$\u000f\nA\'B"\\' })).toBe(
      '{"n":[1e+21,4.5,0.002,1e-27,0],"s":"€$\\u000f\\nA\'B\\"\\\\"}',
    );
  });

  test('leaves out what is undefined and refuses what is not JSON', () => {
    expect(canonical({ a: undefined, b: null })).toBe('{"b":null}');
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 1n, () => 1, undefined, Symbol('s')]) {
      expect(() => canonical({ list: [value] })).toThrow(TypeError);
    }
  });
});

describe('eventId', () => {
  const of = (over: Partial<Record<'command' | 'stream' | 'type', string>> & { index?: number; data?: object } = {}) =>
    eventId(over.command ?? 'c', over.index ?? 0, over.stream ?? 's-1', over.type ?? 't', over.data ?? { a: 1, b: 2 });

  test('is a UUID of version 5 and never changes', () => {
    expect(of()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(of({ data: { b: 2, a: 1 } })).toBe(of());
    expect(of()).toBe('57c93008-40d2-5a03-a23b-8c082c9412b4');
  });

  test('differs with everything that goes in', () => {
    const ids = [
      of(),
      of({ command: 'd' }),
      of({ index: 1 }),
      of({ stream: 's-2' }),
      of({ type: 'u' }),
      of({ data: { a: 1, b: 3 } }),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });
});
