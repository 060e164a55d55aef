import type { Refusal } from '../../errors.ts';

/** From a place in the form of messages to the sent request's. */
export type PlaceOf = (path: readonly string[]) => readonly (string | number)[];

/** @param placeOf null if no longer known: then without a place */
export const inPlace = (refused: Refusal, placeOf: PlaceOf | null): Refusal => {
  const [first] = refused.details;
  if (first === undefined) return refused;
  if (placeOf === null) return { ...refused, param: null, message: first.msg, details: [] };
  const param = placeOf(first.loc.slice(1)).map(String).join('.');
  return { ...refused, param, message: `${param}: ${first.msg}`, details: [] };
};
