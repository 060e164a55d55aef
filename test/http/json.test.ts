// Lane: fast, timed: it measures how long bodies take
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { Refused } from '../../src/http/refused.ts';
import { parseJson } from '../../src/http/request/json.ts';
import { maxValues } from '../../src/json/document.ts';
import { accepted, invalidUtf8, rejected } from './json-cases.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const read = (text: string | Buffer) => parseJson(typeof text === 'string' ? Buffer.from(text) : text);
const isRefused = (text: string | Buffer): boolean => {
  const result = read(text);
  if (!(result instanceof Refused)) return false;
  expect(['invalid_json', 'request_too_complex']).toContain(result.refusal.code);
  return true;
};
describe('parseJson', () => {
  test.each(accepted)('accepts %s', (text) => {
    const result = read(text);
    expect(result).not.toBeInstanceOf(Refused);
    expect(JSON.stringify(result)).toBe(JSON.stringify(JSON.parse(text)));
  });

  test.each(rejected.map((text) => [text.length > 60 ? `${text.slice(0, 60)}…` : text, text]))(
    'refuses %s',
    (_, text) => {
      expect(isRefused(text)).toBe(true);
    },
  );

  test.each(invalidUtf8.map((bytes) => [Buffer.from(bytes).toString('hex'), bytes]))(
    'refuses the bytes %s',
    (_, bytes) => {
      for (const [before, after] of [
        ['{"a":"', '"}'],
        ['{"', '":1}'],
        ['{"a":1}', ''],
      ]) {
        expect(
          isRefused(Buffer.concat([Buffer.from(before!), Buffer.from(bytes as number[]), Buffer.from(after!)])),
        ).toBe(true);
      }
    },
  );

  test('a byte order mark is refused and never stripped', () => {
    expect(isRefused(Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]))).toBe(true);
  });

  test('__proto__ is an ordinary member and changes no prototype', () => {
    const result = read('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
    expect(Object.hasOwn(result, '__proto__')).toBe(true);
    expect((result as { polluted?: number }).polluted).toBeUndefined();
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  test('a document of too many values is refused before it is parsed', () => {
    const most = `{"a":[${'1,'.repeat(maxValues - 3)}1]}`;
    expect(isRefused(most)).toBe(false);
    const tooMany = read(`{"a":[${'1,'.repeat(maxValues)}1]}`) as Refused;
    expect(tooMany.refusal.code).toBe('request_too_complex');
  });

  test('it agrees with JSON.parse on every document without the refused features', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' })),
        (value) => {
          const text = JSON.stringify(value, null, value.a ? 2 : 0);
          if (/\\ud[89a-f]/i.test(text)) return;
          expect(read(text)).toEqual(JSON.parse(text));
        },
      ),
      { numRuns: 2000 },
    );
  });

  test('a member repeated anywhere is found, however it is escaped', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 80 });
    const escaped = (text: string): string =>
      `"${[...Array(text.length).keys()].map((i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`;
    fc.assert(
      fc.property(
        fc.uniqueArray(name, { minLength: 1, maxLength: 40 }),
        fc.nat(),
        fc.boolean(),
        (names, at, isEscaped) => {
          const twin = names[at % names.length]!;
          const members = names.map((member) => `${JSON.stringify(member)}:1`);
          expect(isRefused(`{${members.join(',')}}`)).toBe(false);
          expect(
            isRefused(`{${[...members, `${isEscaped ? escaped(twin) : JSON.stringify(twin)}:1`].join(',')}}`),
          ).toBe(true);
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('it never throws, whatever the bytes, and accepts nothing that JSON.parse refuses', () => {
    const alphabet = [...'{}[]",:\\u0123456789abcdefDE.+- \n\ttrue\0é\ud83d'];
    const soup = fc
      .string({ unit: fc.constantFrom(...alphabet), maxLength: 60 })
      .map((text) => Buffer.from(`{"a":${text}}`));
    fc.assert(
      fc.property(
        fc.oneof(
          soup,
          fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
        ),
        (bytes) => {
          const result = parseJson(bytes);
          if (!(result instanceof Refused)) expect(() => JSON.parse(bytes.toString())).not.toThrow();
        },
      ),
      { numRuns: 20_000 },
    );
  });

  test('the time grows with the size, not with its square', () => {
    const time = (unit: string): number => {
      const bytes = Buffer.from(`{"a":"${unit.repeat(4_000_000 / unit.length)}"}`);
      const from = performance.now();
      expect(parseJson(bytes)).not.toBeInstanceOf(Refused);
      return performance.now() - from;
    };
    for (const unit of ['\\n', '\\\\', '\\"', '\\u0061', `${'x'.repeat(98)}\\n`, 'é'])
      expect(time(unit), unit).toBeLessThan(4000);
  });

  test('a hostile body of 64 KiB is refused within 5 ms', () => {
    const size = 64 * 1024;
    const fill = (unit: string): string => unit.repeat(Math.floor(size / unit.length));
    const keys = Array.from({ length: 6000 }, (_, i) => `"k${i}":1`).join(',');
    const hostile = [
      `{"a":${fill('[')}`,
      `{"a":"${fill('\\\\')}`,
      `{"a":"${fill('\\u0061')}`,
      `{"a":${fill('1')}}`,
      `{"a":[${fill('"",')}`,
      `{${keys},"k5":1}`,
      fill(' '),
      `{"a":"${fill('"')}`,
      `{"a":"${fill('\\\\')}","a":1}`,
      `{"a":"${fill('\\u0061')}","a":1}`,
      `{"a":"${fill('\\"')}","a":1}`,
      `{"${fill('\\n')}":1,"${fill('\\n')}":1}`,
    ].map((text) => Buffer.from(text));
    const best = (bytes: Buffer): number => {
      let least = Number.POSITIVE_INFINITY;
      for (let i = 0; i < 20; i++) {
        const from = performance.now();
        expect(parseJson(bytes)).toBeInstanceOf(Refused);
        least = Math.min(least, performance.now() - from);
      }
      return least;
    };
    for (const bytes of hostile) expect(best(bytes), bytes.toString('latin1', 0, 12)).toBeLessThan(5);
  });
});
