import { integerBetween, type Random } from '../../seed.ts';
import { satisfies } from './check.ts';
import { type Choice, type Flat, flatten, merge } from './flatten.ts';
import { sampleNumber } from './numbers.ts';
import { type Keywords, OverBudget, type Schema, Scope, stringsOf } from './schema.ts';
import { sampleString } from './strings.ts';
import { sampleArray, sampleObject } from './structures.ts';

/** Steps of work on one schema: some tens of milliseconds at the worst, where a usual tool takes 0.04 ms. */
const budget = 20_000;
const attempts = 6;
/** Deepest nesting of a made-up value. */
const deepest = 24;
/** From here on the shortest way to an end is taken, so that recursive schemas have one. */
const shallow = 3;

/** Makes a value for a schema at some depth; undefined if it found none. */
export type Sampler = (schema: Schema, scope: Scope, depth: number) => unknown;

/**
 * A JSON value that satisfies the schema, the same for the same numbers of `random`. What nothing satisfies, or is too
 * large to try, gets a value that comes close, at the last null: a real model would not refuse either.
 */
export const sampleSchema = (schema: Schema, random: Random): unknown => {
  const scope = new Scope(schema, random, budget);
  let best: unknown;
  try {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const value = sampleNode(schema, scope, 0);
      if (value === undefined) continue;
      best = value;
      if (satisfies(schema, value, scope)) return value;
    }
  } catch (error) {
    if (!(error instanceof OverBudget)) throw error;
  }
  return best ?? null;
};

const sampleNode: Sampler = (schema, scope, depth) => {
  scope.spend();
  if (depth > deepest) return undefined;
  const flat = flatten(schema, scope);
  if (flat === null) return undefined;
  const hard = hardKeywords.some((keyword) => flat.keywords[keyword] !== undefined);
  for (let attempt = 0; attempt < (hard ? attempts : 1); attempt += 1) {
    const value = sampleFlat(flat, scope, depth);
    if (value !== undefined && (!hard || satisfies(flat.keywords, value, scope))) return value;
  }
  return undefined;
};

/** Keywords that no value is built for: one is made without them, checked, and made again. */
const hardKeywords = ['not', 'contains', 'propertyNames', 'dependentSchemas', 'uniqueItems'];

const sampleFlat = (flat: Flat, scope: Scope, depth: number): unknown => {
  scope.spend();
  const [choice, ...choices] = flat.choices;
  if (choice !== undefined) return sampleChoice({ ...flat, choices }, choice, scope, depth);
  const { keywords } = flat;
  if (Array.isArray(keywords.enum)) {
    return rotated(keywords.enum, scope.random).find((value) => satisfies(keywords, value, scope));
  }
  for (const type of typesOf(keywords)) {
    const value = sampleType(type, keywords, scope, depth);
    if (value !== undefined) return value;
  }
  return undefined;
};

const sampleChoice = (flat: Flat, choice: Choice, scope: Scope, depth: number): unknown => {
  const options = rotated(choice.of, scope.random);
  if (depth >= shallow) options.sort((a, b) => weight(a) - weight(b));
  for (const option of options) {
    const chosen = flatten(option, scope);
    const merged = chosen === null ? null : merge(flat, chosen, scope);
    const value = merged === null ? undefined : sampleFlat(merged, scope, depth);
    if (value === undefined || !satisfies(option, value, scope)) continue;
    if (choice.one && choice.of.filter((other) => satisfies(other, value, scope)).length !== 1) continue;
    return value;
  }
  return undefined;
};

/** 0 for a schema that is seen to end here. */
const weight = (schema: Schema): number => {
  if (typeof schema === 'boolean' || schema.const !== undefined || schema.enum !== undefined) return 0;
  const { type } = schema;
  return typeof type === 'string' && type !== 'object' && type !== 'array' ? 0 : 1;
};

const rotated = <Item>(items: readonly Item[], random: Random): Item[] => {
  const start = items.length === 0 ? 0 : integerBetween(random, 0, items.length - 1);
  return [...items.slice(start), ...items.slice(0, start)];
};

/** The types to try, in order; null last, as it says least. */
const typesOf = (keywords: Keywords): readonly string[] => {
  const declared = stringsOf(keywords.type);
  if (declared.length > 0) return [...declared].sort((a, b) => Number(a === 'null') - Number(b === 'null'));
  const implied = implications.find(([, names]) => names.some((name) => keywords[name] !== undefined));
  return [...(implied === undefined ? [] : [implied[0]]), 'string', 'object', 'integer', 'boolean', 'null'];
};

const implications: readonly (readonly [string, readonly string[]])[] = [
  ['object', ['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames', 'minProperties']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'contains', 'uniqueItems']],
  ['string', ['minLength', 'maxLength', 'pattern', 'format']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
];

const sampleType = (type: string, keywords: Keywords, scope: Scope, depth: number): unknown => {
  switch (type) {
    case 'object':
      return sampleObject(keywords, scope, depth, sampleNode);
    case 'array':
      return sampleArray(keywords, scope, depth, sampleNode);
    case 'string':
      return sampleString(keywords, scope);
    case 'integer':
    case 'number':
      return sampleNumber(keywords, type === 'integer', scope.random);
    case 'boolean':
      return scope.random() < 0.5;
    default:
      return type === 'null' ? null : undefined;
  }
};
