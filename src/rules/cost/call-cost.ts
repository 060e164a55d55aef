import { Pattern } from '../language/patterns/pattern.ts';
import type { Node } from '../language/tree.ts';
import { perFailure, perMatched, perPair, perZonedGetter } from './prices.ts';
import { constant, product, type Quantity, scaled } from './quantity.ts';
import { charactersOf, countOf } from './shapes.ts';
import { plain, type Shape, shortText } from './sizes.ts';

/** Collects parts of a cost, and multiplies them by the enclosing loops. */
export interface Bill {
  readonly scan: (length: Quantity, nanosPerUnit: number) => void;
  readonly spend: (nanos: Quantity) => void;
  readonly step: (nodes: Quantity) => void;
}

/** Adds a call's cost beyond its node; `args` begin with the receiver. @returns the shape of the result */
export const callCost = (name: string, args: readonly Shape[], nodes: readonly Node[], bill: Bill): Shape => {
  const [subject = plain, argument = plain] = args;
  const length = charactersOf(subject);
  switch (name) {
    case 're2_matches':
    case 're2_countMatches': {
      const pattern: unknown = nodes[1]?.op === 'value' ? nodes[1].args : undefined;
      const instructions = pattern instanceof Pattern ? pattern.instructions : 0;
      // The engine first searches for the pattern's literals as substrings.
      bill.scan(length, perMatched + instructions * perPair);
      return plain;
    }
    case 'contains':
    case 'indexOf':
      bill.scan(length, 1);
      bill.spend(scaled(product(length, charactersOf(argument)), perPair));
      if (args.length > 2) bill.spend(constant(perFailure));
      return plain;
    case 'containsAny':
      bill.step(countOf(argument));
      bill.scan(product(length, countOf(argument)), 1);
      bill.spend(scaled(product(length, charactersOf(argument)), perPair));
      return plain;
    case 'startsWith':
    case 'endsWith':
      bill.scan(charactersOf(argument), 1);
      return plain;
    case 'size':
      if (subject.is === 'text') bill.scan(length, 10);
      return plain;
    case 'ascii_lower':
    case 'ascii_upper':
      bill.scan(length, 30);
      return subject;
    case 'trim':
      bill.scan(length, 5);
      return subject;
    case 'substring':
      bill.spend(constant(perFailure));
      return subject;
    case 'string':
      return subject.is === 'text' ? subject : shortText;
    case 'int':
    case 'double':
    case 'timestamp':
      bill.scan(length, 10);
      bill.spend(constant(perFailure));
      return plain;
    default:
      if (name.startsWith('zoned_')) bill.spend(constant(perZonedGetter));
      return plain;
  }
};
