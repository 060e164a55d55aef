import { canonicalJson } from '../../models/canonical-json.ts';
import { integerBetween } from '../../seed.ts';
import { itemSchemas, neededWith, propertySchemas } from './check.ts';
import type { Sampler } from './sample.ts';
import { asSchema, entriesOf, type Keywords, numberOf, type Schema, type Scope, stringsOf } from './schema.ts';

/** From this depth on nothing optional is made. */
const bare = 3;
/** How often an item that must be distinct is made again. */
const retries = 20;

/** An object with what is required, some of what is optional, and more names where a least number is asked for. */
export const sampleObject = (schema: Keywords, scope: Scope, depth: number, sample: Sampler): unknown => {
  const least = numberOf(schema.minProperties) ?? 0;
  const most = numberOf(schema.maxProperties) ?? Infinity;
  const value = new Map<string, unknown>();
  const add = (name: string): boolean => {
    if (value.has(name)) return true;
    scope.spend();
    const made = sample(allOf(propertySchemas(schema, name, scope)), scope, depth + 1);
    if (made === undefined) return false;
    value.set(name, made);
    return neededWith(schema, name).every(add);
  };
  if (!stringsOf(schema.required).every(add)) return undefined;
  const optional = entriesOf(schema.properties).map(([name]) => name);
  for (const name of optional) {
    if (value.size < most && depth < bare && scope.random() < 0.5) add(name);
  }
  for (const name of optional) if (value.size < least) add(name);
  for (let tries = 0; value.size < least && tries < least + retries; tries += 1) {
    add(newName(schema, value.size, scope, depth, sample));
  }
  return value.size < least || value.size > most ? undefined : Object.fromEntries(value);
};

/** A further name: one of a pattern where only those are allowed. */
const newName = (schema: Keywords, index: number, scope: Scope, depth: number, sample: Sampler): string => {
  const pattern = entriesOf(schema.patternProperties)[0]?.[0];
  const names = schema.propertyNames;
  if (pattern === undefined && names === undefined) return `key${index + 1}`;
  const parts: Schema[] = [{ type: 'string' }];
  if (names !== undefined) parts.push(asSchema(names));
  if (pattern !== undefined && schema.additionalProperties === false) parts.push({ pattern });
  return String(sample({ allOf: parts }, scope, depth + 1) ?? `key${index + 1}`);
};

const allOf = (schemas: readonly Schema[]): Schema =>
  schemas.length === 0 ? true : schemas.length === 1 ? schemas[0]! : { allOf: schemas };

/** An array of one or two items, or of as many as are asked for. */
export const sampleArray = (schema: Keywords, scope: Scope, depth: number, sample: Sampler): unknown => {
  const { prefix, rest } = itemSchemas(schema);
  const least = numberOf(schema.minItems) ?? 0;
  const most = Math.min(numberOf(schema.maxItems) ?? Infinity, rest === false ? prefix.length : Infinity);
  const usual = depth < bare ? Math.max(prefix.length, integerBetween(scope.random, 1, 2)) : prefix.length;
  const contains = schema.contains === undefined ? null : asSchema(schema.contains);
  const contained = contains === null ? 0 : (numberOf(schema.minContains) ?? 1);
  const length = Math.min(most, Math.max(least, usual, contained));
  const seen = schema.uniqueItems === true ? new Set<string>() : null;
  const items: unknown[] = [];
  while (items.length < length) {
    const own = prefix[items.length] ?? rest;
    const node: Schema = contains !== null && length - items.length <= contained ? { allOf: [own, contains] } : own;
    const item = nextItem(seen, () => sample(node, scope, depth + 1));
    if (item === undefined) break;
    items.push(item);
  }
  return items.length < least ? undefined : items;
};

/** The item made, again and again if it must be one that has not been `seen`. */
const nextItem = (seen: Set<string> | null, make: () => unknown): unknown => {
  for (let attempt = 0; attempt <= retries; attempt += 1) {
    const item = make();
    if (item === undefined || seen === null) return item;
    const key = canonicalJson(item);
    if (seen.has(key)) continue;
    seen.add(key);
    return item;
  }
  return undefined;
};
