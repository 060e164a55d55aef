import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aliased, aliasSchema, aliasTable, mostAliases } from '../src/aliases.ts';
import { loadModels } from '../src/data/upstream/models/models.ts';

const find = (aliases: Readonly<Record<string, string>>, name: string, exists?: (model: string) => boolean) => {
  const table = aliasTable(Object.entries(aliases));
  return table === null ? null : aliased(table, name, exists);
};

describe('a name', () => {
  test('is that of its exact alias, else of the longest pattern', () => {
    const aliases = { 'a-*': '1', 'a-b*': '2', 'a-bc': '3', '*': '4', '*c*d': '5' };
    const found = ['a-bc', 'a-bcd', 'a-b', 'a-', 'x-c-d', 'x'].map((name) => find(aliases, name));
    expect(found).toEqual(['3', '5', '2', '1', '5', '4']);
    expect(find({ a: '1', 'b*': '2' }, 'c')).toBeUndefined();
    expect(find({}, 'c')).toBeNull();
  });

  test('of patterns as long as each other is that of the first in their order, however they are written down', () => {
    expect(find({ 'a*c': '1', '*bc': '2' }, 'abc')).toBe('2');
    expect(find({ '*bc': '2', 'a*c': '1' }, 'abc')).toBe('2');
  });

  test('passes over models that do not exist for the caller', () => {
    const aliases = { ab: '1', 'a*': '2', '*': '3' };
    expect(find(aliases, 'ab', (model) => model !== '1')).toBe('2');
    expect(find(aliases, 'ab', (model) => model === '3')).toBe('3');
    expect(find(aliases, 'ab', () => false)).toBeUndefined();
  });

  test.each(['', '-x', 'a b', 'a"b', 'a\n', 'ä', 'a*', 'x'.repeat(201)])(
    'of another form fits no pattern: %j',
    (name) => {
      expect(find({ '*': '1' }, name)).toBeUndefined();
    },
  );

  test('of the longest form fits', () => {
    expect(find({ '*': '1' }, 'x'.repeat(200))).toBe('1');
  });

  test('fits a pattern as it would a regular expression', () => {
    const text = (letters: string) => fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(text('ab*'), text('ab'), (pattern, name) => {
        const fits = new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name);
        expect(find({ [pattern]: '1' }, name) === '1').toBe(fits);
      }),
      { numRuns: 2000 },
    );
  });

  test('is found in time that does not grow with the asterisks', () => {
    const began = process.cpuUsage().user;
    for (const pattern of [`${'a*'.repeat(99)}b`, `${'*'.repeat(199)}b`, `*${'a*'.repeat(98)}b*`, '*'.repeat(200)]) {
      const found = find({ [pattern]: '1' }, 'a'.repeat(200));
      expect(found).toBe(pattern.includes('b') ? undefined : '1');
    }
    expect(process.cpuUsage().user - began).toBeLessThan(1_000_000);
  });

  test('fits a pattern in its own case alone', () => {
    expect(['claude-1', 'Claude-1', 'CLAUDE-1'].map((name) => find({ 'claude-*': '1' }, name))).toEqual([
      '1',
      undefined,
      undefined,
    ]);
  });
});

test.each(['a', '*', 'claude-*', 'a/b:c@d+e_f.g', 'x'.repeat(200)])('%s is an alias', (alias) => {
  expect(aliasSchema.safeParse(alias).success).toBe(true);
});
test.each(['', '-a', 'a b', 'a"', 'ä', 'a\u200b', 'ａ*', '__proto__', 'x'.repeat(201)])('%j is none', (alias) => {
  expect(aliasSchema.safeParse(alias).success).toBe(false);
});

describe('the aliases of a models file', () => {
  const entry = { context_length: 1000, max_output_length: 100, upstream: { kind: 'simulated' } };
  const load = (models: Readonly<Record<string, unknown>>) =>
    loadModels(
      JSON.stringify({ models: Object.entries(models).map(([id, aliases]) => ({ id, aliases, ...entry })) }),
      {},
    );
  const faults = (models: Readonly<Record<string, unknown>>): string => {
    try {
      load(models);
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };

  test('are those of each model', () => {
    expect(load({ a: ['x', 'x-*'], b: ['y'] }).map(({ model }) => model.aliases)).toEqual([['x', 'x-*'], ['y']]);
  });

  test('are refused where two models have the same, or one model twice', () => {
    expect(faults({ a: ['x', 'y'], b: ['x'] })).toContain('models[1].aliases[0]: "x" is an alias of "a" and of "b"');
    expect(faults({ a: ['x-*'], b: ['x-*'] })).toContain('models[1].aliases[0]: "x-*" is an alias of "a" and of "b"');
    expect(faults({ a: ['x', 'x'] })).toContain('models[0].aliases[1]: "x" is an alias of "a" and of "a"');
  });

  test('are refused where one is the id of a model, whichever comes first', () => {
    const fault = (index: number) =>
      `models[${index}].aliases[0]: "b", an alias of "a", is the id of models[${1 - index}]`;
    expect(faults({ a: ['b'], b: [] })).toContain(fault(0));
    expect(faults({ b: [], a: ['b'] })).toContain(fault(1));
    expect(faults({ a: ['a'] })).toContain('models[0].aliases[0]: "a", an alias of "a", is the id of models[0]');
  });

  test('are a hundred at most, of the form of an id', () => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => `x${i}`);
    expect(load({ a: many(mostAliases) })[0]!.model.aliases).toHaveLength(100);
    expect(faults({ a: many(mostAliases + 1) })).toContain('models[0].aliases: ');
    expect(faults({ a: ['x y'] })).toContain('models[0].aliases[0]: not an alias: 1 to 200 of');
    expect(faults({ a: 'x' })).toContain('models[0].aliases: ');
  });
});
