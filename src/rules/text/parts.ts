// Long texts are converted in parts, which bounds the memory of matches and normal forms.

export const partUnits = 32 * 1024;
/** Longer runs without a blank are not words and may be cut. */
export const longestWord = 1024;

/** Characters that may join the previous one. */
const joins = /[\p{M}\u0e33\u0eb3\u1160-\u11ff\u3131-\u3163\uff9e-\uffdc\u{16d67}\u{16d68}]/uy;
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code < 0xe000;
/** ASCII blanks, punctuation and controls. */
const isBetweenWords = (code: number): boolean =>
  code < 48 || (code > 57 && code < 65) || (code > 90 && code < 97) || (code > 122 && code < 128);
/** `\u0041`. */
const escapeUnits = 6;

const isWhole = (text: string, at: number): boolean => {
  if (isLowSurrogate(text.charCodeAt(at)) || text.slice(at - escapeUnits, at).includes('\\')) return false;
  joins.lastIndex = at;
  return !joins.test(text);
};

const endOfPart = (text: string, from: number): number => {
  const least = from + partUnits;
  for (let at = least; at < text.length; at += 1) {
    if ((at - least >= longestWord || isBetweenWords(text.charCodeAt(at - 1))) && isWhole(text, at)) return at;
  }
  return text.length;
};

/** Converts each part; unchanged texts return as they are. Characters and escapes stay whole. */
export const inParts = (text: string, make: (part: string) => string): string => {
  if (text.length <= partUnits) return make(text);
  const made: string[] = [];
  let isOther = false;
  for (let from = 0; from < text.length; ) {
    const end = endOfPart(text, from);
    const part = text.slice(from, end);
    const other = make(part);
    isOther ||= other !== part;
    made.push(other);
    from = end;
  }
  return isOther ? made.join('') : text;
};
