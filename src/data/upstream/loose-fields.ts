import { ExactNumber } from '../../json/exact-number.ts';
import type { Fields } from './transport/fields.ts';

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
export const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});
export const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
