import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';

/** The judge. */
export const ajv = new Ajv2020({ strict: false, validateFormats: false, addUsedSchema: false, ownProperties: true });

const bounded = (least: number, most: number) => fc.tuple(fc.integer({ min: least, max: most }), fc.nat(6));
/** What ajv itself stumbles over: names that objects inherit, in values, and multiples from 1e21 on. */
export const isJudgeable = (value: unknown): boolean => !/__proto__|valueOf|toString|e\+/.test(JSON.stringify(value));
const plain = fc.jsonValue({ maxDepth: 1 }).filter(isJudgeable);
const amount = fc.double({ noNaN: true, min: -1e15, max: 1e15 });
const names = fc.constantFrom('a', 'b', 'c', 'd', 'constructor', 'a/b~c', 'é');

const scalar: fc.Arbitrary<object> = fc.oneof(
  fc.constantFrom({ type: 'boolean' }, { type: 'null' }, { type: 'string' }, { type: 'number' }, { type: 'integer' }),
  bounded(0, 12).map(([minLength, more]) => ({ type: 'string', minLength, maxLength: minLength + more })),
  bounded(-1000, 1000).map(([minimum, more]) => ({ type: 'integer', minimum, maximum: minimum + more })),
  fc.tuple(amount, amount).map(([a, b]) => ({
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
  fc.array(plain, { minLength: 1, maxLength: 3 }).map((values) => ({ enum: values })),
  plain.map((value) => ({ const: value })),
  fc
    .constantFrom('^[a-z]{2,4}$', '^\\d{3}-[A-F]+$', 'x|yz', '^(ab?){2,}c$', '[^a-z]', '^\\w+@\\w+\\.com$', '\\u00e9+')
    .map((pattern) => ({ type: 'string', pattern })),
  fc.constantFrom({ type: ['string', 'null'] }, { type: ['integer', 'boolean'] }, {}),
);

/** Schemas with every keyword that tools are commonly declared with; each has values. */
export const schemas: fc.Arbitrary<object> = fc.letrec<{ schema: object }>((tie) => ({
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
