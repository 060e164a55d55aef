import { malformed } from './upstream-errors.ts';

/** What an upstream sends may be anything: every value is asked what it is before it is believed. */
export type Fields = Readonly<Record<string, unknown>>;

/** The members of a value; none of what is no object. */
export const within = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};

/** @throws UpstreamError */
export const fieldsOf = (value: unknown, what: string): Fields => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw malformed(`${what} is not an object`);
};

/** @throws UpstreamError */
export const parsedJson = (text: string, what: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed(`${what} is not JSON`);
  }
};

/** @throws UpstreamError */
export const stringOf = (value: unknown, what: string): string => {
  if (typeof value === 'string') return value;
  throw malformed(`${what} is not a string`);
};

/** Whether a count of tokens, where there is one, can be taken at its word: `tokensOf` changes no other. */
export const isCount = (count: unknown, most: number): boolean =>
  typeof count !== 'number' || (Number.isInteger(count) && count >= 0 && count <= most);

/** A count of tokens as a whole number from 0 to `most`; `otherwise` stands where there is none. */
export const tokensOf = (count: unknown, most: number, otherwise: number): number => {
  if (typeof count !== 'number') return otherwise;
  return count > 0 ? Math.min(Math.floor(count), most) : 0;
};
