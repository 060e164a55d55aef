import { comprehensionOf, type Node } from '../language/tree.ts';
import { type Bill, callCost } from './call-cost.ts';
import { perFailure, perNode, perStep } from './prices.ts';
import { constant, type Loop, type Quantity, repeated, scaled, sum } from './quantity.ts';
import { charactersOf, countOf, coveredBy, fieldOf, itemOf, together } from './shapes.ts';
import { plain, type Shape, shapeOfVariable, text } from './sizes.ts';

/** Upper bounds for one evaluation, as sums over the sizes of a view (contract H). */
export interface Cost {
  /** Nodes times the product of the ranges of the comprehensions around them. */
  readonly work: Quantity;
  /** UTF-16 code units that scanning calls read. */
  readonly scanned: Quantity;
  /** Nanoseconds in the worst case that the authors of a rule and of a request can bring about together. */
  readonly nanos: Quantity;
}

const comparisons: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=']);
const arithmetic: ReadonlySet<string> = new Set(['+', '-', '-_', '*', '/', '%']);

/** The cost of a checked rule. Everything is counted as if nothing were cut short. */
export const costOf = (tree: Node): Cost => {
  const work: Quantity[] = [];
  const scanned: Quantity[] = [];
  const nanos: Quantity[] = [];
  let loopsSeen = 0;

  const visit = (node: Node, scope: ReadonlyMap<string, Shape>, loops: readonly Loop[]): Shape => {
    const bill: Bill = {
      scan: (length, nanosPerUnit) => {
        const units = repeated(length, loops);
        scanned.push(units);
        nanos.push(scaled(units, nanosPerUnit));
      },
      spend: (quantity) => nanos.push(repeated(quantity, loops)),
      step: (quantity) => work.push(repeated(quantity, loops)),
    };
    const inner = (child: Node): Shape => visit(child, scope, loops);
    bill.step(constant(1));
    bill.spend(constant(perNode));

    const parts = comprehensionOf(node);
    if (parts !== undefined) {
      const range = inner(parts.range);
      const id = loopsSeen;
      loopsSeen += 1;
      const count = countOf(range);
      bill.spend(scaled(count, perStep));
      const variable = coveredBy(itemOf(range), id);
      visit(parts.body, new Map([...scope, [parts.variable, variable]]), [...loops, { id, count }]);
      // What `filter` keeps is at most what it was given.
      return node.op === 'rcall' && node.args[0] === 'filter' ? range : plain;
    }

    switch (node.op) {
      case 'value':
        return typeof node.args === 'string' ? text(constant(node.args.length)) : plain;
      case 'id':
        return scope.get(node.args) ?? plain;
      case '.':
        return fieldAccess(node, inner);
      case '[]':
        return indexAccess(node, inner, bill);
      case 'list':
        return { is: 'list', count: constant(node.args.length), item: together(node.args.map(inner)) };
      case 'map':
        return {
          is: 'map',
          count: constant(node.args.length),
          key: together(node.args.map(([key]) => inner(key))),
          value: together(node.args.map(([, value]) => inner(value))),
        };
      case '?:': {
        inner(node.args[0]);
        return together([inner(node.args[1]), inner(node.args[2])]);
      }
      case 'call':
        return callCost(node.args[0], node.args[1].map(inner), node.args[1], bill);
      case 'rcall':
        return callCost(
          node.args[0],
          [node.args[1], ...node.args[2]].map(inner),
          [node.args[1], ...node.args[2]],
          bill,
        );
      case '-_':
      case '!_':
        inner(node.args);
        return plain;
      default: {
        const [left, right] = node.args as readonly [Node, Node];
        binaryCost(node.op, inner(left), inner(right), bill);
        return plain;
      }
    }
  };

  visit(tree, new Map(), []);
  return { work: sum(...work), scanned: sum(...scanned), nanos: sum(...nanos) };
};

const fieldAccess = (node: Node & { readonly op: '.' }, inner: (child: Node) => Shape): Shape => {
  const [owner, field] = node.args;
  const shape = inner(owner);
  // A name that is no loop variable is a root: check-language.ts lets roots stand before a field only, and nothing hides them.
  return shape.is === 'plain' && owner.op === 'id' ? shapeOfVariable(`${owner.args}.${field}`) : fieldOf(shape, field);
};

const indexAccess = (node: Node & { readonly op: '[]' }, inner: (child: Node) => Shape, bill: Bill): Shape => {
  const [owner, index] = node.args;
  const shape = inner(owner);
  const key = inner(index);
  bill.spend(constant(perFailure));
  if (shape.is === 'list') return shape.item;
  if (shape.is === 'map') bill.scan(charactersOf(key), 1);
  if (index.op !== 'value' || typeof index.args !== 'string') return fieldOf(shape, '');
  return shape.is === 'plain' && owner.op === 'id'
    ? shapeOfVariable(`${owner.args}.${index.args}`)
    : fieldOf(shape, index.args);
};

const binaryCost = (op: string, left: Shape, right: Shape, bill: Bill): void => {
  if (arithmetic.has(op)) bill.spend(constant(perFailure));
  if (op === 'in') {
    const looksUp = right.is === 'map';
    const compared = looksUp ? constant(1) : countOf(right);
    bill.step(compared);
    bill.spend(scaled(compared, perNode));
    bill.scan(charactersOf(looksUp ? left : right), 1);
  }
  if (!comparisons.has(op)) return;
  // Two values are compared up to the end of the shorter: a literal bounds it, and else either side will do.
  const shorter = charactersOf(right).every((term) => term.sizes.length === 0) ? right : left;
  if (left.is !== 'text') {
    bill.step(countOf(shorter));
    bill.spend(scaled(countOf(shorter), perNode));
  }
  bill.scan(charactersOf(shorter), 1);
};
