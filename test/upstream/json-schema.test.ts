import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { upstreamRefusal } from '../../src/data/reply/upstream-refusal.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import type { GenerateRequest } from '../../src/data/upstream/port.ts';
import { seededRandom } from '../../src/data/upstream/seed.ts';
import { SchemaRefusal, sampleSchema } from '../../src/data/upstream/simulated/json-schema.ts';
import { simulatedUpstream } from '../../src/data/upstream/simulated/simulated.ts';
import { ExactNumber } from '../../src/json/exact-number.ts';
import { assemble, options, request } from './requests.ts';

const formats = {
  date: /^\d{4}-\d\d-\d\d$/,
  'date-time': (text: string) => !Number.isNaN(Date.parse(text)),
  email: /^\w+@example\.com$/,
  uri: (text: string) => URL.canParse(text),
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
};
/** The judge. */
const ajv = new Ajv2020({ strict: false, logger: false, addUsedSchema: false, ownProperties: true, formats });

const judge = (schema: object, seed: number): void => {
  const validate = ajv.compile(schema);
  const value = sampleSchema(schema, seededRandom(seed));
  if (!validate(value)) throw new Error(`${JSON.stringify(value)}: ${ajv.errorsText(validate.errors)}`);
};

/** ajv stumbles over names that objects inherit. */
const plain = fc
  .jsonValue({ maxDepth: 1 })
  .filter((value) => !/__proto__|valueOf|toString/.test(JSON.stringify(value)));
const names = fc.constantFrom('a', 'b', 'constructor', 'a/b~c', 'é');
const span = (least: number, most: number) => fc.tuple(fc.integer({ min: least, max: most }), fc.nat(6));
const amount = fc.double({ noNaN: true, min: -1e15, max: 1e15 });
const types = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'];

const scalar: fc.Arbitrary<object> = fc.oneof(
  fc.constantFrom({}, { type: ['null', 'string'] }, ...types.map((type) => ({ type }))),
  span(0, 12).map(([minLength, more]) => ({ type: 'string', minLength, maxLength: minLength + more })),
  fc.constantFrom(...Object.keys(formats), 'unheard-of').map((format) => ({ type: 'string', format })),
  span(-1000, 1000).map(([minimum, more]) => ({ type: 'integer', minimum, maximum: minimum + more })),
  span(-1000, 1000).map(([maximum]) => ({ type: 'number', maximum })),
  fc.tuple(amount, amount).map(([a, b]) => ({ type: 'number', minimum: Math.min(a, b), maximum: Math.max(a, b) })),
  span(-50, 50).map(([exclusiveMinimum, more]) => ({
    type: 'number',
    exclusiveMinimum,
    exclusiveMaximum: exclusiveMinimum + 1 + more,
  })),
  span(-50, 50).map(([n, more]) => ({ type: 'integer', exclusiveMinimum: n, exclusiveMaximum: n + 2 + more })),
  fc.array(plain, { minLength: 1, maxLength: 3 }).map((values) => ({ enum: values })),
  fc.array(plain, { maxLength: 3 }).map((values) => ({ type: 'string', enum: ['x', ...values] })),
  plain.map((value) => ({ const: value })),
);

/** Schemas of the keywords that the sampler knows; each has values. */
const schemas: fc.Arbitrary<object> = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc
      .record({
        properties: fc.dictionary(names, tie('schema'), { maxKeys: 4 }),
        additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
        required: fc.constantFrom('all', 'none'),
      })
      .map(({ properties, additionalProperties, required }) => ({
        type: 'object',
        properties,
        additionalProperties,
        required: required === 'none' ? [] : Object.keys(properties),
      })),
    fc.record({ items: tie('schema'), count: span(0, 3) }).map(({ items, count: [minItems, more] }) => ({
      type: 'array',
      items,
      minItems,
      maxItems: minItems + more,
    })),
    tie('schema').map((possible) => ({
      type: 'object',
      properties: { yes: possible, no: { pattern: '^$' } },
      required: ['yes'],
    })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf, description: 'one of' })),
  ),
})).schema;

