import type { Note, Verifier } from '../../merkle/note.ts';
import { isSignedWith } from '../../merkle/note.ts';

/** A key that an event of the log names. */
export interface LogKey {
  readonly number: number;
  readonly verifier: Verifier;
  /** Of the event. */
  readonly revision: number;
  readonly position: bigint;
  /** Signed statement that this key follows another, by any signer. */
  readonly note: Note | undefined;
}

export interface KeyBelief {
  readonly isKnown: (key: LogKey) => boolean;
  /** Whether the first key of the log is trusted, because no key is known otherwise. */
  readonly takesFirst: boolean;
}

/** The keys of a log, in the order of their events. */
export interface Keys {
  /** Known otherwise, or signed by the believed key before. */
  readonly believed: readonly LogKey[];
  /** Anyone who can append to the store may have written them. */
  readonly passedOver: readonly LogKey[];
  /** @returns whether it is believed */
  add(key: LogKey): boolean;
}

/**
 * A key is believed if the believed key before has signed it or if it is known otherwise, never because of its event
 * alone.
 */
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
      // A repeated key must not come into force again.
      const isAgain = believed.some(({ verifier }) => verifier.text === key.verifier.text);
      const isBelieved = !isAgain && (isKnown(key) || follows(key));
      (isBelieved ? believed : passedOver).push(key);
      return isBelieved;
    },
  };
};
