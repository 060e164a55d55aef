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

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Whether a double would change the number's text. */
const isChanged = (digits: string): boolean => number.test(digits) && String(Number(digits)) !== digits;

/** A double keeps this many digits. */
const plainDigits = 15;

/** `isChanged` for a part of a document; decides usual numbers without making a double. */
export const isChangedIn = (bytes: Buffer, start: number, end: number): boolean => {
  let fraction = 0;
  const first = bytes[start] === 0x2d ? start + 1 : start;
  for (let at = first; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === 0x2e) fraction = at + 1;
    else if (byte < 0x30 || byte > 0x39) return isChanged(bytes.toString('latin1', start, end));
  }
  const isShort = end - start <= plainDigits;
  const isPlain = fraction === 0 ? first === start || bytes[first] !== 0x30 : bytes[end - 1] !== 0x30;
  // Doubles below a millionth are written with an exponent.
  const isSmall = bytes[first] === 0x30 && bytes[fraction] === 0x30;
  return !(isShort && isPlain && !isSmall) && isChanged(bytes.toString('latin1', start, end));
};

/** Numbers at lower depths are read by Weir itself, and become doubles. */
const leastDepth = 2;

const isPartOfNumber = (unit: number): boolean =>
  (unit >= 0x30 && unit <= 0x39) || unit === 0x2e || unit === 0x2d || unit === 0x2b || (unit | 0x20) === 0x65;

const afterString = (text: string, from: number): number => {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text.charCodeAt(first - 1) === 0x5c) first -= 1;
    if ((end - first) % 2 === 0) return end + 1;
  }
  return text.length;
};

/** JSON.parse with ExactNumbers where needed, except direct members of the outermost value. @throws SyntaxError */
export const parseExactly = (text: string): unknown => {
  const mark = newMarker();
  let marked = '';
  let copied = 0;
  let depth = 0;
  for (let i = 0; i < text.length; ) {
    const unit = text.charCodeAt(i);
    if (unit === 0x22) {
      i = afterString(text, i + 1);
      continue;
    }
    const start = i;
    i += 1;
    if (unit === 0x7b || unit === 0x5b) depth += 1;
    else if (unit === 0x7d || unit === 0x5d) depth -= 1;
    else if (unit === 0x2d || (unit >= 0x30 && unit <= 0x39)) {
      while (i < text.length && isPartOfNumber(text.charCodeAt(i))) i += 1;
      const digits = text.slice(start, i);
      if (depth < leastDepth || !isChanged(digits)) continue;
      marked += `${text.slice(copied, start)}"${mark}${digits}"`;
      copied = i;
    }
  }
  return copied === 0 ? JSON.parse(text) : restored(JSON.parse(marked + text.slice(copied)), mark);
};

const restored = (value: unknown, mark: string): unknown => {
  if (typeof value === 'string') return value.startsWith(mark) ? new ExactNumber(value.slice(mark.length)) : value;
  if (typeof value !== 'object' || value === null) return value;
  const members = value as Record<string, unknown>;
  for (const name of Object.keys(members)) members[name] = restored(members[name], mark);
  return value;
};
