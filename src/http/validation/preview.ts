import { ExactNumber } from '../../json/exact-number.ts';

const maxInput = 256;

/** Stops when long enough, so that a value of 32 MiB costs nothing. */
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

/** Up to 256 characters of the value or its JSON (contract E.1); null for nothing. */
export const preview = (value: unknown): unknown => {
  if (value === undefined) return null;
  if (typeof value === 'string') return value.slice(0, maxInput);
  if (typeof value !== 'object' || value === null) return value;
  const text = jsonStart(value, maxInput);
  return text.length > maxInput ? text.slice(0, maxInput) : value;
};
