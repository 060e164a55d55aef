import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, test } from 'vitest';
import { Pattern } from '../../src/rules/language/patterns/pattern.ts';
import { programOf } from '../../src/rules/language/patterns/re2-internals.ts';
import { requiredIn } from '../../src/rules/language/patterns/required.ts';

const requiredOf = (pattern: string): RegExp | null => requiredIn(programOf(RE2JS.compile(pattern))!);
const readable = (found: RegExp | null): string | null =>
  found &&
  `${found.source.replace(/\\x(..)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))}/${found.flags}`;

/** Letters that fold into ASCII ones, among others. */
const letters = ['a', 'b', 'K', 's', 'S', 'k', '\u017f', '\u212a', '\u00e9', ' ', '\n', '9'];
const text = fc.string({ unit: fc.constantFrom(...letters), maxLength: 12 });
const word = fc.string({ unit: fc.constantFrom('a', 'b', 'K', 's'), minLength: 1, maxLength: 5 });

const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { depthSize: 'small' },
    word,
    fc.constantFrom('.', '[ab]', '[^a]', '\\b', '\\w', '^', '$', '(?i)', '\u00e9', '\u212a'),
    fc.array(tie('pattern'), { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')),
    fc.array(tie('pattern'), { minLength: 2, maxLength: 4 }).map((parts) => `(?:${parts.join('|')})`),
    fc
      .tuple(tie('pattern'), fc.constantFrom('', '?', '*', '+', '{2}', '{0,2}', '*?'))
      .map(([part, times]) => `(${part})${times}`),
    tie('pattern').map((part) => `(?i:${part})`),
  ),
}));

describe('what a pattern asks of a text before it is matched', () => {
  test.each([
    [String.raw`(?i)\bproject\s+nightfall\b`, 'NIGHTFALL/iu'],
    ['(?i)alpha|beta|gam+a', 'ALPHA|BETA|GAM/iu'],
    [String.raw`\b(alpha|beta)\b`, 'alpha|beta/u'],
    ['(?:ab|cd)efgh', 'efgh/u'],
    ['(?:abc)+', 'abc/u'],
    ['.*x-key: .*', 'x-key: /u'],
    ['(?:abc)*', null],
    ['abc|', null],
    ['(?:abc|d)', null],
    [String.raw`\d{3}-\d{2}-\d{4}`, null],
    ['\u00e9\u00e9\u00e9', null],
    ['', null],
  ])('%s', (source, expected) => {
    expect(readable(requiredOf(source))).toBe(expected);
  });

  test('what takes too long to look for is not looked for', () => {
    expect(requiredOf('(?:abcx|d.){150}wxyz')).toBeNull();
    expect(readable(requiredOf('(?:abcx|d.){5}vwxyz'))).toBe('vwxyz/u');
  });

  test('a pattern matches the texts that the engine alone says', () => {
    let asked = 0;
    fc.assert(
      fc.property(pattern, fc.array(fc.tuple(text, word, text), { minLength: 4, maxLength: 8 }), (source, texts) => {
        const engine = RE2JS.compile(source);
        const made = new Pattern(source);
        made.prepare();
        if (requiredOf(source) !== null) asked += 1;
        const words = source.match(/[abKs]+/g) ?? [];
        for (const [before, inner, after] of texts) {
          // What is in the pattern is in the text too, or next to nothing would match.
          for (const part of [
            inner,
            words.join(''),
            (words[0] ?? '').toLowerCase(),
            (words.at(-1) ?? '').replaceAll('s', '\u017f'),
          ]) {
            const whole = `${before}${part}${after}`;
            if (made.test(whole) !== engine.test(whole)) throw new Error(`${source} on ${JSON.stringify(whole)}`);
          }
        }
      }),
      { numRuns: 1500 },
    );
    expect(asked).toBeGreaterThan(100);
  });
});
