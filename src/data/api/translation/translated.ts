import type { Code, Refusal } from '../../../errors.ts';

export type Path = readonly (string | number)[];
export type Block = Readonly<Record<string, unknown>>;

/** The request in the form of messages, and its places. */
export interface Translated {
  /** Unchecked: the rules of messages refuse the rest. */
  readonly body: Readonly<Record<string, unknown>>;
  /** From a place in `body` to the sent request's. */
  readonly placeOf: (path: readonly string[]) => Path;
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

/** @param placeOf null if no longer known: then without a place */
export const inPlace = (refused: Refusal, placeOf: Translated['placeOf'] | null): Refusal => {
  const [first] = refused.details;
  if (first === undefined) return refused;
  if (placeOf === null) return { ...refused, param: null, message: first.msg, details: [] };
  const param = placeOf(first.loc.slice(1)).map(String).join('.');
  return { ...refused, param, message: `${param}: ${first.msg}`, details: [] };
};
