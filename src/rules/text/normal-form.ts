import { UnreadableText } from './unreadable-text.ts';

/**
 * A row of marks is put in order by insertion: forty thousand of them in one row take seconds. No language has more than a few, so
 * that beyond 32 each 32 are brought into the form by themselves.
 */

/** Those that NFKC makes marks of, too. */
const markAt = /[\p{M}\uff9e\uff9f]/uy;
const longRow = /[\p{M}\uff9e\uff9f]{33}/u;
const parts = /[^\p{M}\uff9e\uff9f]*[\p{M}\uff9e\uff9f]{0,32}/gu;

/** Shorter than this, the longest row takes no time. */
const little = 256;

/** Nearly all text has none of these: it is below U+0300, general punctuation, ideographs, Hangul. */
const mayBeMark = (code: number): boolean =>
  code >= 0x300 &&
  !(code >= 0x2000 && code < 0x20d0) &&
  !(code >= 0x3400 && code < 0xa66f) &&
  !(code >= 0xac00 && code < 0xd800);

/** One of every 32 units is looked at. */
const hasLongRow = (text: string): boolean => {
  for (let at = 31; at < text.length; at += 32) {
    if (!mayBeMark(text.charCodeAt(at))) continue;
    markAt.lastIndex = at;
    if (markAt.test(text)) return longRow.test(text);
  }
  return false;
};

const wholeInForm = (form: Form, text: string): string =>
  text.length < little || !hasLongRow(text)
    ? text.normalize(form)
    : (text.match(parts) ?? []).map((part) => part.normalize(form)).join('');

export type Form = 'NFC' | 'NFKC';

/** How many UTF-16 units normal forms may still add to texts: NFKC makes eighteen of one, of some. */
export interface Room {
  left: number;
}

export const noRoom = (): UnreadableText => new UnreadableText('too much text for this rule');

/** So much is brought into a form at once. */
const chunkUnits = 32 * 1024;
/** What may join what is before it: marks, letters of syllables, and what a form makes them of. */
const joins = /[\p{M}\u0e33\u0eb3\u1160-\u11ff\u3131-\u3163\uff9e-\uffdc\u{16d67}\u{16d68}]/uy;
/** Nothing that a language has joins more. */
const mostJoined = 64;

/** Where a text may be cut, at `at` or before it, so that the forms of its parts are those of the whole. */
const cutBefore = (text: string, at: number): number => {
  for (let cut = at; cut > at - mostJoined; cut -= 1) {
    joins.lastIndex = cut;
    if (!isLowSurrogate(text.charCodeAt(cut)) && !joins.test(text)) return cut;
  }
  return isLowSurrogate(text.charCodeAt(at)) ? at - 1 : at;
};
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code < 0xe000;

/**
 * The text in a normal form, in a time that grows with its length alone.
 * @param room what it may grow by, which is taken from it as it grows
 * @throws UnreadableText as soon as there is no more room
 */
export const inForm = (form: Form, text: string, room: Room): string => {
  const made: string[] = [];
  let isOther = false;
  for (let at = 0; at < text.length; ) {
    const end = text.length - at > chunkUnits ? cutBefore(text, at + chunkUnits) : text.length;
    const part = text.slice(at, end);
    const formed = wholeInForm(form, part);
    room.left -= Math.max(0, formed.length - part.length);
    if (room.left < 0) throw noRoom();
    isOther ||= formed !== part;
    made.push(formed);
    at = end;
  }
  return isOther ? made.join('') : text;
};
