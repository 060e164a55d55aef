import { z } from 'zod';
import { type Refused, refused } from '../refused.ts';
import { codePoints, decodePercent } from './percent.ts';

type Leaf = string | string[];
/** A repeated or `[]` name is an array, `name[part]` a map. Null prototype throughout. */
export type RawQuery = Readonly<Record<string, Leaf | Readonly<Record<string, Leaf>>>>;

const empty: RawQuery = Object.freeze(Object.create(null));
/** Bounds the work of a request. */
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
 * Contract A.2: `a=1&a=2`, `a[]=1` and `a[gte]=1`, decoded once, `+` as a space. The route's schema judges names.
 * Returns 400 invalid_request for invalid percent-encoding or over 100 parameters.
 */
export const parseQuery = (text: string): RawQuery | Refused => parsePairs(text, 'query');

/** @param part its name in messages */
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
export const flag = () =>
  z
    .string()
    .regex(/^(?:true|false|1|0)$/i, { error: 'Must be true, false, 1 or 0.' })
    .transform((word) => flagWords[word.toLowerCase()] ?? false)
    .meta({ type: 'boolean' })
    .default(false)
    .meta({ defaultOnTheWire: false });

export const many = <T extends z.ZodType>(item: T) =>
  z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(item).max(100));

export const wholeNumber = (least: number, most: number) =>
  z
    .string()
    .regex(/^-?\d{1,15}$/, { error: 'Must be a whole number.' })
    .transform(Number)
    .pipe(z.number().min(least).max(most))
    // The OpenAPI document describes the number, not its digits.
    .meta({ type: 'integer', minimum: least, maximum: most });

export const limit = wholeNumber(1, 100).default(20).meta({ defaultOnTheWire: 20 });

/** Length in code points, as in the OpenAPI document. */
export const text = (least: number, most: number) =>
  z
    .string()
    .refine((value) => codePoints(value) >= least, {
      error: `Must have at least ${least} character${least > 1 ? 's' : ''}.`,
    })
    .refine((value) => codePoints(value) <= most, { error: `Must have at most ${most} characters.` })
    .meta({ minLength: least, maxLength: most });

/** The last id of the page before. */
export const after = text(1, 200);
export const order = (byDefault: 'asc' | 'desc' = 'asc') => z.enum(['asc', 'desc']).default(byDefault);
