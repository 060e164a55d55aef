import { integerBetween, type Random, seededId } from '../../seed.ts';
import { stringFor } from './pattern-strings.ts';
import { type Keywords, numberOf, type Scope } from './schema.ts';

const words = [
  'alpha',
  'brook',
  'cedar',
  'delta',
  'ember',
  'fjord',
  'grove',
  'heron',
  'inlet',
  'jetty',
  'kayak',
  'lotus',
];

/** A string of the right length and pattern; undefined if none was found. */
export const sampleString = (schema: Keywords, scope: Scope): string | undefined => {
  const least = Math.max(0, Math.ceil(numberOf(schema.minLength) ?? 0));
  const most = Math.floor(numberOf(schema.maxLength) ?? Infinity);
  if (least > most) return undefined;
  scope.spend(least / 16);
  const pattern = typeof schema.pattern === 'string' ? scope.pattern(schema.pattern) : null;
  if (pattern !== null) return stringFor(pattern, least, most, scope);
  const formatted = typeof schema.format === 'string' ? formats[schema.format]?.(scope.random) : undefined;
  if (formatted !== undefined && formatted.length >= least && formatted.length <= most) return formatted;
  let text = pick(words, scope.random);
  while (text.length < least) text += ` ${pick(words, scope.random)}`;
  return text.length <= most ? text : text.slice(0, most);
};

const pick = (items: readonly string[], random: Random): string => items[integerBetween(random, 0, items.length - 1)]!;

const two = (value: number): string => String(value).padStart(2, '0');

const date = (random: Random): string =>
  `20${two(integerBetween(random, 20, 39))}-${two(integerBetween(random, 1, 12))}-${two(integerBetween(random, 1, 28))}`;

const time = (random: Random): string =>
  `${two(integerBetween(random, 0, 23))}:${two(integerBetween(random, 0, 59))}:${two(integerBetween(random, 0, 59))}Z`;

const hex = (random: Random, length: number): string =>
  Array.from({ length }, () => integerBetween(random, 0, 15).toString(16)).join('');

/** Names under example.com and addresses of documentation ranges: nothing made up here reaches anyone. */
const formats: Readonly<Record<string, (random: Random) => string>> = {
  date,
  time,
  'date-time': (random) => `${date(random)}T${time(random)}`,
  duration: (random) => `P${integerBetween(random, 1, 30)}D`,
  email: (random) => `${pick(words, random)}@example.com`,
  hostname: (random) => `${pick(words, random)}.example.com`,
  ipv4: (random) => `192.0.2.${integerBetween(random, 1, 254)}`,
  ipv6: (random) => `2001:db8::${integerBetween(random, 1, 9999)}`,
  uri: (random) => `https://example.com/${pick(words, random)}`,
  uuid: (random) => `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-8${hex(random, 3)}-${hex(random, 12)}`,
  byte: (random) => Buffer.from(seededId({ a: integerBetween(random, 0, 1e9), b: 1 }, 0, 12)).toString('base64'),
};
