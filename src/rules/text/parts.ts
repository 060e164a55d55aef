/** Long texts are brought into their forms part by part: what many small matches and long normal forms take is memory of one part. */

export const partUnits = 32 * 1024;
/** What is longer between two blanks is no word, and is cut as well. */
export const longestWord = 1024;

/** What may join what is before it: marks, letters of syllables, and what a normal form makes them of. */
const joins = /[\p{M}\u0e33\u0eb3\u1160-\u11ff\u3131-\u3163\uff9e-\uffdc\u{16d67}\u{16d68}]/uy;
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code < 0xe000;
/** A blank, a mark of punctuation or a control of ASCII. */
const isBetweenWords = (code: number): boolean =>
  code < 48 || (code > 57 && code < 65) || (code > 90 && code < 97) || (code > 122 && code < 128);
/** `\u0041`, or one of a pair of them. */
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

/** The text with each of its parts as it is made; the text itself where none is made another. Characters and escapes stay whole. */
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