describe('a sample', () => {
  test('satisfies its schema, as ajv judges', () => {
    fc.assert(
      fc.property(schemas, fc.nat(), (schema, seed) => judge(schema, seed)),
      { numRuns: 100 },
    );
  });

  test('follows local references, and comes to an end', () => {
    const tree = {
      type: 'object',
      properties: {
        value: { $ref: '#/$defs/a~1b~0c' },
        children: { type: 'array', items: { $ref: '#/$defs/tree' } },
        left: { anyOf: [{ $ref: '#/$defs/tree' }, { type: 'null' }] },
        right: { anyOf: [{ $ref: '#/$defs/tree' }, { type: 'null' }] },
      },
      required: ['value', 'children', 'left', 'right'],
      additionalProperties: false,
    };
    fc.assert(
      fc.property(schemas, fc.nat(), (inner, seed) => {
        judge({ $defs: { tree, 'a/b~c': inner }, $ref: '#/$defs/tree' }, seed);
      }),
      { numRuns: 100 },
    );
  });

  test('is the same for the same numbers', () => {
    fc.assert(
      fc.property(schemas, fc.nat(), (schema, seed) => {
        expect(sampleSchema(schema, seededRandom(seed))).toEqual(sampleSchema(schema, seededRandom(seed)));
      }),
    );
  });

  // ajv passes over this name, so it cannot be the judge here.
  test('has __proto__ as an own property', () => {
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"const":7}},"required":["__proto__"]}');
    expect(JSON.stringify(sampleSchema(schema, seededRandom(1)))).toBe('{"__proto__":7}');
  });
});

const placeOf = (schema: unknown): string => {
  try {
    return `made ${JSON.stringify(sampleSchema(schema, seededRandom(1)))}`;
  } catch (error) {
    if (!(error instanceof SchemaRefusal)) throw error;
    return error.place.join('.');
  }
};
const needing = (part: object) => ({ type: 'object', properties: { a: part }, required: ['a'] });

