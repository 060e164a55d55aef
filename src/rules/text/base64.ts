/**
 * Decoders of Base64 differ for other characters: Node stops at the first `=`; Python continues after an `=` that completes no
 * group of four and skips `-` and `_` except in the URL-safe alphabet. Strict decoders (Python's `validate`, WHATWG) read what
 * Python does, or nothing.
 */

const withoutPadding = (text: string): string => {
  const end = text.trimEnd();
  return end.endsWith('==') ? end.slice(0, -2) : end.endsWith('=') ? end.slice(0, -1) : end;
};

const letters = /^[A-Za-z0-9+/_\-\r\n]+$/;
const others = /[^A-Za-z0-9+/=]+/g;

/** Whether it is Base64 of either alphabet. */
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

/** The different bytes that decoders read. */
export const bytesIn = (texts: readonly string[]): readonly Buffer[] => {
  const all: Buffer[] = [];
  const add = (bytes: Buffer): void => {
    if (!all.some((known) => known.equals(bytes))) all.push(bytes);
  };
  for (const text of new Set(texts)) {
    const bytes = Buffer.from(text, 'base64');
    add(bytes);
    const isOther = isOfAddresses(text);
    // With all bytes that the length promises, Node stopped at no early `=`.
    if (!isOther && bytes.length === Buffer.byteLength(text, 'base64')) continue;
    add(pythonReads(text));
    if (isOther) add(pythonReads(text.replaceAll('-', '+').replaceAll('_', '/')));
  }
  return all;
};
