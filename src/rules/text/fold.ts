import { asciiOf, digitOf } from './confusables.ts';
import { inForm, type Room, takeRoom } from './normal-form.ts';
import { inParts, partUnits } from './parts.ts';
import { UnreadableText } from './unreadable-text.ts';

/** What a reader does not see: ignorable characters, controls, no characters, bytes that are none, and marks that belong to no letter of one script. */
const invisible =
  /\p{Default_Ignorable_Code_Point}|(?![\t\n\r])\p{Cc}|[\ufff9-\ufffb\ufffd]|\p{Noncharacter_Code_Point}|(?=\p{M})\p{Script=Inherited}/gu;
/** Marks that NFKC would make one letter of with what is before them. */
const composing = /[\u0300-\u036f]+/g;
/** Marks of other scripts on Latin letters. */
const strayMarks = /([A-Za-z])\p{M}+/gu;
const beyondAscii = /[^\t\n\r -~]/;
/** However often JSON was put into JSON. Where a row of backslashes begins, or each of them would begin one. */
const escapes = /(?<!\\)\\+u([0-9a-fA-F]{4})/g;
const slashes = /(?<!\\)\\+\//g;
/** ASCII that is not drawn, and that models read. All tags begin with the same unit. */
const tags = /[\u{e0020}-\u{e007e}]/gu;
const tagUnit = '\udb40';
/** Symbols that are drawn like letters; alone they are symbols. */
const symbols = [...asciiOf.keys()].filter((each) => /\p{S}/u.test(each)).join('');
const words = new RegExp(`[\\p{L}${symbols}]+`, 'gu');
const hasLetter = /\p{L}/u;
const digits = /(?![0-9])\p{Nd}/gu;
const ascii = /^[ -~]*$/;
const hasAscii = /[A-Za-z]/;
/** Scripts whose words are words of their own, and no disguise, as long as they do not look Latin as a whole. */
const ofOneScript =
  /^(?:\p{Script=Cyrillic}+|\p{Script=Greek}+|\p{Script=Armenian}+|\p{Script=Hebrew}+|\p{Script=Arabic}+|\p{Script=Georgian}+|\p{Script=Ethiopic}+|\p{Script=Myanmar}+|\p{Script=Malayalam}+|\p{Script=Thai}+)$/u;
/** Letters in boxes and discs, and the letters of flags, which NFKC leaves alone. */
const enclosed = /[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}\u{1f1e6}-\u{1f1ff}]/gu;
/** Letters in parentheses, of which NFKC makes three characters. */
const inParentheses = /[\u249c-\u24b5\u{1f110}-\u{1f129}]/gu;
const dashes = /[\u2010\u2012\u2013\u2043\u02d7\u2212]/g;

/** Where their rows begin. */
const rows = [0x1f1e6, 0x1f170, 0x1f150, 0x1f110];

const letterIn = (shape: string): string => {
  const at = shape.codePointAt(0)!;
  return at < 0x1f110
    ? String.fromCharCode(97 + at - 0x249c)
    : String.fromCharCode(65 + at - rows.find((row) => at >= row)!);
};

/** A word as a reader of Latin takes it; one of another script stays, or its rules would never find it. */
const wordRead = (word: string): string => {
  if (ascii.test(word) || !hasLetter.test(word)) return word;
  let read = '';
  for (const letter of word) read += asciiOf.get(letter) ?? letter;
  return ascii.test(read) || hasAscii.test(word) || !ofOneScript.test(word) ? read : word;
};

/** What the name of a member may grow by: none that anybody knows does by more. */
const roomOfName = 64;

/** A short text as a reader takes it; as it is where it would grow far beyond what it is. */
export const folded = (name: string): string => {
  try {
    return foldedWithin({ left: roomOfName }, name);
  } catch (error) {
    if (error instanceof UnreadableText) return name;
    throw error;
  }
};

/**
 * The text as a reader takes it (contract H): in NFKC, without characters that nobody sees, look-alikes of ASCII letters
 * as those, digits of every script as ASCII ones, and `\u0041` as JSON means it. Most text comes back as it is, in half a
 * microsecond for 600 characters. A text with tags comes without them, and once more with what they say.
 * @throws UnreadableText where it would grow by more than there is room for
 */
export const foldedWithin = (room: Room, text: string): string => {
  const plain = text.includes('\\u') || text.includes('\\/') ? inParts(text, unescaped) : text;
  if (!beyondAscii.test(plain)) return plain;
  const read = drawnWithin(room, plain);
  if (!plain.includes(tagUnit)) return read;
  const told = inParts(plain, tagsTold);
  return told === plain ? read : `${read}\n${drawnWithin(room, told)}`;
};

/** Of a long text it is learnt first whether there is room for it: to read its parts takes far longer than that. */
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

/** What NFKC would make something else of. */
const asLetters = (text: string): string => text.replace(composing, '').replace(inParentheses, letterIn);

const drawn = (text: string): string =>
  text
    .replace(invisible, '')
    .replace(dashes, '-')
    .replace(enclosed, letterIn)
    .replace(digits, (digit) => digitOf.get(digit) ?? digit)
    .replace(words, wordRead)
    .replace(strayMarks, '$1');
