import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Family } from '../../src/http/route.ts';
import { invalid, type Part } from '../../src/http/validation/validate.ts';

const judge = (schema: z.ZodType, input: unknown, family: Family = 'messages', part: Part = 'body') => {
  const result = schema.safeParse(input);
  if (result.success) throw new Error('The input is valid.');
  return invalid(family, part, input, result.error);
};

const schema = z.object({
  s: z.string().min(2).max(3).optional(),
  n: z.number().min(1).max(9).optional(),
  i: z.number().int().optional(),
  b: z.boolean().optional(),
  a: z.array(z.string()).min(1).max(2).optional(),
  o: z.object({ x: z.string() }).optional(),
  e: z.enum(['a', 'b']).optional(),
  l: z.literal('only').optional(),
  d: z.iso.datetime().optional(),
  p: z.string().regex(/^x/).optional(),
  gt: z.number().positive().optional(),
});

describe('the vocabulary', () => {
  test.each([
    [{ s: 1 }, 'string_type', 's'],
    [{ s: null }, 'string_type', 's'],
    [{ s: 'a' }, 'string_too_short', 's'],
    [{ s: 'abcd' }, 'string_too_long', 's'],
    [{ n: '1' }, 'float_type', 'n'],
    [{ n: 0 }, 'greater_than_equal', 'n'],
    [{ n: 10 }, 'less_than_equal', 'n'],
    [{ gt: 0 }, 'greater_than', 'gt'],
    [{ i: 1.5 }, 'int_type', 'i'],
    [{ b: 'true' }, 'bool_type', 'b'],
    [{ a: {} }, 'list_type', 'a'],
    [{ a: [] }, 'too_short', 'a'],
    [{ a: ['1', '2', '3'] }, 'too_long', 'a'],
    [{ a: ['1', 2] }, 'string_type', 'a.1'],
    [{ o: [] }, 'dict_type', 'o'],
    [{ o: {} }, 'missing', 'o.x'],
    [{ e: 'c' }, 'literal_error', 'e'],
    [{ l: 'other' }, 'literal_error', 'l'],
    [{ d: 'yesterday' }, 'datetime_parsing', 'd'],
    [{ p: 'y' }, 'string_pattern_mismatch', 'p'],
  ])('%j is %s at %s', (input, type, param) => {
    const refused = judge(schema, input);
    expect(refused.code).toBe('validation_failed');
    expect(refused.param).toBe(param);
    expect(refused.details[0]).toMatchObject({ type, loc: ['body', ...param.split('.')], ctx: {} });
    expect(refused.message.startsWith(`${param}: `)).toBe(true);
  });

  test('of a value that is of no type that may be here all types are told', () => {
    const content = z.object({ c: z.union([z.string(), z.array(z.string())]) });
    const told = (input: unknown) => judge(content, input).details.map(({ msg, type, input }) => [msg, type, input]);
    for (const c of [5, null, true, {}])
      expect(told({ c })).toEqual([['Must be a string or an array.', 'string_type', c]]);
    // What is of one of them is told what is wrong with it.
    expect(told({ c: [5] })).toEqual([['Must be a string.', 'string_type', 5]]);
    expect(told({})).toEqual([['This field is required.', 'missing', null]]);
  });

  test('an unknown member is extra_forbidden on messages and unknown_field on administration', () => {
    const strict = z.strictObject({ a: z.string().optional() });
    expect(judge(strict, { zz: 1 }).details[0]).toMatchObject({
      type: 'extra_forbidden',
      loc: ['body', 'zz'],
      input: 1,
    });
    expect(judge(strict, { zz: 1 }, 'admin')).toMatchObject({ code: 'unknown_field', param: 'zz', details: [] });
    expect(judge(z.strictObject({ o: strict }), { o: { zz: 1 } }, 'admin')).toMatchObject({
      code: 'unknown_field',
      param: 'o.zz',
    });
  });
});

describe('order and number', () => {
  test('the first violation is the first in the document, not in the schema', () => {
    const strict = z.strictObject({ a: z.string(), b: z.string() });
    expect(judge(strict, { b: 1, a: 1 }, 'admin').param).toBe('b');
    expect(judge(strict, { extra: 1, b: 1 }, 'admin').param).toBe('extra');
    expect(judge(strict, {}, 'admin').param).toBe('a');
    expect(judge(strict, { b: 1 }, 'admin').param).toBe('b');
  });

  test('at most twenty are listed', () => {
    expect(judge(z.object({ a: z.array(z.string()) }), { a: Array(100).fill(1) }).details).toHaveLength(20);
  });

  test('administration lists none', () => {
    expect(judge(schema, { s: 1 }, 'admin').details).toEqual([]);
  });
});

