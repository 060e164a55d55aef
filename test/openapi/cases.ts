import { resolved, type Schema } from './document.ts';

/** One way to change one place of a value. */
export interface Case {
  readonly path: readonly (string | number)[];
  readonly title: string;
  /** Undefined: the place is left out. */
  readonly value: unknown;
}

/** Longer texts and lists than this are made nowhere: that a bound is there is seen without a hundred thousand items. */
const longest = 5000;

/** A value that the schema takes, the smallest there is. */
const sample = (given: Schema): unknown => {
  const schema = resolved(given);
  if ('const' in schema) return schema.const;
  if (schema.enum) return schema.enum[0];
  const choice = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (choice) return sample(choice[0] ?? {});
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case 'string':
      if (schema.format === 'date-time') return '2099-01-01T00:00:00Z';
      return 'x'.repeat(Math.max(1, schema.minLength ?? 1));
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return false;
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => sample(schema.items ?? {}));
    case 'object': {
      const required = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name));
      return Object.fromEntries(required.map(([name, inner]) => [name, sample(inner)]));
    }
    case 'null':
      return null;
    default:
      return 'anything';
  }
};

/** Each at its bound, one below and one above, in letters that are one code point and two UTF-16 units as well. */
const texts = ({ minLength, maxLength, pattern }: Schema): unknown[] => {
  const bounds = [minLength, maxLength].filter((bound): bound is number => bound !== undefined && bound <= longest);
  const lengths = bounds.flatMap((bound) => [bound - 1, bound, bound + 1]).filter((length) => length >= 0);
  const letters = pattern === undefined ? ['x', '😀'] : ['x', ' ', '\u00e9'];
  return [...new Set(lengths)].flatMap((length) => letters.map((letter) => letter.repeat(length)));
};

const numbers = ({ minimum, maximum, type }: Schema): unknown[] => {
  const bounds = [minimum, maximum].filter((bound): bound is number => bound !== undefined);
  // Above 2^53 one more is the same number.
  const near = bounds.flatMap((bound) => (Math.abs(bound) < 2 ** 52 ? [bound - 1, bound, bound + 1] : [bound]));
  return type === 'integer' ? [...near, 1.5] : near;
};

const lists = ({ minItems = 0, maxItems, items, uniqueItems }: Schema): unknown[] => {
  const lengths = [minItems - 1, minItems, minItems + 1];
  if (maxItems !== undefined && maxItems <= longest) lengths.push(maxItems - 1, maxItems, maxItems + 1);
  const choices = items && resolved(items).enum;
  const item = (i: number): unknown => (choices ? choices[i % choices.length] : sample(items ?? {}));
  const made = lengths.filter((length) => length >= 0).map((length) => Array.from({ length }, (_, i) => item(i)));
  return uniqueItems ? [...made, [item(0), item(0)]] : made;
};

const everyType: readonly unknown[] = [null, true, 0, -1, 'nonsense', '', [], {}, ['x'], { x: 1 }];

/** The values of each place that a schema tells apart, and every type where one alone is taken. */
const values = (schema: Schema): unknown[] => [
  ...(schema.enum ?? []),
  ...('const' in schema ? [schema.const] : []),
  ...texts(schema),
  ...numbers(schema),
  ...(schema.items ? lists(schema) : []),
  ...everyType,
];

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 40 ? `${text.slice(0, 40)}… (${text.length})` : text;
};

/** Every case of a schema and of what is in it, `depth` levels down. */
export function* cases(given: Schema, depth: number, path: Case['path'] = []): Generator<Case> {
  const schema = resolved(given);
  const at = (value: unknown): Case => ({ path, value, title: `${path.join('.')} = ${shown(value)}` });
  if (path.length > 0) for (const value of values(schema)) yield at(value);
  for (const choice of schema.anyOf ?? schema.oneOf ?? []) yield* cases(choice, depth, path);
  if (schema.properties) {
    yield { path: [...path, 'surplus'], value: 1, title: `${[...path, 'surplus'].join('.')} is there` };
  }
  if (depth === 0) return;
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const place = [...path, name];
    yield { path: place, value: undefined, title: `${place.join('.')} is missing` };
    yield* cases(inner, depth - 1, place);
  }
  if (schema.items) yield* cases(schema.items, depth - 1, [...path, 0]);
}

/** The value with one place changed; what leads there is made, with the smallest that the schema takes. */
export const changed = (base: unknown, schema: Schema, { path, value }: Case): unknown => {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  const inner = innerOf(schema, step);
  if (typeof step === 'number') {
    const list = Array.isArray(base) && base.length > 0 ? [...base] : [sample(inner)];
    list[step] = changed(list[step], inner, { path: rest, value, title: '' });
    return list;
  }
  const isObject = typeof base === 'object' && base !== null && !Array.isArray(base);
  const record = { ...(isObject ? base : (sample(objectIn(schema, step)) as object)) } as Record<string, unknown>;
  const before = record[step] ?? (rest.length > 0 ? sample(inner) : undefined);
  const after = changed(before, inner, { path: rest, value, title: '' });
  if (after === undefined) delete record[step];
  else record[step] = after;
  return record;
};

/** The alternative of a schema that is an object, with the member if one has it. */
const objectIn = (given: Schema, member: string): Schema => {
  const schema = resolved(given);
  const choices = (schema.anyOf ?? schema.oneOf ?? []).map((choice) => objectIn(choice, member));
  const objects = choices.filter(({ properties }) => properties);
  return objects.find(({ properties }) => properties?.[member]) ?? objects[0] ?? schema;
};

const innerOf = (given: Schema, step: string | number): Schema => {
  const schema = resolved(given);
  const direct = typeof step === 'number' ? schema.items : schema.properties?.[step];
  if (direct) return direct;
  for (const choice of schema.anyOf ?? schema.oneOf ?? []) {
    const found = innerOf(choice, step);
    if (Object.keys(found).length > 0) return found;
  }
  return {};
};
