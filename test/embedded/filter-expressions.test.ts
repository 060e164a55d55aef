import { expect, test } from 'vitest';
import { expressionOf } from '../../src/embedded/subscriptions/filter.ts';

test.each([
  ['(?i)^ORDER', ['order-1', 'Order-2'], ['my-order']],
  ['\\Aorder-\\d+\\z', ['order-12'], ['order-', 'order-1x', 'order-1\n']],
  ['(?m)^b$', ['a\nb\nc', 'b'], ['a\nbc']],
  ['(?s)a.b', ['a\nb'], ['ab']],
  ['^(a)\\1{2}$', ['aaa'], ['aa']],
  ['a\\-b', ['a-b'], ['ab']],
  ['a\\@b', ['a@b'], ['ab']],
  ['[\\-\\@]x', ['-x', '@x'], ['\\x']],
  ['[a\\-c]', ['-', 'a', 'c'], ['b']],
  ['^a{2,3}$', ['aa', 'aaa'], ['a', 'a{2,3}']],
  ['(?<n>ab)\\k<n>', ['abab'], ['ab']],
  ['^\\p{L}+$', ['größe'], ['a1']],
  ['\\x41\\u0042', ['AB'], ['ab']],
  ['\\\\A', ['\\A'], ['A']],
  ['^[^\\$].*', ['order', ''].slice(0, 1), ['$settings']],
])('%s is what .NET understands by it', (source, matching, others) => {
  const regex = expressionOf(source);
  expect(matching.filter((text) => !regex.test(text))).toEqual([]);
  expect(others.filter((text) => regex.test(text))).toEqual([]);
});

test.each([
  'a(?>b+)b',
  'order-1\\Z',
  '\\e',
  '[]a]',
  'a{,3}',
  "(?'n'ab)",
  '(',
  ')',
  'a(?i)b',
  '(?i:a)',
  '(?x) a',
  '[a-z-[aeiou]]',
  '(?(a)b|c)',
  '\\q',
  '\\_',
  '\\1',
  '(?<a-b>x)',
  'a**',
  '[z-a]',
  'a\\',
  '[a',
  '(?',
])('%s is refused rather than guessed at', (source) => {
  expect(() => expressionOf(source)).toThrow();
});
