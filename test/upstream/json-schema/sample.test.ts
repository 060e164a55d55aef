import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sampleSchema } from '../../../src/upstream/json-schema/sample.ts';
import type { Schema } from '../../../src/upstream/json-schema/schema.ts';
import { seededRandom } from '../../../src/upstream/seed.ts';

const ajv = new Ajv2020({ strict: false, validateFormats: false, addUsedSchema: false, ownProperties: true });

/** Samples the schema with a few seeds and has each value judged by ajv. */
const expectValid = (schema: Schema, seeds: readonly number[] = [1, 2, 3]) => {
  const validate = ajv.compile(schema);
  for (const seed of seeds) {
    const value = sampleSchema(schema, seededRandom(seed));
    if (!validate(value)) throw new Error(`${JSON.stringify(value)}: ${ajv.errorsText(validate.errors)}`);
  }
};

const bounded = (least: number, most: number) => fc.tuple(fc.integer({ min: least, max: most }), fc.nat(6));
const names = fc.constantFrom('a', 'b', 'c', 'd', 'constructor', 'a/b~c', 'é');

const scalar: fc.Arbitrary<object> = fc.oneof(
  fc.constantFrom({ type: 'boolean' }, { type: 'null' }, { type: 'string' }, { type: 'number' }, { type: 'integer' }),
  bounded(0, 12).map(([minLength, more]) => ({ type: 'string', minLength, maxLength: minLength + more })),
  bounded(-1000, 1000).map(([minimum, more]) => ({ type: 'integer', minimum, maximum: minimum + more })),
  fc.tuple(fc.double({ noNaN: true }), fc.double({ noNaN: true })).map(([a, b]) => ({
    type: 'number',
    minimum: Math.min(a, b),
    maximum: Math.max(a, b),
  })),
  bounded(-50, 50).map(([exclusiveMinimum, more]) => ({
    type: 'number',
    exclusiveMinimum,
    exclusiveMaximum: exclusiveMinimum + 1 + more,
  })),
  fc.integer({ min: 1, max: 30 }).map((multipleOf) => ({ type: 'integer', multipleOf, minimum: 7 })),
  fc.array(fc.jsonValue({ maxDepth: 1 }), { minLength: 1, maxLength: 3 }).map((values) => ({ enum: values })),
  fc.jsonValue({ maxDepth: 1 }).map((value) => ({ const: value })),
  fc
    .constantFrom('^[a-z]{2,4}$', '^\\d{3}-[A-F]+$', 'x|yz', '^(ab?){2,}c$', '[^a-z]', '^\\w+@\\w+\\.com$', '\\u00e9+')
    .map((pattern) => ({ type: 'string', pattern })),
  fc.constantFrom({ type: ['string', 'null'] }, { type: ['integer', 'boolean'] }, {}),
);

const schemas: fc.Arbitrary<object> = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc
      .record({
        properties: fc.dictionary(names, tie('schema'), { maxKeys: 4 }),
        additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
        keepRequired: fc.boolean(),
      })
      .map(({ properties, additionalProperties, keepRequired }) => ({
        type: 'object',
        properties,
        additionalProperties,
        ...(keepRequired ? { required: Object.keys(properties) } : {}),
      })),
    fc.record({ items: tie('schema'), count: bounded(0, 3) }).map(({ items, count: [minItems, more] }) => ({
      type: 'array',
      items,
      minItems,
      maxItems: minItems + more,
    })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((prefixItems) => ({
      type: 'array',
      prefixItems,
      items: false,
      minItems: prefixItems.length,
    })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    fc.dictionary(names, tie('schema'), { minKeys: 1, maxKeys: 3 }).map((parts) => ({
      allOf: Object.entries(parts).map(([name, part]) => ({
        type: 'object',
        properties: { [name]: part },
        required: [name],
      })),
    })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((parts) => ({
      oneOf: parts.map((part, index) => ({
        type: 'object',
        properties: { kind: { const: index }, value: part },
        required: ['kind', 'value'],
      })),
    })),
  ),
})).schema;

