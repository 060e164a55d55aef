import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseJson } from '../../src/http/request/json.ts';
import { parseExactly } from '../../src/json/document.ts';
import { ExactNumber, jsonText } from '../../src/json/exact-number.ts';

const digits = (most: number) => fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: most });
/** Any number that JSON can write. */
const number = fc
  .tuple(
    fc.constantFrom('', '-'),
    digits(25),
    fc.option(digits(20)),
    fc.option(fc.constantFrom('e', 'E', 'e+', 'E-')),
    digits(2),
  )
  .map(([sign, whole, fraction, exponent, power]) => {
    const part = whole.replace(/^0+(?=\d)/, '');
    return `${sign}${part}${fraction === null ? '' : `.${fraction}`}${exponent === null ? '' : `${exponent}${power}`}`;
  });
const text = fc.string({ unit: 'binary' }).map((value) => JSON.stringify(value));
const json = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(number, text, fc.constantFrom('true', 'false', 'null')),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join()}]`),
    // No name that looks like an index: those come first, whoever reads them.
    fc
      .dictionary(fc.string({ maxLength: 5 }), tie('value'), { maxKeys: 4 })
      .map(
        (members) => `{${Object.entries(members).map(([name, value]) => `${JSON.stringify(`_${name}`)}:${value}`)}}`,
      ),
  ),
})).value;

test('what is parsed exactly is written as it was, whatever it is', () => {
  fc.assert(
    fc.property(json, (value) => {
      const document = `{"a":[${value}]}`;
      expect(jsonText(parseExactly(document))).toBe(document);
    }),
    { numRuns: 2000 },
  );
});

const read = (text: string) => parseJson(Buffer.from(text)) as unknown as { readonly a: readonly unknown[] };

test('a body keeps each number that would change, and makes doubles of all others', () => {
  fc.assert(
    fc.property(number, (value) => {
      fc.pre(Number.isFinite(Number(value)));
      const isSame = JSON.stringify(Number(value)) === value;
      expect(typeof read(`{"a":[${value}]}`).a[0]).toBe(isSame ? 'number' : 'object');
      expect(typeof read(`{"a":${value}}`).a).toBe('number');
    }),
    { numRuns: 5000, examples: [['-0'], ['0'], ['0.0'], ['0.000001'], ['0.0000001'], ['999999999999999'], ['0.01']] },
  );
});

test('to everybody else it is a double', () => {
  const { a } = parseExactly('{"a":[9007199254740993]}') as { a: ExactNumber[] };
  expect(a[0]).toBeInstanceOf(ExactNumber);
  expect([Number(a[0]), String(a[0]), JSON.stringify(a)]).toEqual([2 ** 53, '9007199254740993', '[9007199254740992]']);
});

test('what is no JSON does not become any', () => {
  for (const broken of ['01', '1.', '.5', '1.0.0', '+1.0', '1e', '--1.0', '-', '1.0e+']) {
    expect(() => parseExactly(`{"a":[1.0,${broken}]}`), broken).toThrow(SyntaxError);
  }
});