describe('a body of thousands of faults', () => {
  test.each(['admin', 'messages'] as const)('is refused in a few milliseconds (%s)', (family) => {
    const unknown = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, 1]));
    const strict = z.strictObject({ a: z.string() });
    const from = performance.now();
    const refused = judge(strict, unknown, family);
    expect(performance.now() - from).toBeLessThan(1000);
    expect(refused.param).toBe('k0');
  });
});

describe('input', () => {
  test('is cut to 256 characters', () => {
    expect(judge(z.object({ e: z.enum(['a']) }), { e: 'x'.repeat(1000) }).details[0]?.input).toBe('x'.repeat(256));
    expect(String(judge(z.object({ e: z.string() }), { e: Array(1000).fill('y') }).details[0]?.input)).toHaveLength(
      256,
    );
  });

  test('is null where nothing was sent, and the value itself where it is short', () => {
    expect(judge(z.object({ e: z.string() }), {}).details[0]?.input).toBeNull();
    expect(judge(z.object({ e: z.string() }), { e: { a: 1 } }).details[0]?.input).toEqual({ a: 1 });
  });

  test('of any size costs next to nothing to cut', () => {
    const huge = {
      e: Array.from({ length: 200_000 }, (_, i) => ({ i, text: 'x'.repeat(50) })),
      long: 'x'.repeat(5_000_000),
    };
    const schema = z.object({ e: z.string(), long: z.number() });
    const from = performance.now();
    const { details } = judge(schema, huge);
    expect(performance.now() - from).toBeLessThan(1000);
    expect(details.map(({ input }) => String(input).length)).toEqual([256, 256]);
  });

  test('never reads what is inherited', () => {
    expect(judge(z.object({ constructor: z.string() }), {}).details[0]).toMatchObject({ type: 'missing', input: null });
  });
});

describe('codes of a schema', () => {
  const tool = z.string().refine(() => false, { message: 'No such tool.', params: { code: 'unsupported_tool' } });

  test('a custom issue may choose its code', () => {
    expect(judge(z.object({ tool }), { tool: 'x' }, 'chat')).toMatchObject({
      code: 'unsupported_tool',
      param: 'tool',
      message: 'tool: No such tool.',
    });
    expect(judge(z.object({ tool }), { tool: 'x' }).details[0]).toMatchObject({
      type: 'value_error',
      msg: 'No such tool.',
    });
  });

  test('a code that is not in the catalogue is not believed', () => {
    const odd = z.string().refine(() => false, { params: { code: 'toString' } });
    expect(judge(z.object({ odd }), { odd: 'x' }).code).toBe('validation_failed');
  });

  test('the code is that of the first violation', () => {
    expect(judge(z.object({ a: z.string(), tool }), { tool: 'x', a: 1 }).code).toBe('unsupported_tool');
    expect(judge(z.object({ a: z.string(), tool }), { a: 1, tool: 'x' }).code).toBe('validation_failed');
  });
});

describe('alternatives', () => {
  const block = z.discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string() }),
    z.object({ type: z.literal('image') }),
  ]);
  const content = z.object({ content: z.union([z.string(), z.array(block)]) });

  test.each([
    [{ content: 1 }, ['body', 'content'], 'string_type'],
    [{ content: [{ type: 'text' }] }, ['body', 'content', '0', 'text'], 'missing'],
    [{ content: [{ type: 'text', text: 1 }] }, ['body', 'content', '0', 'text'], 'string_type'],
    [{ content: [{ type: 'video' }] }, ['body', 'content', '0', 'type'], 'literal_error'],
    [{ content: [1] }, ['body', 'content', '0'], 'dict_type'],
  ])('%j is reported where it was meant', (input, loc, type) => {
    expect(judge(content, input).details[0]).toMatchObject({ loc, type });
  });
});

test('a member of what was sent as one text and is read as a list is not missing', () => {
  const many = z.preprocess((sent) => (Array.isArray(sent) ? sent : [sent]), z.array(z.enum(['a', 'b'])));
  const refused = judge(z.object({ group: many }), { group: 'x' }, 'models', 'query');
  expect(refused.details[0]).toMatchObject({ loc: ['query', 'group', '0'], type: 'literal_error' });
});

describe('parameters', () => {
  test.each([
    ['query', 'query.limit'],
    ['header', 'header.limit'],
    ['path', 'limit'],
    ['body', 'limit'],
  ] as const)('in the %s', (part, param) => {
    const refused = judge(z.object({ limit: z.string() }), {}, 'models', part);
    expect(refused.param).toBe(param);
    expect(refused.details[0]?.loc).toEqual([part, 'limit']);
  });
});