describe('what is not made up is refused by its place', () => {
  test.each<[object, string]>([
    [{ type: 'string', pattern: '^a' }, 'pattern'],
    [{ type: 'string', minLength: 3, maxLength: 2 }, 'minLength'],
    [{ type: 'string', format: 'date', maxLength: 3 }, 'format'],
    [{ type: 'integer', multipleOf: 3 }, 'multipleOf'],
    [{ type: 'integer', minimum: 1.2, maximum: 1.8 }, 'type'],
    [{ type: 'array', contains: { const: 1 } }, 'contains'],
    [{ type: 'array', prefixItems: [{}] }, 'prefixItems'],
    [{ type: 'array', minItems: 2, uniqueItems: true }, 'uniqueItems'],
    [{ type: 'array', minItems: 2, maxItems: 1 }, 'minItems'],
    [{ type: 'array', minItems: 1, items: [{}] }, 'items'],
    [{ type: 'object', minProperties: 1 }, 'minProperties'],
    [{ type: 'object', patternProperties: { a: {} } }, 'patternProperties'],
    [{ type: 'object', propertyNames: { maxLength: 1 } }, 'propertyNames'],
    [{ type: 'object', dependentRequired: { a: ['b'] } }, 'dependentRequired'],
    [{ type: 'object', unevaluatedProperties: false }, 'unevaluatedProperties'],
    [{ type: 'object', required: ['a'] }, 'required'],
    [{ properties: { a: { type: 'string', pattern: 'a' } } }, 'made {}'],
    [{ not: {} }, 'not'],
    [{ if: {}, else: false }, 'if'],
    [{ oneOf: [{}] }, 'oneOf'],
    [{ allOf: [{}] }, 'allOf'],
    [{ anyOf: [{ type: 'string' }], minLength: 9 }, 'minLength'],
    [{ anyOf: [{ type: 'string' }], type: 'integer' }, 'anyOf'],
    [{ anyOf: [{ not: {} }, { oneOf: [] }] }, 'anyOf.0.not'],
    [{ anyOf: [] }, 'anyOf'],
    [{ enum: [] }, 'enum'],
    [{ enum: [1], type: 'string' }, 'enum'],
    [{ const: 1, minimum: 3 }, 'minimum'],
    [{ type: 'nonsense' }, 'type'],
    [{ $ref: 'https://example.com/schema' }, '$ref'],
    [{ $ref: '#/nowhere' }, '$ref'],
    [{ $dynamicRef: '#a' }, '$dynamicRef'],
    [needing({ type: 'string', pattern: 'a' }), 'properties.a.pattern'],
    [needing({ type: 'array', minItems: 1, items: { not: {} } }), 'properties.a.items.not'],
    [{ ...needing({ $ref: '#/$defs/b' }), $defs: { b: { pattern: 'a' } } }, '$defs.b.pattern'],
  ])('%j', (schema, place) => {
    expect(placeOf(schema)).toBe(place);
  });

  test.each<[string, object]>([
    ['endless', { $ref: '#' }],
    ['endless by need', needing({ $ref: '#' })],
    ['growing', { $defs: { a: { type: 'array', minItems: 50, items: { $ref: '#/$defs/a' } } }, $ref: '#/$defs/a' }],
    ['many items', { type: 'array', minItems: 1e9 }],
    ['items without end', { type: 'array', minItems: new ExactNumber('1e400') }],
    [
      'many items after a text of a negative length',
      {
        type: 'object',
        properties: { a: { type: 'string', minLength: -1e300 }, b: { type: 'array', minItems: 20_000 } },
        required: ['a', 'b'],
      },
    ],
    ['a long string', { type: 'string', minLength: 1e9 }],
    ['many values', { type: 'array', minItems: 4000, items: { enum: Array.from({ length: 4000 }, (_, n) => n) } }],
  ])('%s', (_, schema) => {
    expect(placeOf(schema)).not.toMatch(/^made/);
  });
});

describe('a simulated model', () => {
  const upstream = () => {
    const entry = { id: 's', context_length: 99, max_output_length: 99, upstream: { kind: 'simulated' } };
    const declared = loadModels(JSON.stringify({ models: [entry] }), {})[0]!.upstreams[0]!.upstream;
    if (declared.kind !== 'simulated') throw new Error('not simulated');
    return simulatedUpstream(declared, { clock: systemClock });
  };
  const refusals = (over: Partial<GenerateRequest>) => {
    const asked = request(over);
    const told = (error: unknown) => upstreamRefusal(error);
    return Promise.all([
      upstream().answer(asked, options()).catch(told),
      assemble(upstream().stream(asked, options())).catch(told),
    ]);
  };
  const strict = needing({ type: 'string', pattern: '^a' });
  const refusal = (param: string) => ({
    code: 'unsupported_parameter',
    status: 422,
    param,
    message: `${param}: A simulated model makes up no value for \`pattern\`.`,
    details: [{ loc: ['body', ...param.split('.')], type: 'value_error', input: '^a' }],
  });

  test('refuses a format that it cannot keep, in one piece and as a stream', async () => {
    const format = { type: 'json_schema' as const, schema: strict };
    const expected = refusal('output_config.format.schema.properties.a.pattern');
    expect(await refusals({ output_config: { format } })).toMatchObject([expected, expected]);
  });

  test('refuses to call a tool whose input it cannot make, and minds no other', async () => {
    const tools = [
      { name: 'easy', input_schema: needing({}) },
      { name: 'hard', input_schema: strict },
    ];
    const expected = refusal('tools.1.input_schema.properties.a.pattern');
    expect(await refusals({ tools, tool_choice: { type: 'tool', name: 'hard' } })).toMatchObject([expected, expected]);
    const called = { stop_reason: 'tool_use', content: [{ name: 'easy' }] };
    expect(await refusals({ tools, tool_choice: { type: 'tool', name: 'easy' } })).toMatchObject([called, called]);
  });
});
