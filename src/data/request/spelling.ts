import type { Refusal } from '../../errors.ts';
import type { Document } from '../../json/document.ts';
import { bodyRefusal } from './body-refusal.ts';

/** Case-insensitive servers fold two non-ASCII letters to `s` and `k`. */
export const folded = (name: string): string => name.toUpperCase().toLowerCase();

/** The lower-case spellings that fold to a name: itself, and those with the two letters. */
export const foldings = (name: string): readonly string[] =>
  [...name].reduce<string[]>((all, letter) => all.flatMap((start) => spelt(letter).map((each) => start + each)), ['']);
const spelt = (letter: string): readonly string[] => {
  if (letter === 's') return ['s', '\u017f'];
  return letter === 'k' ? ['k', '\u212a'] : [letter];
};

/** ASCII only. */
export const hasPlainNames = (tape: Document): boolean => {
  const end = tape.next(0);
  for (let at = 1; at < end; at = tape.next(at + 1)) if (!tape.isPlainName(at)) return false;
  return true;
};

/** Servers that ignore case would use another model or a longer answer than Weir has read (contract L.1). */
export const spellingRefusal = (names: readonly string[]): ((body: object) => Refusal | null) => {
  const known = new Set(names);
  return (body) => {
    const name = Object.keys(body).find((each) => !known.has(each) && known.has(folded(each)));
    if (name === undefined) return null;
    const message = `Has to be written "${folded(name)}".`;
    return bodyRefusal(body, { code: 'unsupported_parameter', path: [name], message });
  };
};
