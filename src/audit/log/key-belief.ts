import type { Note, Verifier } from '../../merkle/note.ts';
import { isSignedWith } from '../../merkle/note.ts';

/** A key that an event of the log names. */
export interface LogKey {
  readonly number: number;
  readonly verifier: Verifier;
  /** Of the event on its stream, and in the log. */
  readonly revision: number;
  readonly position: bigint;
  /** That this key follows another, signed by whomever; undefined where there is no such note. */
  readonly note: Note | undefined;
}

/** What is known of a log's keys from elsewhere than the log. */
export interface KeyBelief {
  readonly isKnown: (key: LogKey) => boolean;
  /** Nothing is known: the first key of the log is taken at its word, where nothing was in front of it. */
  readonly takesFirst: boolean;
}

/** The keys of a log, in the order of their events. */
export interface Keys {
  /** Known from elsewhere, or vouched for by the one before in this list. */
  readonly believed: readonly LogKey[];
  /** Whoever can append to the store may have written them. */
  readonly passedOver: readonly LogKey[];
  /** @returns whether it is believed */
  add(key: LogKey): boolean;
}

/** No event makes a key believed: the key before it has to have signed that it follows, or somebody outside of the log has to know it. */
export const believedKeys = ({ isKnown, takesFirst }: KeyBelief): Keys => {
  const believed: LogKey[] = [];
  const passedOver: LogKey[] = [];
  const follows = ({ number, note, revision }: LogKey): boolean => {
    const before = believed.at(-1);
    if (!before) return takesFirst && revision === 0;
    return number === before.number + 1 && note !== undefined && isSignedWith(note, before.verifier);
  };
  return {
    believed,
    passedOver,
    add(key) {
      // Once more, it would be in force again.
      const isAgain = believed.some(({ verifier }) => verifier.text === key.verifier.text);
      const isBelieved = !isAgain && (isKnown(key) || follows(key));
      (isBelieved ? believed : passedOver).push(key);
      return isBelieved;
    },
  };
};
