/**
 * All uses of undocumented parts of `@marcbachmann/cel-js`: the type notes on checked trees, and changes between parsing and
 * checking. A test fails for other versions; check `parser.js`, `macros.js` and `type-checker.js` of the package then.
 */
import type { Node } from './tree.ts';

export const checkedCel = '8.0.0';

interface CelType {
  /** Such as `string`, `list<Message>` or `google.protobuf.Timestamp`. */
  readonly name: string;
  /** `primitive`, `list`, `map`, `message`, `dyn`; `param` for the item of an empty list. */
  readonly kind: string;
  /** A part of the type is known only at run time. */
  readonly hasDynType: boolean;
}

/** Keeps the last item of a comprehension alive. */
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

/** The checked type; undefined before the check and on names that a macro introduces. */
export const typeOf = (node: Node): CelType | undefined => inside(node).checkedType;

/** Releases the last item of a comprehension; undefined for other nodes and before the check. */
export const forgetterOf = (node: Node): (() => void) | undefined => {
  const context = inside(node).meta?.alternate?.args.iterCtx;
  if (context === undefined) return undefined;
  return () => {
    context.iterValue = undefined;
    context.accuValue = undefined;
    context.reuse(undefined);
  };
};

/** Makes `has(a.b.c)` check the whole path. The engine checks only `a`, so that a misspelt field would just be absent. */
export const checkPathOf = (has: Node): void => {
  const macro = inside(has).meta?.macro;
  if (macro === undefined) return;
  const { typeCheck } = macro;
  macro.typeCheck = (checker, self, context) => {
    for (const path of self.args) checker.check(path, context);
    return typeCheck(checker, self, context);
  };
};

export const replaceLiteral = (literal: Node, value: unknown): void => {
  inside(literal).args = value;
};

export const renameMethod = (call: Node & { readonly op: 'rcall' }, name: string): void => {
  call.args[0] = name;
};
