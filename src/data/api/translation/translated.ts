import type { Code } from '../../../errors.ts';
import type { PlaceOf } from '../../request/in-place.ts';

export type Path = readonly (string | number)[];
export type Block = Readonly<Record<string, unknown>>;

/** The request in the form of messages, and its places. */
export interface Translated {
  /** Unchecked: the rules of messages refuse the rest. */
  readonly body: Readonly<Record<string, unknown>>;
  /** From a place in `body` to the sent request's. */
  readonly placeOf: PlaceOf;
}

export interface TranslationFault {
  readonly path: Path;
  readonly message: string;
  readonly code?: Code;
}

export const isFault = (value: object): value is TranslationFault => 'message' in value && 'path' in value;

/** @param list of messages or items */
export const nothingOfUser = (list: string): TranslationFault => ({
  path: [list],
  message: 'At least one message must have the role user.',
});
