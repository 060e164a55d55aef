/**
 * Base64 as its readers take it. Where nothing else stands in it they agree. Else Node stops at the first `=`, Python goes on behind
 * one that completes no group of four, and passes over `-` and `_` unless it reads the alphabet for addresses; all of them pass over
 * what is no letter of Base64. Whoever is strict (Python's `validate`, WHATWG) reads what Python does, or nothing.
 */

/** Without its end: one pattern for both would be tried again from each of the blanks that a text may have very many of. */
const withoutPadding = (text: string): string => {
  const end = text.trimEnd();
  return end.endsWith('==') ? end.slice(0, -2) : end.endsWith('=') ? end.slice(0, -1) : end;
};

const letters = /^[A-Za-z0-9+/_\-\r\n]+$/;
const others = /[^A-Za-z0-9+/=]+/g;

/** Whether it is Base64 as it is meant to be, of either alphabet. */
export const isBase64 = (text: string): boolean => letters.test(withoutPadding(text));

const isOfAddresses = (text: string): boolean => text.includes('-') || text.includes('_');

/** Up to the `=` that completes a group of four. */
const pythonReads = (text: string): Buffer => {
  const kept = text.replace(others, '');
  let paddings = 0;
  for (let at = kept.indexOf('='); at !== -1; at = kept.indexOf('=', at)) {
    const place = (at - paddings) % 4;
    const from = at;
    while (kept[at] === '=') at += 1;
    if (place >= 2 && place + at - from >= 4) return Buffer.from(kept.slice(0, from).replaceAll('=', ''), 'base64');
    paddings += at - from;
  }
  return Buffer.from(kept.replaceAll('=', ''), 'base64');
};

/** The bytes that one of these may stand for, each once. */
export const bytesIn = (texts: readonly string[]): readonly Buffer[] => {
  const all: Buffer[] = [];
  const add = (bytes: Buffer): void => {
    if (!all.some((known) => known.equals(bytes))) all.push(bytes);
  };
  for (const text of new Set(texts)) {
    const bytes = Buffer.from(text, 'base64');
    add(bytes);
    const isOther = isOfAddresses(text);
    // Where Node has all that the length promises, it has stopped at no `=` before the end.
    if (!isOther && bytes.length === Buffer.byteLength(text, 'base64')) continue;
    add(pythonReads(text));
    if (isOther) add(pythonReads(text.replaceAll('-', '+').replaceAll('_', '/')));
  }
  return all;
};
