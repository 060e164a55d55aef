import type { Code, Refusal } from '../../errors.ts';

/** Of a part of a request. */
export type Path = readonly (string | number)[];
export type Block = Readonly<Record<string, unknown>>;

/** A request in the form of the messages API, and where each part of it stands in what was sent. */
export interface Translated {
  /** Not checked yet: what it may not hold is refused by the rules of that API. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The place in the request that a place in `body` was made from. */
  readonly placeOf: (path: readonly string[]) => Path;
}

/** A fault that only shows while a request is translated. */
export interface TranslationFault {
  readonly path: Path;
  readonly message: string;
  readonly code?: Code;
}

export const isFault = (value: object): value is TranslationFault => 'message' in value && 'path' in value;

/** What a request says that has nothing of the user. @param list of its messages or items */
export const nothingOfUser = (list: string): TranslationFault => ({
  path: [list],
  message: 'At least one message must have the role user.',
});

/**
 * A refusal of the translated request, told by what the caller sent.
 * @param placeOf null where it is not known any more: then it is told without a place
 */
export const inPlace = (refused: Refusal, placeOf: Translated['placeOf'] | null): Refusal => {
  const [first] = refused.details;
  if (first === undefined) return refused;
  if (placeOf === null) return { ...refused, param: null, message: first.msg, details: [] };
  const param = placeOf(first.loc.slice(1)).map(String).join('.');
  return { ...refused, param, message: `${param}: ${first.msg}`, details: [] };
};
