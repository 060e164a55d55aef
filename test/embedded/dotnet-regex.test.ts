import { expect, test } from 'vitest';
import { fromDotnet } from '../../src/embedded/subscriptions/dotnet-regex.ts';

test.each([
  ['(?i)^ORDER', ['order-1', 'Order-2'], ['my-order']],
  ['^(?i)order', ['ORDER-1'], ['x-order']],
  ['\\Aorder-\\d+\\z', ['order-12'], ['order-', 'order-1x', 'order-1\n']],
  ['order-1\\Z', ['order-1', 'order-1\n'], ['order-1x']],
  ['order$', ['order', 'order\n'], ['orders', 'order\n\n']],
  ['(?m)^b$', ['a\nb\nc', 'b'], ['a\nbc']],
  ['(?s)a.b', ['a\nb'], ['ab']],
  ['a(?>b+)b', [], ['abbb']],
  ['^a(?>b+|c)d$', ['abbd', 'acd'], ['ad']],
  ['(a)(?>b)(c)\\2\\1', ['abcca'], ['abcac']],
  ['(?>b)1', ['b1'], ['b']],
  ['^(?>ab)*$', ['', 'abab'], ['aba']],
  ['^(a)\\1{2}$', ['aaa'], ['aa']],
  ['ord(?#the rest)er', ['order'], ['ordthe rester']],
  ['a\\-b', ['a-b'], ['ab']],
  ['a\\@b', ['a@b'], ['ab']],
  ['[\\-\\@]x', ['-x', '@x'], ['\\x']],
  ['[a\\-c]', ['-', 'a', 'c'], ['b']],
  ['^a{,3}$', ['a{,3}'], ['a', 'aaa']],
  ['^a{2,3}$', ['aa', 'aaa'], ['a', 'a{2,3}']],
  ['a{', ['a{'], ['a']],
  ['a}]', ['a}]'], ['a']],
  ['[]a]', [']', 'a'], ['[']],
  ['[^]a]', ['b'], [']', 'a']],
  ["(?'n'ab)\\k'n'", ['abab'], ['ab']],
  ['(?<n>ab)\\k<n>', ['abab'], ['ab']],
  ['^\\p{L}+$', ['größe'], ['a1']],
  ['^[^\\$].*', ['order', ''].slice(0, 1), ['$settings']],
  ['\\x41\\u0042\\e', ['AB\x1b'], ['AB']],
])('%s is what .NET understands by it', (source, matching, others) => {
  const regex = fromDotnet(source);
  expect(matching.filter((text) => !regex.test(text))).toEqual([]);
  expect(others.filter((text) => regex.test(text))).toEqual([]);
});

test.each([
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
  expect(() => fromDotnet(source)).toThrow();
});
