/** Nothing below U+0300, the first combining mark, changes in NFC. The engine knows that of most strings unread. */
const mayChange = /[\u0300-\u{10ffff}]/u;

/** The text in NFC. */
export const normal = (text: string): string => (mayChange.test(text) ? text.normalize('NFC') : text);

/**
 * Pieces of text, newline-joined, in NFC. Nothing composes across a line break, so joining texts that are in NFC
 * already gives the same.
 */
export const joined = (pieces: readonly string[]): string =>
  normal(pieces.length === 1 ? pieces[0]! : pieces.join('\n'));

/** Calls `make` on the first read and keeps what it gave. */
export const normalizedOnce = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
};
