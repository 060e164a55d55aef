import { maxBuiltOnLoop } from '../language/limits.ts';
import type { ResponsePieces } from './answer-pieces.ts';
import { allTexts, type RequestPieces } from './body-text.ts';
import { inForm } from './normal-form.ts';

/** ASCII is converted this many times as fast as other text (measured). */
const asciiShare = 8;
const beyondAscii = /[^\t\n\r -~]/;

const asciiUnits = (text: string): number => (beyondAscii.test(text) ? grownUnits(text) : text.length / asciiShare);
/** NFKC makes eighteen characters of one for some. */
const grownUnits = (text: string): number =>
  text.length > maxBuiltOnLoop
    ? text.length
    : Math.max(text.length, inForm('NFKC', text, { left: Number.POSITIVE_INFINITY }).length);
const allUnits = (text: string): number => text.length;

const unitsIn = (pieces: readonly string[], unitsOf: (text: string) => number): number => {
  let units = 0;
  for (const piece of pieces) {
    units += unitsOf(piece);
    if (units > maxBuiltOnLoop) break;
  }
  return units;
};

/** Less than this is little text in any script. */
const little = 4096;
/** Cost of a message beyond its text, in units of text. */
const perMessage = 16;

/** UTF-16 units to convert before rules can read them; ASCII counts less, unless there is little. */
export const lengthOf = (request: RequestPieces): number => {
  const all = allTexts(request);
  const besides = perMessage * request.messages.length;
  const units = besides + unitsIn(all, allUnits);
  return units <= little ? units : besides + unitsIn(all, asciiUnits);
};

export const answerLength = ({ text, calls }: ResponsePieces): number =>
  calls.reduce(
    (units, call) => units + asciiUnits(call.arguments) + perMessage,
    unitsIn(text.text, asciiUnits) + unitsIn(text.beside, asciiUnits),
  );