describe('sampleSchema', () => {
  test('gives values that ajv accepts, for generated schemas', () => {
    fc.assert(
      fc.property(schemas, (schema) => expectValid(schema as Schema)),
      { numRuns: 250 },
    );
  });

  test('follows local references, recursive ones too', () => {
    fc.assert(
      fc.property(schemas, fc.nat(), (inner, seed) => {
        expectValid(
          {
            $defs: {
              inner,
              'a/b~c d': { type: 'string', minLength: 2 },
              tree: {
                type: 'object',
                properties: {
                  value: { $ref: '#/$defs/inner' },
                  name: { $ref: '#/$defs/a~1b~0c%20d', maxLength: 9 },
                  children: { type: 'array', items: { $ref: '#/$defs/tree' } },
                  next: { anyOf: [{ $ref: '#/$defs/tree' }, { type: 'null' }] },
                },
                required: ['value', 'name', 'children', 'next'],
                additionalProperties: false,
              },
            },
            $ref: '#/$defs/tree',
          },
          [seed],
        );
      }),
      { numRuns: 60 },
    );
  });

  test.each<[string, Schema]>([
    ['true', true],
    ['nested allOf', { allOf: [{ type: 'integer', minimum: 3 }, { allOf: [{ maximum: 4 }, { type: 'number' }] }] }],
    ['allOf of enums', { allOf: [{ enum: [1, 2, 3] }, { enum: [3, 4] }] }],
    ['multiples', { allOf: [{ type: 'integer', multipleOf: 4 }, { multipleOf: 6 }], minimum: 1 }],
    ['fractions', { type: 'number', multipleOf: 0.1, minimum: 0.05, maximum: 0.95 }],
    ['huge bounds', { type: 'number', minimum: -1.7e308, maximum: 1.7e308 }],
    ['only a maximum', { type: 'integer', maximum: -1e12 }],
    ['distinct items', { type: 'array', items: { enum: [1, 2, 3] }, minItems: 3, uniqueItems: true }],
    ['contains', { type: 'array', items: { type: 'integer' }, contains: { minimum: 1000 }, minContains: 2 }],
    ['minProperties', { type: 'object', minProperties: 4, additionalProperties: { type: 'integer' } }],
    [
      'patternProperties',
      {
        type: 'object',
        patternProperties: { '^x_\\d$': { type: 'null' } },
        additionalProperties: false,
        minProperties: 2,
      },
    ],
    ['propertyNames', { type: 'object', propertyNames: { pattern: '^[A-Z]{3}$' }, minProperties: 2 }],
    [
      'dependentRequired',
      { type: 'object', properties: { a: {}, b: { type: 'null' } }, required: ['a'], dependentRequired: { a: ['b'] } },
    ],
    ['not', { type: 'integer', minimum: 0, maximum: 3, not: { enum: [0, 1, 3] } }],
    [
      'if, then',
      {
        type: 'object',
        properties: { a: { type: 'boolean' } },
        required: ['a'],
        if: { properties: { a: { const: true } } },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { required: ['b'] },
        else: { required: ['c'] },
      },
    ],
    [
      'overlapping oneOf',
      {
        oneOf: [
          { type: 'integer', minimum: 0 },
          { type: 'integer', maximum: 10 },
        ],
      },
    ],
    [
      'closed and extended',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'string' } } },
          { properties: { a: { minLength: 40 }, b: {} }, additionalProperties: false, required: ['a'] },
        ],
      },
    ],
    [
      'open and closed',
      {
        allOf: [
          { type: 'object', properties: Object.fromEntries(Array.from('abcdefghijklmnop', (name) => [name, true])) },
          { properties: { a: true }, additionalProperties: false },
        ],
      },
    ],
    ['pattern and length', { type: 'string', pattern: '^[a-z]+(-[a-z]+)*$', minLength: 20, maxLength: 22 }],
    ['no type', { minLength: 3, properties: { a: { const: 1 } }, required: ['a'] }],
    ['draft 7 tuple', { type: 'array', prefixItems: [{ const: 1 }], items: { type: 'string' }, minItems: 3 }],
  ])('%s', (_, schema) => {
    expectValid(schema, [1, 2, 3, 4, 5, 6, 7, 8]);
  });

  // ajv passes over this name, so it cannot be the judge here.
  test('makes __proto__ an own property', () => {
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"const":7}},"required":["__proto__"]}');
    const value = sampleSchema(schema, seededRandom(1));
    expect(JSON.stringify(value)).toBe('{"__proto__":7}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  test('makes up dates and addresses', () => {
    const sample = (format: string) => String(sampleSchema({ type: 'string', format }, seededRandom(5)));
    expect(new Date(sample('date-time')).getTime()).toBeGreaterThan(0);
    expect(sample('email')).toMatch(/@example\.com$/);
    expect(sample('uuid')).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  test.each<[string, Schema]>([
    ['nothing allowed', false],
    ['impossible', { type: 'string', minLength: 5, maxLength: 2 }],
    ['endless', { $ref: '#' }],
    ['endless by need', { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }],
    ['exponential', { $defs: { a: { type: 'array', minItems: 50, items: { $ref: '#/$defs/a' } } }, $ref: '#/$defs/a' }],
    ['many items', { type: 'array', minItems: 1e9, items: {} }],
    ['long string', { type: 'string', minLength: 1e9 }],
    ['long repeat', { type: 'string', pattern: '^(a{1000}){1000}$' }],
    [
      'catastrophic',
      { type: 'string', pattern: '^((a+)+)+$', minLength: 900, maxLength: 1000, not: { pattern: '^((a+)+)+b$' } },
    ],
    ['unknown pattern', { type: 'string', pattern: '(?=a)\\bx\\1' }],
    ['broken pattern', { type: 'string', pattern: '([' }],
    [
      'wrong types of keywords',
      { type: 7, required: 'x', properties: [], items: 3, enum: 'no', $ref: 9, pattern: {} } as unknown as Schema,
    ],
    ['choices of choices', { allOf: Array.from({ length: 20 }, () => ({ oneOf: [true, true, { type: 'string' }] })) }],
  ])('comes to an end soon for what nothing satisfies or is too large: %s', (_, schema) => {
    const began = performance.now();
    const value = sampleSchema(schema, seededRandom(1));
    expect(value).not.toBeUndefined();
    expect(performance.now() - began).toBeLessThan(1000);
  });
});
