import { inParts } from './parts.ts';
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

const within = (form: Form, text: string, room: Room): string => {
  const formed = wholeInForm(form, text);
  room.left -= Math.max(0, formed.length - text.length);
  if (room.left < 0) throw noRoom();
  return formed;
};

/**
 * The text in a normal form, in a time that grows with its length alone.
 * @param room what it may grow by, which is taken from it as it grows
 * @throws UnreadableText as soon as there is no more room
 */
export const inForm = (form: Form, text: string, room: Room): string =>
  inParts(text, (part) => within(form, part, room));

/** Takes what the form would, of each part as it is made ready for it. @throws UnreadableText */
export const takeRoom = (form: Form, text: string, room: Room, ready: (part: string) => string): void => {
  inParts(text, (part) => {
    within(form, ready(part), room);
    return part;
  });
};
