import { malformed } from './upstream-errors.ts';

/** Every value of an upstream is checked before use. */
export type Fields = Readonly<Record<string, unknown>>;

/** Empty for what is no object. */
export const within = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};

export const fieldsOf = (value: unknown, what: string): Fields => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw malformed(`${what} is not an object`);
};

export const parsedJson = (text: string, what: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed(`${what} is not JSON`);
  }
};

export const stringOf = (value: unknown, what: string): string => {
  if (typeof value === 'string') return value;
  throw malformed(`${what} is not a string`);
};

/** Whether `tokensOf` would keep it as it is. */
export const isCount = (count: unknown, most: number): boolean =>
  typeof count !== 'number' || (Number.isInteger(count) && count >= 0 && count <= most);

/** Clamped to a whole number from 0 to `most`; `otherwise` if absent. */
export const tokensOf = (count: unknown, most: number, otherwise: number): number => {
  if (typeof count !== 'number') return otherwise;
  return count > 0 ? Math.min(Math.floor(count), most) : 0;
};
