import fc from 'fast-check';
import { resolved, type Schema } from './document.ts';

/** Anything at all, but small. */
const anything = fc.jsonValue({ maxDepth: 2 });
const mostItems = 5;

const textOf = ({ minLength = 0, maxLength = minLength + 10, pattern, format }: Schema): fc.Arbitrary<unknown> => {
  if (format === 'date-time') {
    const dates = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') });
    const texts = dates.map((date) => date.toISOString());
    return fc.oneof(
      texts,
      texts.map((text) => text.toLowerCase()),
    );
  }
  const unit = pattern === undefined ? 'binary' : 'grapheme-ascii';
  return fc.string({ unit, minLength, maxLength: Math.min(maxLength, minLength + 20) });
};

const numberOf = ({ minimum = -1000, maximum = 2 ** 53 - 1 }: Schema): fc.Arbitrary<unknown> =>
  fc.oneof(
    fc.constantFrom(minimum, maximum, minimum - 1, maximum + 1),
    fc.integer({ min: Math.ceil(minimum), max: Math.floor(maximum) }),
  );

const exactly = (given: Schema): fc.Arbitrary<unknown> => {
  const schema = resolved(given);
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const choice = schema.anyOf ?? schema.oneOf;
  if (choice) return fc.oneof(...choice.map(arbitraryOf));
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return fc.oneof(...types.map((type) => ofType(type as string | undefined, schema)));
};

const ofType = (type: string | undefined, schema: Schema): fc.Arbitrary<unknown> => {
  switch (type) {
    case 'string':
      return textOf(schema);
    case 'integer':
      return numberOf(schema);
    case 'number':
      return fc.oneof(numberOf(schema), fc.double({ noNaN: true, noDefaultInfinity: true }));
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(arbitraryOf(schema.items ?? {}), {
        maxLength: Math.min(mostItems, schema.maxItems ?? mostItems),
      });
    case 'object': {
      const members = Object.entries(schema.properties ?? {}).map(
        ([name, inner]) => [name, arbitraryOf(inner)] as const,
      );
      const required = schema.required ?? [];
      return fc
        .record(Object.fromEntries(members), { requiredKeys: [] })
        .chain((some) =>
          fc
            .record(Object.fromEntries(members.filter(([name]) => required.includes(name))))
            .map((needed) => ({ ...needed, ...some })),
        );
    }
    default:
      return anything;
  }
};

/** Mostly what the schema takes, at any depth now and then something else. */
export const arbitraryOf = (schema: Schema): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 20, arbitrary: fc.constant(null).chain(() => exactly(schema)) },
    { weight: 1, arbitrary: anything },
  );
