import { ExactNumber } from '../json/exact-number.ts';

/** Members of a body that passes, of which nobody has asked yet what they are. */
export type Fields = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
/** The members of a value; none of what is no object. */
export const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});
/** The items of a value; none of what is no list. */
export const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
