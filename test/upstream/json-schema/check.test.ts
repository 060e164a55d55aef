import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../src/upstream/seed.ts';
import { satisfies } from '../../../src/upstream/simulated/json-schema/check.ts';
import { sampleSchema } from '../../../src/upstream/simulated/json-schema/sample.ts';
import { type Schema, Scope } from '../../../src/upstream/simulated/json-schema/schema.ts';
import { ajv, isJudgeable, schemas } from './schemas.ts';

const holds = (schema: Schema, value: unknown) => satisfies(schema, value, new Scope(schema, seededRandom(1), 1e6));

const combined = fc
  .tuple(schemas, schemas, fc.constantFrom('anyOf', 'oneOf', 'allOf', 'not', 'contains', 'propertyNames'))
  .map(([one, other, keyword]) =>
    ['not', 'contains', 'propertyNames'].includes(keyword) ? { ...one, [keyword]: other } : { [keyword]: [one, other] },
  );

describe('satisfies', () => {
  test('judges as ajv does, values that fit and values that do not', () => {
    fc.assert(
      fc.property(fc.oneof(schemas, combined), fc.jsonValue({ maxDepth: 2 }), fc.nat(), (schema, foreign, seed) => {
        const validate = ajv.compile(schema);
        const close = sampleSchema(schema as Schema, seededRandom(seed));
        for (const value of [foreign, close, [close], { a: close }]) {
          if (!isJudgeable(value)) continue;
          expect([value, holds(schema as Schema, value)]).toEqual([value, validate(value)]);
        }
      }),
      { numRuns: 250 },
    );
  }, 30_000);

  test.each<[Schema, unknown, boolean]>([
    [{ oneOf: [{ type: 'integer' }, { minimum: 0 }] }, 3, false],
    [{ oneOf: [{ type: 'integer' }, { minimum: 0 }] }, -3, true],
    [{ dependentRequired: { a: ['b'] } }, { a: 1 }, false],
    [{ dependencies: { a: ['b'] } }, { a: 1, b: 1 }, true],
    [{ items: [{ const: 1 }], additionalItems: false }, [1, 2], false],
    [
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      false,
    ],
    [{ uniqueItems: true }, [1, '1'], true],
    [{ minLength: 2 }, '😀', false],
    [{ contains: { const: 1 }, maxContains: 1 }, [1, 1], false],
  ])('%j of %j is %s', (schema, value, expected) => {
    expect(holds(schema, value)).toBe(expected);
  });
});
