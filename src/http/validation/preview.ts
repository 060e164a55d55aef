import { ExactNumber } from '../../json/exact-number.ts';

/** UTF-16 units of an offending value that are sent back (contract E.1). */
const maxInput = 256;

/** Enough of the JSON text of a value: it stops where it is long enough, so a hostile value of 32 MiB costs nothing. */
const jsonStart = (value: unknown, room: number): string => {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, room));
  if (value instanceof ExactNumber) return value.toString().slice(0, room + 1);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const isArray = Array.isArray(value);
  let text = isArray ? '[' : '{';
  for (const key in value) {
    if (text.length > room) return text;
    if (text.length > 1) text += ',';
    if (!isArray) text += `${JSON.stringify(key.slice(0, room))}:`;
    text += jsonStart((value as Record<string, unknown>)[key], Math.max(0, room - text.length));
  }
  return text + (isArray ? ']' : '}');
};

/** The value itself where it is short, else the first 256 characters of it or of its JSON; null for nothing. */
export const preview = (value: unknown): unknown => {
  if (value === undefined) return null;
  if (typeof value === 'string') return value.slice(0, maxInput);
  if (typeof value !== 'object' || value === null) return value;
  const text = jsonStart(value, maxInput);
  return text.length > maxInput ? text.slice(0, maxInput) : value;
};
