import type { Note, Verifier } from '../../merkle/note.ts';
import { isSignedWith } from '../../merkle/note.ts';

export interface LogKey {
  readonly number: number;
  readonly verifier: Verifier;
  readonly revision: number;
  readonly position: bigint;
  /** Signed statement that this key follows another, by any signer. */
  readonly note: Note | undefined;
}

/** A key event that cannot be read. */
export interface NoKey {
  readonly number?: undefined;
  readonly verifier?: undefined;
  readonly revision: number;
}

export interface KeyBelief {
  readonly isKnown: (key: LogKey) => boolean;
  /** Whether the first key of the log is trusted, because no key is known otherwise. */
  readonly takesFirst: boolean;
}

export interface Keys {
  /** Known otherwise, or signed by the believed key before. */
  readonly believed: readonly LogKey[];
  /** Anyone who can append to the store may have written them. */
  readonly passedOver: readonly (LogKey | NoKey)[];
  add(key: LogKey | NoKey): boolean;
}

/** A key is believed if the believed key before has signed it or it is known otherwise. */
export const believedKeys = ({ isKnown, takesFirst }: KeyBelief): Keys => {
  const believed: LogKey[] = [];
  const passedOver: (LogKey | NoKey)[] = [];
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
      const isNew = key.verifier && !believed.some(({ verifier }) => verifier.text === key.verifier.text);
      if (isNew && (isKnown(key) || follows(key))) {
        believed.push(key);
        return true;
      }
      passedOver.push(key);
      return false;
    },
  };
};
