import { asciiOf, digitOf } from './confusables.ts';
import { inForm, type Room, takeRoom } from './normal-form.ts';
import { inParts, partUnits } from './parts.ts';
import { UnreadableText } from './unreadable-text.ts';

/** Invisible: ignorable and control characters, noncharacters, replacement characters, and inherited marks. */
const invisible =
  /\p{Default_Ignorable_Code_Point}|(?![\t\n\r])\p{Cc}|[\ufff9-\ufffb\ufffd]|\p{Noncharacter_Code_Point}|(?=\p{M})\p{Script=Inherited}/gu;
/** Marks that NFKC would compose. */
const composing = /[\u0300-\u036f]+/g;
/** Marks of other scripts on Latin letters. */
const strayMarks = /([A-Za-z])\p{M}+/gu;
const beyondAscii = /[^\t\n\r -~]/;
/** At any depth of JSON in JSON. Begins at the first backslash, so that long rows are matched once. */
const escapes = /(?<!\\)\\+u([0-9a-fA-F]{4})/g;
const slashes = /(?<!\\)\\+\//g;
/** Invisible tag characters, which models read as ASCII. All begin with the same UTF-16 unit. */
const tags = /[\u{e0020}-\u{e007e}]/gu;
const tagUnit = '\udb40';
/** Symbols that look like letters; alone they stay. */
const symbols = [...asciiOf.keys()].filter((each) => /\p{S}/u.test(each)).join('');
const words = new RegExp(`[\\p{L}${symbols}]+`, 'gu');
const hasLetter = /\p{L}/u;
const digits = /(?![0-9])\p{Nd}/gu;
const ascii = /^[ -~]*$/;
const hasAscii = /[A-Za-z]/;
/** Scripts whose words stay, unless they look Latin as a whole. */
const ofOneScript =
  /^(?:\p{Script=Cyrillic}+|\p{Script=Greek}+|\p{Script=Armenian}+|\p{Script=Hebrew}+|\p{Script=Arabic}+|\p{Script=Georgian}+|\p{Script=Ethiopic}+|\p{Script=Myanmar}+|\p{Script=Malayalam}+|\p{Script=Thai}+)$/u;
/** Letters in boxes, circles and flags, which NFKC leaves unchanged. */
const enclosed = /[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}\u{1f1e6}-\u{1f1ff}]/gu;
/** NFKC makes three characters of these. */
const inParentheses = /[\u249c-\u24b5\u{1f110}-\u{1f129}]/gu;
const dashes = /[\u2010\u2012\u2013\u2043\u02d7\u2212]/g;

const rows = [0x1f1e6, 0x1f170, 0x1f150, 0x1f110];

const letterIn = (shape: string): string => {
  const at = shape.codePointAt(0)!;
  return at < 0x1f110
    ? String.fromCharCode(97 + at - 0x249c)
    : String.fromCharCode(65 + at - rows.find((row) => at >= row)!);
};

/** Replaces look-alikes in a word; words of other scripts stay, so that rules find them. */
const wordRead = (word: string): string => {
  if (ascii.test(word) || !hasLetter.test(word)) return word;
  let read = '';
  for (const letter of word) read += asciiOf.get(letter) ?? letter;
  return ascii.test(read) || hasAscii.test(word) || !ofOneScript.test(word) ? read : word;
};

/** Growth of a member's name; known names grow less. */
const roomOfName = 64;

/** Folds a short text; unchanged if it would grow too much. */
export const folded = (name: string): string => {
  try {
    return foldedWithin({ left: roomOfName }, name);
  } catch (error) {
    if (error instanceof UnreadableText) return name;
    throw error;
  }
};

/**
 * The folded copy of a text (contract H). Most texts return unchanged, in half a microsecond for 600 characters. A text with
 * tags is returned without them, and once more with their ASCII.
 * @throws UnreadableText where it would grow beyond the room
 */
export const foldedWithin = (room: Room, text: string): string => {
  const plain = text.includes('\\u') || text.includes('\\/') ? inParts(text, unescaped) : text;
  if (!beyondAscii.test(plain)) return plain;
  const read = drawnWithin(room, plain);
  if (!plain.includes(tagUnit)) return read;
  const told = inParts(plain, tagsTold);
  return told === plain ? read : `${read}\n${drawnWithin(room, told)}`;
};

/** Checks the room for a long text first, because folding its parts takes longer. */
const drawnWithin = (room: Room, text: string): string => {
  if (text.length <= partUnits) return drawn(inForm('NFKC', asLetters(text), room));
  takeRoom('NFKC', text, room, asLetters);
  return inParts(text, (part) => drawn(inForm('NFKC', asLetters(part), unbounded)));
};

const unescaped = (part: string): string =>
  part.replace(escapes, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))).replace(slashes, '/');

const tagsTold = (part: string): string =>
  part.replace(tags, (tag) => String.fromCharCode(tag.codePointAt(0)! - 0xe0000));

const unbounded: Room = { left: Number.POSITIVE_INFINITY };

/** Replaces what NFKC would change differently. */
const asLetters = (text: string): string => text.replace(composing, '').replace(inParentheses, letterIn);

const drawn = (text: string): string =>
  text
    .replace(invisible, '')
    .replace(dashes, '-')
    .replace(enclosed, letterIn)
    .replace(digits, (digit) => digitOf.get(digit) ?? digit)
    .replace(words, wordRead)
    .replace(strayMarks, '$1');
