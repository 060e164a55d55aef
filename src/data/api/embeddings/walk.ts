import { type Document, Kind } from '../../../json/document.ts';
import { named, nameSet } from '../../../json/names.ts';
import type { Counted } from '../../questions/counted.ts';
import { settings } from '../../questions/settings.ts';

const { input } = named('input');
const isOfBody = nameSet([...settings, 'input', 'encoding_format', 'dimensions', 'stream']);

/** The entries of a request: its only text or list of tokens, or those in its list. */
export const eachEntry = (tape: Document, visit: (entry: number) => void): void => {
  const given = tape.member(0, input);
  const isList = tape.is(given, Kind.array) && !tape.isEmpty(given) && !tape.is(given + 1, Kind.number);
  if (isList) tape.eachItem(given, visit);
  else visit(given);
};

/** What a model reads of a passing request for embeddings, in order. */
export const walkEmbeddings = (to: Counted): void => {
  const { tape } = to;
  eachEntry(tape, (entry) => {
    to.message();
    to.text(entry);
    if (tape.is(entry, Kind.array)) to.flat += tape.next(entry) - entry - 1;
  });
  to.rest(0, isOfBody);
};
