import { checkPathOf, renameMethod } from './cel-internals.ts';
import { maxComprehensionNesting } from './limits.ts';
import { admitLiteral } from './literals.ts';
import { Patterns } from './patterns/patterns.ts';
import { childrenOf, comprehensionOf, comprehensions, type Node } from './tree.ts';
import { type Direction, rootsOf } from './variables.ts';
import { functions, methods, operators, patternMethods, runningName } from './vocabulary.ts';
import { dateGetters, isTimeZone } from './zoned-getters.ts';

export interface Admission {
  /** Offsets and messages; empty when the rule is valid. */
  readonly refused: readonly { readonly at: number; readonly message: string }[];
  readonly reads: ReadonlySet<string>;
  readonly patterns: number;
}

/** Variables of enclosing comprehensions. */
type Scope = readonly string[];

/**
 * Checks the tree before type checking (contract H), and replaces pattern literals and names of methods. The tree is changed
 * instead of the text, because the engine's serializer drops the parentheses of `a - (b - c)`, breaks emoji and rounds small
 * numbers (8.0.0).
 */
export const checkLanguage = (text: string, tree: Node, direction: Direction): Admission => {
  const walk = new Walk(text, direction);
  walk.visit(tree, []);
  return { refused: walk.refused, reads: walk.reads, patterns: walk.patterns.count };
};

class Walk {
  readonly refused: { at: number; message: string }[] = [];
  readonly reads = new Set<string>();
  readonly patterns = new Patterns();
  readonly #text: string;
  readonly #roots: ReadonlySet<string>;

  constructor(text: string, direction: Direction) {
    this.#text = text;
    this.#roots = new Set(rootsOf(direction));
  }

  visit(node: Node, scope: Scope, negated = false): void {
    if (node.op === 'value') this.#refuse(node.start, admitLiteral(node, negated));
    else if (node.op === 'id') this.#visitName(node.args, node.start, scope);
    else if (node.op === '.' || node.op === '[]') this.#visitAccess(node, scope);
    else if (node.op === 'call') this.#visitCall(node, scope);
    else if (node.op === 'rcall') this.#visitMethod(node, scope);
    else {
      if (!operators.has(node.op)) this.#refuse(node.start, `"${node.op}" is not available in rules.`);
      this.#visitAll(childrenOf(node), scope, node.op === '-_');
    }
  }

  #refuse(at: number, message: string | null): void {
    if (message !== null) this.refused.push({ at, message });
  }

  #visitAll(nodes: readonly Node[], scope: Scope, negated = false): void {
    for (const node of nodes) this.visit(node, scope, negated);
  }

  #visitName(name: string, at: number, scope: Scope): void {
    if (scope.includes(name) || name === 'now') return;
    if (this.#roots.has(name)) this.#refuse(at, `"${name}" is a group of variables; name one of them.`);
    else if (name === 'response') this.#refuse(at, '"response" exists in rules of the response direction only.');
    else this.#refuse(at, `There is no variable "${name}".`);
  }

  #visitAccess(node: Node & { readonly op: '.' | '[]' }, scope: Scope): void {
    const [owner] = node.args;
    const field = node.op === '.' ? node.args[1] : literalOf(node.args[1]);
    if (owner.op === 'id' && this.#roots.has(owner.args)) {
      if (field === undefined) this.#refuse(node.start, `The name of a field of "${owner.args}" must be written out.`);
      else this.reads.add(`${owner.args}.${field}`);
    } else this.visit(owner, scope);
    if (node.op === '[]') this.visit(node.args[1], scope);
  }

  #visitCall(node: Node & { readonly op: 'call' }, scope: Scope): void {
    const [name, args] = node.args;
    if (!functions.has(name)) this.#refuse(node.start, `The function "${name}" is not available in rules.`);
    if (name === 'has') checkPathOf(node);
    this.#visitAll(args, scope);
  }

  #visitMethod(node: Node & { readonly op: 'rcall' }, scope: Scope): void {
    const [name, receiver, args] = node.args;
    const at = this.#text.indexOf(name, receiver.end);
    if (comprehensions.has(name)) {
      this.#visitComprehension(node, name, at, scope);
    } else if (!methods.has(name)) {
      this.#refuse(at, `The function "${name}" is not available in rules.`);
    } else {
      renameMethod(node, runningName(name, args.length));
      this.#visitAll([receiver, ...args], scope);
      const [first] = args;
      if (patternMethods.has(name)) this.#refuse(first?.start ?? at, this.patterns.bind(first));
      if (dateGetters.has(name) && first !== undefined && !isTimeZone(literalOf(first))) {
        this.#refuse(first.start, 'A time zone is a string literal with a name such as "Europe/Berlin".');
      }
    }
  }

  #visitComprehension(node: Node, name: string, at: number, scope: Scope): void {
    const parts = comprehensionOf(node);
    if (parts === undefined) {
      this.#refuse(at, `"${name}" takes a variable and a condition.`);
      return;
    }
    const { range, variable, body } = parts;
    this.visit(range, scope);
    // The cost analysis relies on names having one meaning.
    if ([...scope, ...this.#roots, 'response', 'now'].includes(variable)) {
      this.#refuse(at, `The variable "${variable}" hides another one.`);
    }
    if (scope.length === maxComprehensionNesting) {
      this.#refuse(at, `Comprehensions nest at most ${maxComprehensionNesting} deep.`);
    }
    this.visit(body, [...scope, variable]);
  }
}

const literalOf = (node: Node): string | undefined =>
  node.op === 'value' && typeof node.args === 'string' ? node.args : undefined;
