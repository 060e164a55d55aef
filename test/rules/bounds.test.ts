import { describe, expect, test } from 'vitest';
import { accepted, refused } from './rule.ts';

/** `-1`, `0` and `+1` around a bound: the first two are accepted, the third is refused for the named reason. */
const around = (bound: number, rule: (n: number) => string, reason: string): void => {
  accepted(rule(bound - 1));
  accepted(rule(bound));
  expect(refused(rule(bound + 1))[0]?.message).toContain(reason);
};

describe('save-time bounds', () => {
  test('characters, which are code points', () => {
    around(4096, (n) => `true${' '.repeat(n - 4)}`, 'at most 4096 characters');
    around(4096, (n) => `"${'😀'.repeat(n - 8)}" != ""`, 'at most 4096 characters');
  });
  test('nodes', () => {
    // k operands and k-1 operators; a negation is one node more.
    const chain = (n: number) => `${n % 2 === 0 ? '!' : ''}false${' && true'.repeat((n - (n % 2 === 0 ? 2 : 1)) / 2)}`;
    around(500, chain, 'at most 500 expressions');
  });
  test('nesting', () => {
    around(32, (n) => `${'('.repeat(n - 1)}true${')'.repeat(n - 1)}`, 'at most 32 levels of nesting');
    // The expression itself, one for each call, one for the argument.
    around(32, (n) => `request.text${'.trim()'.repeat(n - 2)} == ""`, 'at most 32 levels of nesting');
  });
  test('a long chain of alternatives is not deep', () => {
    accepted(Array.from({ length: 80 }, (_, i) => `request.text.contains("${i}")`).join(' || '));
  });
  test('list items', () => {
    around(200, (n) => `1 in [${Array.from({ length: n }, (_, i) => i).join(',')}]`, 'at most 200 items in a list');
  });
  test('map entries', () => {
    around(200, (n) => `"1" in {${Array.from({ length: n }, (_, i) => `"${i}": 1`).join(',')}}`, 'at most 200 entries');
  });
  test('call arguments', () => {
    // No function takes so many; up to the bound it is the type checker that refuses.
    const call = (n: number) => `clamp(${Array.from({ length: n }, () => '1.0').join()}) == 1.0`;
    expect(refused(call(8))[0]?.message).toContain('overload');
    expect(refused(call(9))[0]?.message).toContain('at most 8 arguments in a call');
  });
  test('patterns', () => {
    const some = (n: number, call: string) => Array.from({ length: n }, () => `request.text.${call}`).join(' || ');
    around(20, (n) => some(n, 'matches("a")'), 'at most 20 patterns');
    around(20, (n) => some(n, 'countMatches("a") > 3'), 'at most 20 patterns');
  });
  test('characters of a pattern', () => {
    around(512, (n) => `request.text.matches("${'a'.repeat(n)}")`, 'at most 512 characters');
    around(512, (n) => `request.text.matches("${'😀'.repeat(n)}")`, 'at most 512 characters');
    accepted(Array.from({ length: 7 }, () => `request.text.matches("${'ab|c'.repeat(128)}")`).join(' || '));
  });
  test('the size that patterns compile to', () => {
    accepted('request.text.matches("a{1000}")');
    expect(refused('request.text.matches("(?:ab){1000}")')[0]?.message).toContain('too large');
    accepted(String.raw`request.text.matches("\\pL{100}")`);
    expect(refused(String.raw`request.text.matches("\\pL{800}")`)[0]?.message).toContain('too large together');
    const many = Array.from({ length: 20 }, () => String.raw`request.text.matches("\\pL{20}")`).join(' || ');
    expect(refused(many)[0]?.message).toContain('too large together');
  });
  test('comprehension nesting', () => {
    const nested = (n: number) =>
      `${Array.from({ length: n }, (_, i) => `[1].exists(x${i}, `).join('')}true${')'.repeat(n)}`;
    around(2, nested, 'nest at most 2 deep');
    accepted('[1].filter(a, true).filter(b, true).filter(c, true).exists(d, [1].all(e, true))');
  });
});
