import { type Comprehension, comprehensionOf, type Node } from '../language/tree.ts';
import { type Bill, callCost } from './call-cost.ts';
import { perFailure, perNode, perStep } from './prices.ts';
import { constant, type Loop, type Quantity, repeated, scaled, sum } from './quantity.ts';
import { charactersOf, countOf, coveredBy, fieldOf, itemOf, together } from './shapes.ts';
import { plain, type Shape, shapeOfVariable, text } from './sizes.ts';

/** Upper bounds for one evaluation, as sums over sizes of a view (contract H). */
export interface Cost {
  /** Nodes, multiplied by the enclosing comprehensions. */
  readonly work: Quantity;
  readonly scanned: Quantity;
  /** Worst case for hostile rules and requests. */
  readonly nanos: Quantity;
}

const comparisons: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=']);
const arithmetic: ReadonlySet<string> = new Set(['+', '-', '-_', '*', '/', '%']);

/** The cost of a checked rule without short-circuits. */
export const costOf = (tree: Node): Cost => {
  const ledger = new Ledger();
  shapeOf(tree, { scope: new Map(), loops: [] }, ledger);
  return ledger.total();
};

/** The shapes of the loop variables at a node, and the loops around it. */
interface Place {
  readonly scope: ReadonlyMap<string, Shape>;
  readonly loops: readonly Loop[];
}

/** Adds up what the nodes cost. */
class Ledger {
  readonly #work: Quantity[] = [];
  readonly #scanned: Quantity[] = [];
  readonly #nanos: Quantity[] = [];
  #loops = 0;

  newLoopId(): number {
    return this.#loops++;
  }

  billIn(loops: readonly Loop[]): Bill {
    return {
      scan: (length, nanosPerUnit) => {
        const units = repeated(length, loops);
        this.#scanned.push(units);
        this.#nanos.push(scaled(units, nanosPerUnit));
      },
      spend: (quantity) => this.#nanos.push(repeated(quantity, loops)),
      step: (quantity) => this.#work.push(repeated(quantity, loops)),
    };
  }

  total(): Cost {
    return { work: sum(...this.#work), scanned: sum(...this.#scanned), nanos: sum(...this.#nanos) };
  }
}

/** Adds the cost of a node and everything below it. @returns the shape of its value */
const shapeOf = (node: Node, place: Place, ledger: Ledger): Shape => {
  const bill = ledger.billIn(place.loops);
  bill.step(constant(1));
  bill.spend(constant(perNode));
  const parts = comprehensionOf(node);
  if (parts === undefined) return operationCost(node, place.scope, (child) => shapeOf(child, place, ledger), bill);
  const range = comprehensionCost(parts, place, ledger, bill);
  // `filter` keeps at most the whole range.
  return node.op === 'rcall' && node.args[0] === 'filter' ? range : plain;
};

/** @returns the shape of the range */
const comprehensionCost = (parts: Comprehension, place: Place, ledger: Ledger, bill: Bill): Shape => {
  const range = shapeOf(parts.range, place, ledger);
  const id = ledger.newLoopId();
  const count = countOf(range);
  bill.spend(scaled(count, perStep));
  const scope = new Map([...place.scope, [parts.variable, coveredBy(itemOf(range), id)]]);
  shapeOf(parts.body, { scope, loops: [...place.loops, { id, count }] }, ledger);
  return range;
};

const operationCost = (
  node: Node,
  scope: ReadonlyMap<string, Shape>,
  inner: (child: Node) => Shape,
  bill: Bill,
): Shape => {
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
    case '?:':
      inner(node.args[0]);
      return together([inner(node.args[1]), inner(node.args[2])]);
    case 'call':
      return callCost(node.args[0], node.args[1].map(inner), node.args[1], bill);
    case 'rcall': {
      const operands = [node.args[1], ...node.args[2]];
      return callCost(node.args[0], operands.map(inner), operands, bill);
    }
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

const fieldAccess = (node: Node & { readonly op: '.' }, inner: (child: Node) => Shape): Shape => {
  const [owner, field] = node.args;
  const shape = inner(owner);
  // Other names are roots, which check-language.ts allows only before a field.
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
  // A comparison ends with the shorter text, so a literal bounds it; otherwise either side does.
  const shorter = charactersOf(right).every((term) => term.sizes.length === 0) ? right : left;
  if (left.is !== 'text') {
    bill.step(countOf(shorter));
    bill.spend(scaled(countOf(shorter), perNode));
  }
  bill.scan(charactersOf(shorter), 1);
};
