import { canonicalJson } from '../../models/canonical-json.ts';
import {
  asSchema,
  entriesOf,
  type Keywords,
  numberOf,
  type Schema,
  type Scope,
  schemasOf,
  stringsOf,
} from './schema.ts';

/** One of these schemas must hold; exactly one of them where `one` is set. */
export interface Choice {
  readonly one: boolean;
  readonly of: readonly Schema[];
}

/** A schema without references and combinations: plain keywords, and the choices that remain to be made. */
export interface Flat {
  readonly keywords: Keywords;
  readonly choices: readonly Choice[];
}

/** Deepest nesting of `$ref` and `allOf` that is followed at one place. */
const deepest = 32;

/** Null for a schema that plainly nothing satisfies. What cannot be merged is left to the final check. */
export const flatten = (schema: Schema, scope: Scope, depth = 0): Flat | null => {
  scope.spend();
  if (schema === false || depth > deepest) return null;
  if (schema === true) return { keywords: {}, choices: [] };
  const { $ref, allOf, anyOf, oneOf, if: condition, then: yes, else: no, const: constant, ...plain } = schema;
  const keywords: Record<string, unknown> = plain;
  if (constant !== undefined) keywords.enum = [constant];
  const choices: Choice[] = [];
  if (Array.isArray(anyOf)) choices.push({ one: false, of: schemasOf(anyOf) });
  if (Array.isArray(oneOf)) choices.push({ one: true, of: schemasOf(oneOf) });
  if (condition !== undefined) {
    const chosen = { allOf: [asSchema(condition), asSchema(yes)] };
    choices.push({ one: false, of: [chosen, { not: asSchema(condition), allOf: [asSchema(no)] }] });
  }
  let flat: Flat | null = { keywords, choices };
  const parts = typeof $ref === 'string' ? [scope.resolve($ref), ...schemasOf(allOf)] : schemasOf(allOf);
  for (const part of parts) {
    const other = flatten(part, scope, depth + 1);
    if (other === null) return null;
    flat = merge(flat, other, scope);
    if (flat === null) return null;
  }
  return flat;
};

/** What satisfies both; null if plainly nothing does. */
export const merge = (a: Flat, b: Flat, scope: Scope): Flat | null => {
  scope.spend(sizeOf(a) + sizeOf(b));
  const keywords: Record<string, unknown> = { ...a.keywords };
  for (const [name, theirs] of Object.entries(b.keywords)) {
    const ours = keywords[name];
    keywords[name] = ours === undefined ? theirs : (mergers[name] ?? keepOurs)(ours, theirs);
    if (keywords[name] === null) return null;
  }
  const properties = mergeProperties(a.keywords, b.keywords);
  if (properties !== undefined) keywords.properties = properties;
  return { keywords, choices: [...a.choices, ...b.choices] };
};

const sizeOf = ({ keywords, choices }: Flat): number => Object.keys(keywords).length + choices.length;

type Merger = (ours: unknown, theirs: unknown) => unknown;

const keepOurs: Merger = (ours) => ours;
const highest: Merger = (ours, theirs) => Math.max(numberOf(ours) ?? -Infinity, numberOf(theirs) ?? -Infinity);
const lowest: Merger = (ours, theirs) => Math.min(numberOf(ours) ?? Infinity, numberOf(theirs) ?? Infinity);
const both: Merger = (ours, theirs) => ({ allOf: [asSchema(ours), asSchema(theirs)] });
const union: Merger = (ours, theirs) => [...new Set([...stringsOf(ours), ...stringsOf(theirs)])];

/** Null stands for "nothing is left". */
const mergers: Readonly<Record<string, Merger>> = {
  type: (ours, theirs) => {
    const [left, right] = [stringsOf(ours), stringsOf(theirs)];
    const kept = new Set([
      ...left.filter((type) => allows(right, type)),
      ...right.filter((type) => allows(left, type)),
    ]);
    return kept.size === 0 ? null : [...kept];
  },
  enum: (ours, theirs) => {
    const others = new Set(Array.isArray(theirs) ? theirs.map(canonicalJson) : []);
    const kept = (Array.isArray(ours) ? ours : []).filter((item) => others.has(canonicalJson(item)));
    return kept.length === 0 ? null : kept;
  },
  multipleOf: (ours, theirs) => leastCommonMultiple(numberOf(ours) ?? 1, numberOf(theirs) ?? 1),
  required: union,
  minimum: highest,
  exclusiveMinimum: highest,
  minLength: highest,
  minItems: highest,
  minProperties: highest,
  maximum: lowest,
  exclusiveMaximum: lowest,
  maxLength: lowest,
  maxItems: lowest,
  maxProperties: lowest,
  items: (ours, theirs) => (Array.isArray(ours) || Array.isArray(theirs) ? ours : both(ours, theirs)),
  additionalProperties: both,
  additionalItems: both,
  propertyNames: both,
  not: (ours, theirs) => ({ anyOf: [asSchema(ours), asSchema(theirs)] }),
  patternProperties: (ours, theirs) => joined(entriesOf(ours), entriesOf(theirs)),
};

const allows = (types: readonly string[], type: string): boolean =>
  types.includes(type) || (type === 'integer' && types.includes('number'));

const leastCommonMultiple = (a: number, b: number): number => {
  if (!Number.isSafeInteger(a) || !Number.isSafeInteger(b) || a < 1 || b < 1) return Math.max(a, b);
  let [high, low] = [a, b];
  while (low > 0) [high, low] = [low, high % low];
  return (a / high) * b;
};

const joined = (ours: readonly (readonly [string, Schema])[], theirs: readonly (readonly [string, Schema])[]) => {
  const all = new Map(ours);
  for (const [name, schema] of theirs) {
    const known = all.get(name);
    all.set(name, known === undefined ? schema : { allOf: [known, schema] });
  }
  return Object.fromEntries(all);
};

/** A property that only one side names must satisfy the other side's `additionalProperties` all the same. */
const mergeProperties = (a: Keywords, b: Keywords): unknown => {
  if (a.properties === undefined && b.properties === undefined) return undefined;
  return joined(constrained(a, b), constrained(b, a));
};

const constrained = (one: Keywords, other: Keywords): readonly (readonly [string, Schema])[] => {
  const rest = other.additionalProperties;
  const own = entriesOf(one.properties);
  if (rest === undefined || other.patternProperties !== undefined) return own;
  const named = new Set(entriesOf(other.properties).map(([name]) => name));
  return own.map(([name, schema]) => (named.has(name) ? [name, schema] : [name, { allOf: [schema, asSchema(rest)] }]));
};
