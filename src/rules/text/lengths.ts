import { maxBuiltOnLoop } from '../language/limits.ts';
import type { ResponsePieces } from './answer-pieces.ts';
import type { RequestPieces } from './body-text.ts';
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

const unitsOf = ({ system, messages, others }: RequestPieces, of: (text: string) => number): number => {
  let units = unitsIn(system.text, of) + unitsIn(system.beside, of) + unitsIn(others, of);
  for (const { text, beside } of messages) units += unitsIn(text, of) + unitsIn(beside, of) + perMessage;
  return units;
};

/** Less than this is little text in any script. */
const little = 4096;

/** UTF-16 units to convert before rules can read them; ASCII counts less, unless there is little. */
export const lengthOf = (request: RequestPieces): number => {
  const units = unitsOf(request, allUnits);
  return units <= little ? units : unitsOf(request, asciiUnits);
};

export const answerLength = ({ text, calls }: ResponsePieces): number =>
  calls.reduce(
    (units, call) => units + asciiUnits(call.arguments) + perMessage,
    unitsIn(text.text, asciiUnits) + unitsIn(text.beside, asciiUnits),
  );

/** Cost of a message beyond its text, in units of text. */
const perMessage = 16;
