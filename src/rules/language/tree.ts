import type { ASTNode } from '@marcbachmann/cel-js';

/** A node of a parsed rule. */
export type Node = ASTNode;

/** A static type as the engine notes it on the node; not in its declarations, so tests hold it to this. */
interface CelType {
  /** `string`, `list<Message>`, `google.protobuf.Timestamp` … */
  readonly name: string;
  /** `primitive`, `list`, `map`, `message`, `dyn`, or `param` for the item of an empty list. */
  readonly kind: string;
  /** Whether the type or a part of it is known at run time only. */
  readonly hasDynType: boolean;
}

/** The context in which a comprehension runs its body; it keeps the last item and its surroundings alive. */
interface IterationContext {
  iterValue: unknown;
  accuValue: unknown;
  reuse(parent: unknown): unknown;
}

interface Macro {
  readonly args: readonly Node[];
  typeCheck(checker: Checker, macro: Macro, context: unknown): unknown;
}
interface Checker {
  check(node: Node, context: unknown): unknown;
}
interface Inside {
  readonly checkedType?: CelType;
  readonly meta?: {
    readonly macro?: Macro;
    readonly alternate?: { readonly op: string; readonly args: { readonly iterCtx?: IterationContext } };
  };
}
const inside = (node: Node): Inside => node as Inside;

/** The type that the check found; undefined before it, and on names that a macro introduces. */
export const typeOf = (node: Node): CelType | undefined => inside(node).checkedType;

/** The running context of a comprehension after the check. */
export const iterationContext = (node: Node): IterationContext | undefined =>
  inside(node).meta?.alternate?.args.iterCtx;

/**
 * Makes the check of `has(a.b.c)` look at the whole path. The engine's own looks at `a` alone, so that a misspelt field
 * would be absent for ever instead of an error.
 */
export const checkPathOf = (has: Node): void => {
  const macro = inside(has).meta?.macro;
  if (macro === undefined) return;
  const { typeCheck } = macro;
  macro.typeCheck = (checker, self, context) => {
    for (const path of self.args) checker.check(path, context);
    return typeCheck(checker, self, context);
  };
};

/** Puts another value in the place of a literal; the check and the evaluation both see it. */
export const replaceLiteral = (literal: Node, value: unknown): void => {
  (literal as { args: unknown }).args = value;
};

export const comprehensions: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter']);

export interface Comprehension {
  readonly range: Node;
  readonly variable: string;
  readonly body: Node;
}

/** The parts of a comprehension; undefined for every other node. */
export const comprehensionOf = (node: Node): Comprehension | undefined => {
  if (node.op !== 'rcall' || !comprehensions.has(node.args[0])) return undefined;
  const [, range, [name, body, ...rest]] = node.args;
  if (name?.op !== 'id' || body === undefined || rest.length > 0) return undefined;
  return { range, variable: name.args, body };
};

/** The nodes below `node` that are expressions: not the name that a comprehension introduces. */
export const childrenOf = (node: Node): readonly Node[] => {
  const parts = comprehensionOf(node);
  if (parts !== undefined) return [parts.range, parts.body];
  switch (node.op) {
    case 'value':
    case 'id':
      return [];
    case '.':
    case '.?':
      return [node.args[0]];
    case 'call':
      return node.args[1];
    case 'rcall':
      return [node.args[1], ...node.args[2]];
    case 'map':
      return node.args.flat();
    case '!_':
    case '-_':
      return [node.args];
    default:
      return node.args;
  }
};

/** `node` and everything below it. The depth is bounded by the parser's limits. */
export function* nodesOf(node: Node): Generator<Node> {
  yield node;
  for (const child of childrenOf(node)) yield* nodesOf(child);
}
