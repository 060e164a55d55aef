import { z } from 'zod';
import { type Refused, refused } from '../refused.ts';
import { codePoints, decodePercent } from './percent.ts';

type Leaf = string | string[];
/** Values as sent: a repeated or `[]` name is an array, `name[part]` a map of parts. Null prototype throughout. */
export type RawQuery = Readonly<Record<string, Leaf | Readonly<Record<string, Leaf>>>>;

const empty: RawQuery = Object.freeze(Object.create(null));
/** More pairs than any documented call needs; bounds the work that one request can ask for. */
const maxPairs = 100;

type Store = Record<string, Leaf | Record<string, Leaf>>;

const put = (store: Store, name: string, value: string, list: boolean): void => {
  const held = store[name];
  if (Array.isArray(held)) held.push(value);
  else if (typeof held === 'string') store[name] = [held, value];
  else store[name] = list ? [value] : value;
};

const assign = (store: Store, name: string, value: string): void => {
  const open = name.indexOf('[');
  if (open <= 0 || !name.endsWith(']')) {
    put(store, name, value, false);
    return;
  }
  const base = name.slice(0, open);
  const part = name.slice(open + 1, -1);
  if (part === '') {
    put(store, base, value, true);
    return;
  }
  const held = store[base];
  const parts: Record<string, Leaf> = typeof held === 'object' && !Array.isArray(held) ? held : Object.create(null);
  store[base] = parts;
  put(parts, part, value, false);
};

const malformed = (message: string): Refused => refused('invalid_request', { message });

/**
 * Reads a query string strictly (contract A.2): `a=1&a=2`, `a[]=1` and `a[gte]=1`, percent-encoding decoded once,
 * `+` as a space. What the names mean, and which are ignored, is the route's schema's business.
 * @returns 400 invalid_request for unsound percent-encoding or more than 100 parameters
 */
export const parseQuery = (text: string): RawQuery | Refused => parsePairs(text, 'query');

/** `parseQuery` for whatever is written like a query; `part` is what the messages call it. */
export const parsePairs = (text: string, part: 'query' | 'body'): RawQuery | Refused => {
  if (text === '') return empty;
  const store: Store = Object.create(null);
  const pairs = text.split('&', maxPairs + 1);
  if (pairs.length > maxPairs) return malformed(`The ${part} has more than ${maxPairs} parameters.`);
  for (const pair of pairs) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decodePercent(equals === -1 ? pair : pair.slice(0, equals), true);
    const value = equals === -1 ? '' : decodePercent(pair.slice(equals + 1), true);
    if (name === undefined || value === undefined) return malformed(`The ${part} is not soundly percent-encoded.`);
    assign(store, name, value);
  }
  return store;
};

const flagWords: Readonly<Record<string, boolean>> = { true: true, '1': true, false: false, '0': false };

/** `true`, `false`, `1` or `0` in any case (contract A.2). */
export const flag = (byDefault: boolean) =>
  z
    .string()
    .regex(/^(?:true|false|1|0)$/i, { error: 'Must be true, false, 1 or 0.' })
    .transform((word) => flagWords[word.toLowerCase()] ?? byDefault)
    .meta({ type: 'boolean' })
    .default(byDefault)
    .meta({ defaultOnTheWire: byDefault });

/** One value or several: `a=x`, `a=x&a=y`, `a[]=x`. */
export const many = <T extends z.ZodType>(item: T, most = 100) =>
  z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(item).max(most));

/** A whole number written in digits. */
export const wholeNumber = (least: number, most: number) =>
  z
    .string()
    .regex(/^-?\d{1,15}$/, { error: 'Must be a whole number.' })
    .transform(Number)
    .pipe(z.number().min(least).max(most))
    // For the OpenAPI document: the wire has digits, the meaning is a number.
    .meta({ type: 'integer', minimum: least, maximum: most });

/** Page size, 1..100. */
export const limit = wholeNumber(1, 100).default(20).meta({ defaultOnTheWire: 20 });

/** A string whose length is counted in code points, as every length is; the OpenAPI document says the same. */
export const text = (least: number, most: number) =>
  z
    .string()
    .refine((value) => codePoints(value) >= least, {
      error: `Must have at least ${least} character${least > 1 ? 's' : ''}.`,
    })
    .refine((value) => codePoints(value) <= most, { error: `Must have at most ${most} characters.` })
    .meta({ minLength: least, maxLength: most });

/** Id of the last object of the page before. */
export const after = text(1, 200);
/** Sort order by id. */
export const order = (byDefault: 'asc' | 'desc' = 'asc') => z.enum(['asc', 'desc']).default(byDefault);
