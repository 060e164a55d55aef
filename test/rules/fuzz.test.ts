import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { compileRule, isCompiled } from '../../src/rules/compile.ts';
import { evaluated } from '../../src/rules/cost/quantity.ts';
import { openEvaluator } from '../../src/rules/evaluate.ts';
import { maxErrors } from '../../src/rules/language/limits.ts';
import { Pattern } from '../../src/rules/language/patterns/pattern.ts';
import type { Direction } from '../../src/rules/language/variables.ts';
import { sizeIn } from '../../src/rules/text/fields.ts';
import { responseView } from '../../src/rules/text/view.ts';
import { verdictHere } from '../../src/rules/verdict.ts';
import { requestOf } from './rule.ts';

const evaluator = openEvaluator();
afterAll(() => evaluator.close());

const direction = fc.constantFrom<Direction>('request', 'response');

const seeds = [
  String.raw`request.text.matches("(?i)\\bproject\\s+nightfall\\b")`,
  'request.max_tokens > 32000 && !(project.name in ["research"])',
  'request.messages.exists(m, m.role == "user" && m.text.contains("BEGIN PRIVATE KEY"))',
  String.raw`clamp(0.5 * double(request.text.countMatches("\\b\\d{3}-\\d{2}-\\d{4}\\b")) + (request.has_documents ? 0.2 : 0.0))`,
  'response.tool_calls.exists(t, t.name == "shell") || response.text.matches("(?i)internal use only")',
  'has(request.metadata.team) && request.metadata.team == "x"',
];
const scraps = [
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  '"',
  "'",
  '"""',
  '.',
  '?',
  ':',
  ',',
  '||',
  '&&',
  '!',
  '-',
  '+',
  '*',
  '/',
  '%',
  ' in ',
  '\\',
].concat(
  [
    'request',
    'response',
    '.text',
    '.messages',
    'now',
    'cel',
    '.exists(m, ',
    '.filter(x, ',
    'has(',
    '.matches("(a+)+$")',
    'u',
    'b"',
    'r"',
    '0x',
    '1e999',
  ],
  [
    '.bind(',
    'dyn(',
    'null',
    'true',
    '//',
    '\n',
    '\0',
    '\u2028',
    '\ud800',
    '😀',
    '{1000}',
    '\\u0000',
    '__proto__',
    'constructor',
    '[0]',
  ],
);

/** A documented rule with parts cut out, doubled and put in. */
const mutated = fc
  .tuple(
    fc.constantFrom(...seeds),
    fc.array(fc.tuple(fc.nat(), fc.nat(12), fc.constantFrom('', ...scraps)), { minLength: 1, maxLength: 4 }),
  )
  .map(([seed, edits]) =>
    edits.reduce((text, [at, cut, put]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + put + text.slice(place + (put === '' ? cut : cut % 3));
    }, seed),
  );

/** Well-typed rules for the most part. */
const { bool } = fc.letrec<{ bool: string; text: string; int: string; list: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(
      'request.text',
      'request.last_user_text',
      'request.system',
      'project.name',
      'm.text',
      'request.messages[0].text',
      '"a"',
      '"aaab"',
      '""',
    ),
    tie('text').map((t) => `${t}.lowerAscii()`),
    tie('text').map((t) => `${t}.trim()`),
    fc.tuple(tie('text'), tie('int')).map(([t, n]) => `${t}.substring(${n})`),
    fc.tuple(tie('bool'), tie('text'), tie('text')).map(([c, a, b]) => `(${c} ? ${a} : ${b})`),
    tie('int').map((n) => `string(${n})`),
  ),
  int: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('request.max_tokens', 'request.message_count', '0', '3', '-1', 'request.tool_names.size()'),
    fc.tuple(tie('int'), fc.constantFrom('+', '-', '*', '/', '%'), tie('int')).map((p) => `(${p.join(' ')})`),
    tie('text').map((t) => `size(${t})`),
    fc.tuple(tie('text'), tie('text')).map(([a, b]) => `${a}.indexOf(${b})`),
    fc
      .tuple(tie('text'), fc.constantFrom('a*', '(a|b)*c', '[ab]{20}', '.*a|b'))
      .map(([t, p]) => `${t}.countMatches("${p}")`),
    tie('text').map((t) => `int(${t})`),
  ),
  list: fc.oneof(
    { maxDepth: 3 },
    fc.constant('request.messages'),
    fc.tuple(tie('list'), tie('bool')).map(([l, b]) => `${l}.filter(m, ${b})`),
  ),
  bool: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom('request.stream', 'true', 'has(request.metadata.team)', 'm.role == "user"'),
    fc.tuple(tie('bool'), fc.constantFrom('&&', '||', '=='), tie('bool')).map((p) => `(${p.join(' ')})`),
    tie('bool').map((b) => `!${b}`),
    fc.tuple(tie('int'), fc.constantFrom('<', '>=', '==', '!='), tie('int')).map((p) => p.join(' ')),
    fc.tuple(tie('text'), fc.constantFrom('<', '==', '!='), tie('text')).map((p) => p.join(' ')),
    fc.tuple(tie('text'), fc.constantFrom('contains', 'startsWith'), tie('text')).map(([a, f, b]) => `${a}.${f}(${b})`),
    fc.tuple(tie('text'), fc.constantFrom('(a+)+$', '[ab]*a[ab]{15}c', '^a?b')).map(([t, p]) => `${t}.matches("${p}")`),
    fc
      .tuple(tie('list'), fc.constantFrom('all', 'exists', 'exists_one'), tie('bool'))
      .map(([l, f, b]) => `${l}.${f}(m, ${b})`),
  ),
}));
/** `m` stands for whatever loop there is; outside loops it is one of its own. */
const generated = bool.map((rule) =>
  rule.includes('(m, ')
    ? rule.replaceAll('(m, ', '(n, ').replaceAll('m.', 'n.')
    : rule.replaceAll('m.', 'request.messages[0].'),
);

