import { integerBetween, type Random } from '../../seed.ts';
import { type Keywords, numberOf } from './schema.ts';

/** How far a made-up number lies from the one bound that is given. */
const reach = 100;
const multiplesTried = 64;

/** A number within the bounds, an integer if asked; undefined if none was found. */
export const sampleNumber = (schema: Keywords, integer: boolean, random: Random): number | undefined => {
  const multipleOf = numberOf(schema.multipleOf);
  const low = Math.max(numberOf(schema.minimum) ?? -Infinity, numberOf(schema.exclusiveMinimum) ?? -Infinity);
  const high = Math.min(numberOf(schema.maximum) ?? Infinity, numberOf(schema.exclusiveMaximum) ?? Infinity);
  const from = low > -Infinity ? low : high < Infinity ? high - Math.max(reach, Math.abs(high) / 2) : 0;
  const to = high < Infinity ? high : from + Math.max(reach, Math.abs(from) / 2);
  const allowed = (value: number): boolean =>
    Number.isFinite(value) &&
    value >= low &&
    value <= high &&
    value > (numberOf(schema.exclusiveMinimum) ?? -Infinity) &&
    value < (numberOf(schema.exclusiveMaximum) ?? Infinity) &&
    (!integer || Number.isInteger(value));
  if (multipleOf !== undefined && multipleOf > 0) return sampleMultiple(multipleOf, from, to, allowed, random);
  if (integer) return sampleInteger(from, to, allowed, random);
  // Written so that the difference of two huge bounds cannot overflow.
  const share = random();
  const value = from * (1 - share) + to * share;
  return [Math.round(value * 100) / 100, value, from / 2 + to / 2, from, to].find(allowed);
};

const sampleInteger = (
  from: number,
  to: number,
  allowed: (value: number) => boolean,
  random: Random,
): number | undefined => {
  const [least, most] = [Math.ceil(from), Math.floor(to)];
  return [integerBetween(random, least, most), least, least + 1, most, most - 1].find(allowed);
};

/** Floating point lets few multiples of 0.1 divide by it evenly: several are tried. */
const sampleMultiple = (
  step: number,
  from: number,
  to: number,
  allowed: (value: number) => boolean,
  random: Random,
): number | undefined => {
  const [least, most] = [Math.ceil(from / step), Math.max(Math.ceil(from / step) + reach, Math.floor(to / step))];
  const start = integerBetween(random, least, most);
  for (let index = 0; index < multiplesTried; index += 1) {
    for (const value of [(start + index) * step, (least + index) * step]) {
      if (allowed(value) && Number.isInteger(value / step)) return value === 0 ? 0 : value;
    }
  }
  return undefined;
};
