import { replaceLiteral } from './cel-internals.ts';
import type { Node } from './tree.ts';

const greatestInt = 2n ** 63n - 1n;

/** Checks a literal, and normalizes strings to NFC like all texts of a view. @returns why it is refused, or null */
export const admitLiteral = (literal: Node, negated: boolean): string | null => {
  const value: unknown = literal.args;
  switch (typeof value) {
    case 'string':
      replaceLiteral(literal, value.normalize('NFC'));
      return null;
    case 'bigint':
      // The engine checks only results of arithmetic. -2^63 is written as a negated 2^63.
      return value <= (negated ? greatestInt + 1n : greatestInt) ? null : 'The integer does not fit into 64 bits.';
    case 'number':
    case 'boolean':
      return null;
    default:
      if (value === null) return null;
      return value instanceof Uint8Array
        ? 'Bytes are not available in rules.'
        : 'Unsigned integers are not available in rules.';
  }
};
