import type { Document } from '../../json/document.ts';

/** Case-insensitive servers fold some letters beyond ASCII to `s`, `k` and others. */
export const folded = (name: string): string => name.toUpperCase().toLowerCase();

/** A name as servers that ignore case may read it. */
export const foldedAt = (tape: Document, name: number): string =>
  tape.isPlainName(name) ? tape.text(name) : folded(tape.text(name));

/** Such a server would use another model or a longer answer than Weir has read (contract L.1). -1 if none is misspelt. */
export const misspeltIn = (tape: Document, names: ReadonlySet<string>): number => {
  const end = tape.next(0);
  for (let at = 1; at < end; at = tape.next(at + 1)) {
    if (!tape.isPlainName(at) && !names.has(tape.text(at)) && names.has(foldedAt(tape, at))) return at;
  }
  return -1;
};
