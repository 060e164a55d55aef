import { inParts } from './parts.ts';
import { UnreadableText } from './unreadable-text.ts';

// Normalizing sorts marks by insertion: forty thousand in a row take seconds. Beyond 32, each 32 are separate.

/** Including those that NFKC turns into marks. */
const markAt = /[\p{M}\uff9e\uff9f]/uy;
const longRow = /[\p{M}\uff9e\uff9f]{33}/u;
const parts = /[^\p{M}\uff9e\uff9f]*[\p{M}\uff9e\uff9f]{0,32}/gu;

/** Short texts are fast in any case. */
const little = 256;

/** False for nearly all text: below U+0300, general punctuation, ideographs, Hangul. */
const mayBeMark = (code: number): boolean =>
  code >= 0x300 &&
  !(code >= 0x2000 && code < 0x20d0) &&
  !(code >= 0x3400 && code < 0xa66f) &&
  !(code >= 0xac00 && code < 0xd800);

/** Checks one of every 32 units. */
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

/** UTF-16 units by which normal forms may still grow; NFKC makes eighteen of one for some. */
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
 * Normalizes in linear time.
 * @param room reduced by the growth
 * @throws UnreadableText as soon as there is no more room
 */
export const inForm = (form: Form, text: string, room: Room): string =>
  inParts(text, (part) => within(form, part, room));

/** Takes the room that the form would need, without keeping the text. @throws UnreadableText */
export const takeRoom = (form: Form, text: string, room: Room, ready: (part: string) => string): void => {
  inParts(text, (part) => {
    within(form, ready(part), room);
    return part;
  });
};
