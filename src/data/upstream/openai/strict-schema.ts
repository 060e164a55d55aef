import type { Format } from '../format.ts';
import { within } from '../transport/fields.ts';

/** A server refuses a strict schema outside its subset, so unasked only one within it is strict. */
export const isStrict = ({ schema, strict }: Format): boolean =>
  strict ?? (schema.type === 'object' && schema.anyOf === undefined && isWithin(schema, 1));

/** What OpenAI documents for strict schemas, and no more: the rest depends on the model. */
const keywords = [
  ...['type', 'title', 'description', 'enum', 'const', 'anyOf', '$ref', '$defs', 'definitions', '$schema', '$id'],
  ...['properties', 'required', 'additionalProperties', 'items', 'minItems', 'maxItems', 'pattern', 'format'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
];
const types = ['string', 'number', 'boolean', 'integer', 'object', 'array', 'null'];
const formats = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'];
const deepest = 10;

const isWithin = (value: unknown, depth: number): boolean => {
  const schema = within(value);
  const { type, anyOf, $ref, format, items, properties, required, additionalProperties, $defs, definitions } = schema;
  if (depth > deepest || Object.keys(schema).some((name) => !keywords.includes(name))) return false;
  const typed = Array.isArray(type) ? type : type === undefined ? [] : [type];
  if (!typed.every((each) => types.includes(each)) || (format !== undefined && !formats.includes(format as string)))
    return false;
  if (typed.length === 0 && !Array.isArray(anyOf) && typeof $ref !== 'string') return false;
  if (typed.includes('object') && (additionalProperties !== false || !areRequired(properties, required))) return false;
  if (typed.includes('array') && items === undefined) return false;
  const parts = [...(items === undefined ? [] : [items]), ...(Array.isArray(anyOf) ? anyOf : [])];
  const named = [properties, $defs, definitions].flatMap((each) => Object.values(within(each)));
  return [...parts, ...named].every((each) => isWithin(each, depth + 1));
};

const areRequired = (properties: unknown, required: unknown): boolean => {
  if (typeof properties !== 'object' || properties === null || !Array.isArray(required)) return false;
  return Object.keys(properties).every((name) => required.includes(name));
};
