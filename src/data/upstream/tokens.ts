/** Up to four non-space characters with one space before, or one space; prefixes tokenize alike. */
const token = /\s?\S{1,4}|\s/gu;
const longestToken = 4;

export const tokenize = (text: string): readonly string[] => text.match(token) ?? [];

const isSpace = (unit: number): boolean =>
  unit === 0x20 ||
  (unit >= 0x09 && unit <= 0x0d) ||
  (unit >= 0xa0 &&
    (unit === 0xa0 ||
      unit === 0x1680 ||
      (unit >= 0x2000 && unit <= 0x200a) ||
      unit === 0x2028 ||
      unit === 0x2029 ||
      unit === 0x202f ||
      unit === 0x205f ||
      unit === 0x3000 ||
      unit === 0xfeff));

/** The second half of a character that takes two UTF-16 units. */
const isSecondHalf = (text: string, at: number): boolean =>
  (text.charCodeAt(at) & 0xfc00) === 0xdc00 && at > 0 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;

export const countTokens = (text: string): number => {
  let count = 0;
  /** Characters of the present token beside its space; a full one before the first. */
  let length = longestToken;
  for (let at = 0; at < text.length; at++) {
    if (isSpace(text.charCodeAt(at))) {
      count++;
      length = 0;
    } else if (!isSecondHalf(text, at)) {
      if (length === longestToken) {
        count++;
        length = 0;
      }
      length++;
    }
  }
  return count;
};

const groupPatterns = new Map<number, RegExp>();

/** Pieces of `size` tokens; the last may be shorter. */
export const tokenGroups = (text: string, size: number): readonly string[] => {
  if (size === 1) return tokenize(text);
  let pattern = groupPatterns.get(size);
  if (pattern === undefined) {
    pattern = new RegExp(`(?:\\s?\\S{1,4}|\\s){1,${size}}`, 'gu');
    groupPatterns.set(size, pattern);
  }
  return text.match(pattern) ?? [];
};
