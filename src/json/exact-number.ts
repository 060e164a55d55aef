import { randomBytes } from 'node:crypto';

/** Numbers pass through digit for digit (contract A.3), also those that JSON.parse changes: `9007199254740993`, `1.0`, `1e400`. */

/** Marks numbers in the output of one call of `jsonText`; random, so that input cannot contain it. */
let marker = '';
let met = false;

/** A number with its digits. For JSON.stringify and arithmetic it is the nearest double. */
export class ExactNumber {
  readonly #digits: string;

  constructor(digits: string) {
    this.#digits = digits;
  }

  valueOf(): number {
    return Number(this.#digits);
  }

  toString(): string {
    return this.#digits;
  }

  toJSON(): unknown {
    met = true;
    return marker === '' ? this.valueOf() : marker + this.#digits;
  }
}

const newMarker = (): string => `${randomBytes(16).toString('hex')}:`;

/** JSON.stringify with all digits; without an ExactNumber as fast as JSON.stringify. */
export const jsonText = (value: unknown): string => {
  met = false;
  const text = JSON.stringify(value);
  if (!met) return text;
  marker = newMarker();
  try {
    return JSON.stringify(value).replaceAll(new RegExp(`"${marker}([^"]*)"`, 'g'), '$1');
  } finally {
    marker = '';
  }
};

/** Whether a double would change the number's text. */
export const isChanged = (digits: string): boolean => String(Number(digits)) !== digits;

/** JSON.parse of the texts, decoded, with the numbers between them, which become ExactNumbers. */
export const parseAround = (
  numbers: readonly string[],
  texts: readonly string[],
  decoded: (text: string) => string,
): unknown => {
  const mark = newMarker();
  const marked = texts.map((text, at) => (at < numbers.length ? `${text}"${mark}${numbers[at]}"` : text));
  return restored(JSON.parse(decoded(marked.join(''))), mark);
};

const restored = (value: unknown, mark: string): unknown => {
  if (typeof value === 'string') return value.startsWith(mark) ? new ExactNumber(value.slice(mark.length)) : value;
  if (typeof value !== 'object' || value === null) return value;
  const members = value as Record<string, unknown>;
  for (const name of Object.keys(members)) members[name] = restored(members[name], mark);
  return value;
};