const piece = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc
    .tuple(fc.constantFrom('a', 'ab', 'aab', 'é', '😀', '\ud800', 'e\u0301', '\n'), fc.nat(3000))
    .map(([s, n]) => s.repeat(n)),
);
const block = fc.oneof(
  piece.map((text) => ({ type: 'text', text })),
  fc.jsonValue().map((input) => ({ type: 'tool_use', id: 't', name: 'n', input })),
  piece.map((content) => ({ type: 'tool_result', tool_use_id: 't', content })),
  fc.jsonValue().map((source) => ({ type: 'document', source })),
  fc.constantFrom('image', 'thinking', 'redacted_thinking', 'unknown').map((type) => ({ type })),
);
const message = fc.record({
  role: fc.constantFrom('user', 'assistant', 'system'),
  content: fc.oneof(piece, fc.array(block, { maxLength: 4 })),
});
const view = fc
  .record({
    messages: fc.array(message, { maxLength: 30 }),
    system: fc.oneof(piece, fc.constant(undefined)),
    stream: fc.boolean(),
    maxTokens: fc.nat(),
    tools: fc.array(fc.record({ name: fc.string() }), { maxLength: 5 }),
    metadata: fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer()), { maxKeys: 4 }),
  })
  .map((request) => responseView(requestOf(request), { content: [], stopReason: 'end_turn', outputTokens: 0 }));

/** Compiles; whatever comes is a rule, or errors with places inside the text. */
const compiled = (text: string, towards: Direction) => {
  const result = compileRule(text, towards);
  if (isCompiled(result)) return result;
  expect(result.length).toBeGreaterThan(0);
  expect(result.length).toBeLessThanOrEqual(maxErrors);
  const lines = text.split('\n');
  for (const { message, line, column } of result) {
    expect(message.length).toBeGreaterThan(0);
    expect(line).toBeLessThanOrEqual(lines.length);
    expect(column).toBeGreaterThanOrEqual(1);
    expect(column).toBeLessThanOrEqual([...lines[line - 1]!].length + 1);
  }
  return undefined;
};

/** Seconds after which an evaluation hangs for sure: the deadline, the start of a thread, and a busy machine. */
const hangs = 25_000;

/** What `work` reads by the calls that count as scanning. */
const scannedBy = (work: () => void): number => {
  let units = 0;
  const { includes } = String.prototype;
  const { test: matches } = Pattern.prototype;
  String.prototype.includes = function (this: string, ...args) {
    units += this.length;
    return includes.apply(this, args);
  };
  Pattern.prototype.test = function (text) {
    units += text.length;
    return matches.call(this, text);
  };
  try {
    work();
  } finally {
    String.prototype.includes = includes;
    Pattern.prototype.test = matches;
  }
  return units;
};

describe('whatever the text', () => {
  test('compileRule returns', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 5000 }), direction, (text, d) => void compiled(text, d)),
      { numRuns: 200 },
    );
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...scraps), { maxLength: 60 }),
        direction,
        (p, d) => void compiled(p.join(''), d),
      ),
      { numRuns: 500 },
    );
  });

  test('compileRule survives nesting of every kind', () => {
    for (const open of ['(', '[', '{', '!', '-', '- ', 'a.', 'a[', 'f(', 'true ? ', '1 + ', 'has(', '"a".matches(']) {
      for (const n of [31, 500, 2000, 4096]) compiled(open.repeat(n).slice(0, 4096), 'request');
    }
  });

  test('a mutated rule is refused or evaluated', async () => {
    await fc.assert(
      fc.asyncProperty(mutated, direction, view, async (text, d, v) => {
        const rule = compiled(text, d);
        if (rule !== undefined && (await evaluator.tryOut(rule)) === null)
          expect(['score', 'error']).toContain((await evaluator.evaluate(rule, v, { now: 0 })).verdict);
      }),
      { numRuns: 250, timeout: hangs },
    );
  });

  test('a rule that is accepted is evaluated on any request', async () => {
    let verdicts = 0;
    await fc.assert(
      fc.asyncProperty(generated, view, async (text, v) => {
        const rule = compiled(text, 'request');
        if (rule === undefined) return;
        verdicts += 1;
        const verdict = await evaluator.evaluate(rule, v, { now: 0 });
        if (verdict.verdict === 'score') expect(verdict.scoreBasisPoints).toBeOneOf([0, 10_000]);
      }),
      { numRuns: 200, timeout: hangs },
    );
    expect(verdicts).toBeGreaterThan(50);
  });

  test('a rule never scans more than its budget says', () => {
    let scanned = 0;
    fc.assert(
      fc.property(generated, view, (text, v) => {
        const rule = compiled(text, 'request');
        if (rule === undefined) return;
        const most = evaluated(rule.cost.scanned, (name) => sizeIn(v, name));
        const units = scannedBy(() => void verdictHere(rule, v, 0, 40));
        expect(units).toBeLessThanOrEqual(most);
        if (units > 0) scanned += 1;
      }),
      { numRuns: 600 },
    );
    // About one rule in seven scans, so that fewer than twenty are no matter of luck.
    expect(scanned).toBeGreaterThan(20);
  });
});
