import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { Refused } from '../../src/http/refused.ts';
import { after, flag, limit, many, order, parseQuery } from '../../src/http/request/query.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const parsed = (text: string): unknown => {
  const result = parseQuery(text);
  return result instanceof Refused ? result.refusal.code : JSON.parse(JSON.stringify(result));
};

describe('parseQuery', () => {
  test.each([
    ['', {}],
    ['a=1', { a: '1' }],
    ['a', { a: '' }],
    ['a=', { a: '' }],
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=1&a=2', { a: ['1', '2'] }],
    ['a[]=1', { a: ['1'] }],
    ['a[]=1&a[]=2', { a: ['1', '2'] }],
    ['a%5B%5D=1&a%5B%5D=2', { a: ['1', '2'] }],
    ['a=1&a[]=2', { a: ['1', '2'] }],
    ['t[gte]=1&t[lt]=2', { t: { gte: '1', lt: '2' } }],
    ['t%5Bgte%5D=1', { t: { gte: '1' } }],
    ['t[x]=1&t[x]=2', { t: { x: ['1', '2'] } }],
    ['[]=1', { '[]': '1' }],
    ['a[=1', { 'a[': '1' }],
    ['a=b=c', { a: 'b=c' }],
    ['a=b+c%20d%2B', { a: 'b c d+' }],
    ['&&a=1&', { a: '1' }],
    ['a=%C3%A9', { a: 'é' }],
    ['a=%', 'invalid_request'],
    ['a=%zz', 'invalid_request'],
    ['%=1', 'invalid_request'],
    ['a=%C3', 'invalid_request'],
    ['a=%00', 'invalid_request'],
    ['a=\x80', 'invalid_request'],
    [Array(100).fill('a=1').join('&'), { a: Array(100).fill('1') }],
    [Array(101).fill('a=1').join('&'), 'invalid_request'],
  ])('%s', (text, expected) => {
    expect(parsed(text)).toEqual(expected);
  });

  test('touches no prototype and is not mistaken for a refusal', () => {
    const result = parseQuery('__proto__[a]=1&__proto__=2&constructor[prototype]=3&code=x&details=y');
    expect(result).not.toBeInstanceOf(Refused);
    expect(Object.getPrototypeOf(result)).toBeNull();
    expect(({} as { a?: string }).a).toBeUndefined();
  });

  test('reads back what URLSearchParams writes', () => {
    const text = fc
      .string({ unit: 'grapheme', maxLength: 12 })
      .filter((part) => !/[\0[\]]|[\ud800-\udfff](?![\udc00-\udfff])/.test(part));
    fc.assert(
      fc.property(
        fc.uniqueArray(
          fc.tuple(
            text.filter((name) => name !== ''),
            text,
          ),
          { selector: ([name]) => name, maxLength: 10 },
        ),
        (pairs) => {
          const result = parseQuery(new URLSearchParams(pairs).toString());
          expect(result).not.toBeInstanceOf(Refused);
          for (const [name, value] of pairs) expect((result as Record<string, unknown>)[name]).toBe(value);
        },
      ),
    );
  });
});

describe('the schemas for parameters', () => {
  const list = z.object({
    limit,
    after: after.optional(),
    order: order(),
    archived: flag(),
    types: many(z.string()).optional(),
  });

  test.each([
    ['', { limit: 20, order: 'asc', archived: false }],
    ['limit=1', { limit: 1, order: 'asc', archived: false }],
    ['limit=100&order=desc&archived=TRUE', { limit: 100, order: 'desc', archived: true }],
    ['archived=0', { limit: 20, order: 'asc', archived: false }],
    ['archived=1&unknown=x', { limit: 20, order: 'asc', archived: true }],
    ['types=a', { limit: 20, order: 'asc', archived: false, types: ['a'] }],
    ['types[]=a&types[]=b', { limit: 20, order: 'asc', archived: false, types: ['a', 'b'] }],
  ])('%s', (text, expected) => {
    expect(list.parse(parseQuery(text))).toEqual(expected);
  });

  test.each([
    'limit=0',
    'limit=101',
    'limit=x',
    'limit=',
    'limit=1.5',
    'limit=1e1',
    'limit= 1',
    'limit=1&limit=2',
    'after=',
    `after=${'x'.repeat(201)}`,
    'order=up',
    'archived=yes',
    'archived=',
    'types[a]=b',
  ])('%s is refused', (text) => {
    expect(list.safeParse(parseQuery(encodeURI(text))).success).toBe(false);
  });
});
