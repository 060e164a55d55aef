import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { traceContextOf } from '../../src/http/trace-context.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const span = '00f067aa0ba902b7';
const sound = `00-${trace}-${span}-01`;
const parentOf = (...values: string[]) =>
  traceContextOf(values.flatMap((value) => ['traceparent', value]))?.traceparent;

describe('traceparent', () => {
  test.each([
    [sound, sound],
    [`00-${trace}-${span}-00`, `00-${trace}-${span}-00`],
    // A version to come, whose beginning is that of the known one.
    [`cc-${trace}-${span}-01`, sound],
    [`cc-${trace}-${span}-01-more`, sound],
  ])('%s goes on as %s', (value, on) => {
    expect(parentOf(value)).toBe(on);
  });

  test.each([
    ['', 'nothing'],
    [`ff-${trace}-${span}-01`, 'a version that is none'],
    [`00-${'0'.repeat(32)}-${span}-01`, 'no trace'],
    [`00-${trace}-${'0'.repeat(16)}-01`, 'no span'],
    [`00-${trace.toUpperCase()}-${span}-01`, 'upper case'],
    [`${sound}-more`, 'more than the version has'],
    [`${sound}-`, 'more than the version has'],
    [`cc-${trace}-${span}-01.more`, 'more without its dash'],
    [`00-${trace}-${span}`, 'no flags'],
    [`0-${trace}-${span}-01`, 'half a version'],
    [`00-${trace}-${span}-0g`, 'flags that are no number'],
    [` ${sound}`, 'a space'],
    [`${sound}\r\nx: y`, 'a line break'],
    [`00-${trace}-${span}-01-\n`, 'a line break'],
    [`00-${'a'.repeat(100_000)}-${span}-01`, 'a megabyte'],
  ])('%.60s is ignored: %s', (value) => {
    expect(parentOf(value)).toBeUndefined();
  });

  test('that comes twice is ignored', () => {
    expect(parentOf(sound, sound)).toBeUndefined();
  });

  test('goes on in one form alone, whatever is sent', () =>
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}.?.?$/)),
        (value) => {
          const on = parentOf(value);
          if (on === undefined) return;
          expect(on).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/);
          expect(value.slice(2, 55)).toBe(on.slice(2));
        },
      ),
    ));
});

describe('tracestate', () => {
  const stateOf = (...values: string[]) =>
    traceContextOf(['traceparent', sound, ...values.flatMap((value) => ['tracestate', value])]);

  test('goes on as it is, and several as one list', () => {
    expect(stateOf('a=1,b=2')).toEqual({ traceparent: sound, tracestate: 'a=1,b=2' });
    expect(stateOf('a=1', 'b=2')).toEqual({ traceparent: sound, tracestate: 'a=1,b=2' });
  });

  test('is left out where there is no traceparent, where it is longer than a vendor takes, or not printable', () => {
    expect(traceContextOf(['tracestate', 'a=1'])).toBeUndefined();
    expect(traceContextOf(['traceparent', 'x', 'tracestate', 'a=1'])).toBeUndefined();
    expect(stateOf(`a=${'1'.repeat(510)}`)).toHaveProperty('tracestate');
    for (const value of [`a=${'1'.repeat(511)}`, '', 'a=\u0000', 'a=é', 'a=1\r\nx: y'])
      expect(stateOf(value)).toEqual({ traceparent: sound });
  });

  test('of a header whose value is called like one is none', () => {
    expect(traceContextOf(['traceparent', sound, 'x', 'tracestate', 'y', 'z'])).toEqual({ traceparent: sound });
  });
});
