/**
 * Every reach into what `@marcbachmann/cel-js` neither exports nor documents: notes of its check on the nodes of a tree, and
 * changes of a tree between parsing and the check. Nobody else reaches there. A test fails when another version is installed;
 * what to look at then are `parser.js`, `macros.js` and `type-checker.js` of the package.
 */
import type { Node } from './tree.ts';

/** The version that all this was checked against. */
export const checkedCel = '8.0.0';

/** A static type as the engine notes it on the node. */
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
  args: unknown;
  readonly checkedType?: CelType;
  readonly meta?: {
    readonly macro?: Macro;
    readonly alternate?: { readonly op: string; readonly args: { readonly iterCtx?: IterationContext } };
  };
}
const inside = (node: Node): Inside => node as Inside;

/** The type that the check found; undefined before it, and on names that a macro introduces. */
export const typeOf = (node: Node): CelType | undefined => inside(node).checkedType;

/** What lets go of the last item that a comprehension has seen; undefined before the check, and on every other node. */
export const forgetterOf = (node: Node): (() => void) | undefined => {
  const context = inside(node).meta?.alternate?.args.iterCtx;
  if (context === undefined) return undefined;
  return () => {
    context.iterValue = undefined;
    context.accuValue = undefined;
    context.reuse(undefined);
  };
};

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
  inside(literal).args = value;
};

/** Has a method called by another name; the check and the evaluation both see it. */
export const renameMethod = (call: Node & { readonly op: 'rcall' }, name: string): void => {
  call.args[0] = name;
};
