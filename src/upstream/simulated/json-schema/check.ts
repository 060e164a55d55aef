import { canonicalJson } from '../../models/canonical-json.ts';
import { matches } from './pattern-strings.ts';
import {
  asSchema,
  entriesOf,
  type Keywords,
  numberOf,
  ownSchema,
  rounded,
  type Schema,
  type Scope,
  sameJson,
  schemasOf,
  stringsOf,
} from './schema.ts';

/** Whether the value satisfies the schema, as far as this knows the keywords: an unknown one, or a format, holds. */
export const satisfies = (schema: Schema, given: unknown, scope: Scope): boolean => {
  scope.spend();
  const value = rounded(given);
  if (typeof schema === 'boolean') return schema;
  return (
    satisfiesCombinations(schema, value, scope) &&
    satisfiesValue(schema, value, scope) &&
    (typeof value !== 'string' || satisfiesString(schema, value, scope)) &&
    (typeof value !== 'number' || satisfiesNumber(schema, value)) &&
    (!Array.isArray(value) || satisfiesArray(schema, value, scope)) &&
    (!isRecord(value) || satisfiesObject(schema, value, scope))
  );
};

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const satisfiesCombinations = (schema: Keywords, value: unknown, scope: Scope): boolean => {
  const { $ref, allOf, anyOf, oneOf, not, if: condition, then: yes, else: no } = schema;
  const holds = (part: unknown) => satisfies(asSchema(part), value, scope);
  return (
    (typeof $ref !== 'string' || holds(scope.resolve($ref))) &&
    schemasOf(allOf).every(holds) &&
    (!Array.isArray(anyOf) || schemasOf(anyOf).some(holds)) &&
    (!Array.isArray(oneOf) || schemasOf(oneOf).filter(holds).length === 1) &&
    (not === undefined || !holds(not)) &&
    (condition === undefined || holds(holds(condition) ? yes : no))
  );
};

const satisfiesValue = (schema: Keywords, value: unknown, scope: Scope): boolean => {
  const { type, const: constant, enum: values } = schema;
  if (Array.isArray(values)) scope.spend(values.length / 16);
  return (
    (type === undefined || stringsOf(type).some((name) => isOfType(value, name))) &&
    (constant === undefined || sameJson(constant, value)) &&
    (!Array.isArray(values) || values.some((item) => sameJson(item, value)))
  );
};

const isOfType = (value: unknown, type: string): boolean => {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isRecord(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
};

const within = (value: number, least: unknown, most: unknown): boolean =>
  value >= (numberOf(least) ?? -Infinity) && value <= (numberOf(most) ?? Infinity);

const satisfiesString = (schema: Keywords, value: string, scope: Scope): boolean => {
  const { minLength, maxLength, pattern } = schema;
  if (minLength !== undefined || maxLength !== undefined) {
    if (!within(Array.from(value).length, minLength, maxLength)) return false;
  }
  const parsed = typeof pattern === 'string' ? scope.pattern(pattern) : null;
  return parsed === null || matches(parsed, value, scope);
};

const satisfiesNumber = (schema: Keywords, value: number): boolean => {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const step = numberOf(schema.multipleOf);
  return (
    within(value, minimum, maximum) &&
    value > (numberOf(exclusiveMinimum) ?? -Infinity) &&
    value < (numberOf(exclusiveMaximum) ?? Infinity) &&
    (step === undefined || Number.isInteger(value / step))
  );
};

const satisfiesArray = (schema: Keywords, value: readonly unknown[], scope: Scope): boolean => {
  const { minItems, maxItems, uniqueItems, contains, minContains, maxContains } = schema;
  const { prefix, rest } = itemSchemas(schema);
  return (
    within(value.length, minItems, maxItems) &&
    value.every((item, index) => satisfies(prefix[index] ?? rest, item, scope)) &&
    (uniqueItems !== true || areDistinct(value, scope)) &&
    (contains === undefined ||
      within(value.filter((item) => satisfies(asSchema(contains), item, scope)).length, minContains ?? 1, maxContains))
  );
};

/** The schemas of an array's first items and of those after them, in the words of 2020-12 or of draft 7. */
export const itemSchemas = (schema: Keywords): { prefix: readonly Schema[]; rest: Schema } => {
  const { prefixItems, items, additionalItems } = schema;
  if (Array.isArray(items)) return { prefix: items.map(asSchema), rest: asSchema(additionalItems) };
  return { prefix: Array.isArray(prefixItems) ? prefixItems.map(asSchema) : [], rest: asSchema(items) };
};

const areDistinct = (items: readonly unknown[], scope: Scope): boolean => {
  scope.spend(items.length);
  return new Set(items.map(canonicalJson)).size === items.length;
};

const satisfiesObject = (schema: Keywords, value: Readonly<Record<string, unknown>>, scope: Scope): boolean => {
  const { required, minProperties, maxProperties, propertyNames, dependentSchemas } = schema;
  const names = Object.keys(value);
  return (
    within(names.length, minProperties, maxProperties) &&
    stringsOf(required).every((name) => Object.hasOwn(value, name)) &&
    names.every((name) => propertySchemas(schema, name, scope).every((part) => satisfies(part, value[name], scope))) &&
    (propertyNames === undefined || names.every((name) => satisfies(asSchema(propertyNames), name, scope))) &&
    names.every((name) => neededWith(schema, name).every((other) => Object.hasOwn(value, other))) &&
    entriesOf(dependentSchemas).every(([name, part]) => !Object.hasOwn(value, name) || satisfies(part, value, scope))
  );
};

/** Every schema that applies to the property of that name. */
export const propertySchemas = (schema: Keywords, name: string, scope: Scope): readonly Schema[] => {
  const found: Schema[] = [];
  const own = ownSchema(schema.properties, name);
  if (own !== undefined) found.push(own);
  for (const [source, part] of entriesOf(schema.patternProperties)) {
    const pattern = scope.pattern(source);
    if (pattern !== null && matches(pattern, name, scope)) found.push(part);
  }
  if (found.length === 0 && schema.additionalProperties !== undefined) {
    found.push(asSchema(schema.additionalProperties));
  }
  return found;
};

/** The names that must be there where this one is. */
export const neededWith = (schema: Keywords, name: string): readonly string[] => {
  const found: string[] = [];
  for (const keyword of [schema.dependentRequired, schema.dependencies]) {
    if (typeof keyword !== 'object' || keyword === null || !Object.hasOwn(keyword, name)) continue;
    const needed = (keyword as Record<string, unknown>)[name];
    if (Array.isArray(needed)) found.push(...stringsOf(needed));
  }
  return found;
};
