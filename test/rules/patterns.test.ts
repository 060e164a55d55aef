import { Worker } from 'node:worker_threads';
import { Environment } from '@marcbachmann/cel-js';
import { describe, expect, test } from 'vitest';
import { Pattern } from '../../src/rules/language/patterns/pattern.ts';
import { accepted, holds, requestOf, scoreIn, userSays } from './rule.ts';

const a28 = `${'a'.repeat(28)}!`;
/** Patterns that take a backtracking engine exponential time, and texts to bring it about. */
const classics: readonly (readonly [string, string])[] = [
  ['^(a+)+$', a28],
  ['^(a|aa)+$', `${'a'.repeat(45)}!`],
  ['^(a|a?)+$', a28],
  ['^([a-zA-Z]+)*$', a28],
  ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a'.repeat(34)],
  ['(x+x+)+y', 'x'.repeat(34)],
  ['^(.*a){14}$', `${'a'.repeat(40)}!`],
  ['^(\\\\d+)*$', `${'1'.repeat(30)}!`],
  ['^([a-zA-Z0-9])(([\\\\-.]|[_]+)?([a-zA-Z0-9]+))*(@)[a-z]+$', `${'a'.repeat(34)}!`],
];

/** Whether the engine's own `matches` is through within a second. */
const hostIsThrough = async (pattern: string, text: string): Promise<boolean> => {
  const code = `import('@marcbachmann/cel-js').then(({ evaluate }) => {
    require('node:worker_threads').parentPort.postMessage(evaluate(${JSON.stringify(`t.matches("${pattern}")`)}, { t: ${JSON.stringify(text)} }));
  });`;
  const worker = new Worker(code, { eval: true, execArgv: [] });
  try {
    return await Promise.race([
      new Promise<boolean>((resolve) => worker.once('message', () => resolve(true))),
      new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 1000).unref()),
    ]);
  } finally {
    await worker.terminate();
  }
};

describe('patterns', () => {
  test('canary: the host regex hangs on 28 characters', async () => {
    expect(await hostIsThrough('^(a+)+$', a28)).toBe(false);
  });

  test.each(classics)('%s is through within a second', (pattern, text) => {
    const view = userSays(text);
    for (const rule of [`request.text.matches("${pattern}")`, `request.text.countMatches("${pattern}") > 0`]) {
      const compiled = accepted(rule);
      const started = performance.now();
      expect(compiled.calculate(view.variables)).toBe(false);
      expect(performance.now() - started).toBeLessThan(1000);
    }
  });

  test('reach RE2 wherever they stand', () => {
    const bad = `request.text.matches("^(a+)+$")`;
    for (const rule of [
      `(${bad})`,
      `!${bad} && true`,
      `true ? ${bad} : false`,
      `[1].exists(x, ${bad})`,
      `[1].filter(x, ${bad}).size() == 1`,
      `request.messages.exists(m, m.text.matches("^(a+)+$"))`,
      `[${bad}][0]`,
      `{"a": ${bad}}["a"]`,
      `string(${bad}) == "true"`,
      `(/* ) */ request.text // .matches(\n . // c\n matches ("^(a+)+$"))`.replace('/* ) */', ''),
    ]) {
      const compiled = accepted(rule);
      const started = performance.now();
      compiled.calculate(userSays(a28).variables);
      expect(performance.now() - started).toBeLessThan(1000);
    }
  });

  test('are a type that no expression has', () => {
    // The renamed method takes a Pattern alone, so a string could not get there even if the rename left one.
    const cel = new Environment()
      .registerType('Pattern', Pattern)
      .registerFunction('string.p(Pattern): bool', () => true);
    expect(cel.check('"a".p("a")').valid).toBe(false);
  });

  test('find what RE2 finds, anywhere in the text', () => {
    expect(holds('request.text.matches("b+c")', userSays('aabbcc'))).toBe(true);
    expect(holds('request.text.matches("^b")', userSays('ab'))).toBe(false);
    expect(holds('request.text.matches("(?m)^b$")', userSays('a\nb\nc'))).toBe(true);
    expect(holds(String.raw`request.text.matches("^\\pL+$")`, userSays('Größe漢字'))).toBe(true);
    expect(holds('request.text.matches("^.$")', userSays('😀'))).toBe(true);
    expect(scoreIn('request.text.countMatches("(?i)ab?") == 3', userSays('aXabXAB'))).toBe(10_000);
    expect(scoreIn('request.text.countMatches("aa") == 2', userSays('aaaaa'))).toBe(10_000);
  });

  test('compare in NFC', () => {
    const decomposed = 'cafe\u0301';
    expect(holds(`request.text.matches("^caf${'\u00e9'}$")`, userSays(decomposed))).toBe(true);
    expect(holds(`request.text.matches("^${decomposed}$")`, userSays('caf\u00e9'))).toBe(true);
    expect(holds(`request.text == "${decomposed}"`, userSays('caf\u00e9'))).toBe(true);
  });

  test('share nothing between rules', () => {
    const [first, second] = [accepted('request.text.matches("a")'), accepted('request.text.matches("b")')];
    const { variables } = requestOf({ messages: [{ role: 'user', content: 'a' }] });
    expect([first.calculate(variables), second.calculate(variables), first.calculate(variables)]).toEqual([
      true,
      false,
      true,
    ]);
  });
});
