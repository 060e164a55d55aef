import { isUtf8 } from 'node:buffer';

const hex = (unit: number): number => {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
};

/** Undefined for an invalid `%`, raw bytes outside visible ASCII, invalid UTF-8, and NUL. Decodes once. */
export const decodePercent = (text: string, plusIsSpace = false): string | undefined => {
  let plain = true;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x21 || unit > 0x7e) return undefined;
    if (unit === 0x25 || (plusIsSpace && unit === 0x2b)) plain = false;
  }
  if (plain) return text;
  const bytes = Buffer.allocUnsafe(text.length);
  let size = 0;
  for (let i = 0; i < text.length; i++) {
    let unit = text.charCodeAt(i);
    if (unit === 0x25) {
      const high = i + 1 < text.length ? hex(text.charCodeAt(i + 1)) : -1;
      const low = i + 2 < text.length ? hex(text.charCodeAt(i + 2)) : -1;
      if (high < 0 || low < 0) return undefined;
      unit = high * 16 + low;
      if (unit === 0) return undefined;
      i += 2;
    } else if (plusIsSpace && unit === 0x2b) {
      unit = 0x20;
    }
    bytes[size++] = unit;
  }
  const decoded = bytes.subarray(0, size);
  return isUtf8(decoded) ? decoded.toString('utf8') : undefined;
};

/** The unit of every length. */
export const codePoints = (text: string): number => {
  let count = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    // The second half of a pair.
    if (unit >= 0xdc00 && unit <= 0xdfff) count--;
  }
  return count;
};
