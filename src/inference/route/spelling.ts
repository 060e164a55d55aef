import type { Refusal } from '../../errors.ts';
import type { Tape } from '../../json/tape/tape.ts';
import { bodyRefusal } from '../body-refusal.ts';

/** A name as servers read it that do not tell one case from another; to them two letters beyond ASCII are an `s` and a `k`. */
export const folded = (name: string): string => name.toUpperCase().toLowerCase();

/** What is folded to a name and has no capital letters: the name itself, and those with one of the two letters. */
export const foldings = (name: string): readonly string[] =>
  [...name].reduce<string[]>((all, letter) => all.flatMap((start) => spelt(letter).map((each) => start + each)), ['']);
const spelt = (letter: string): readonly string[] => {
  if (letter === 's') return ['s', '\u017f'];
  return letter === 'k' ? ['k', '\u212a'] : [letter];
};

/** Whether every member of a scanned object has a name without capital letters, in ASCII. */
export const hasPlainNames = (tape: Tape, object: number): boolean => {
  const end = tape.next(object);
  for (let at = object + 1; at < end; at = tape.next(at + 1)) if (!tape.isPlainName(at)) return false;
  return true;
};

/**
 * The refusal of a body with a member that is one of these names but for its case. Some servers read it for that member, whatever
 * stands beside it: another model would be asked, or for a longer answer, than Weir has read (contract L.1).
 */
export const spellingRefusal = (names: readonly string[]): ((body: object) => Refusal | null) => {
  const known = new Set(names);
  return (body) => {
    const name = Object.keys(body).find((each) => !known.has(each) && known.has(folded(each)));
    if (name === undefined) return null;
    const message = `Has to be written "${folded(name)}".`;
    return bodyRefusal(body, { code: 'unsupported_parameter', path: [name], message });
  };
};
