import { typeOf } from './cel-internals.ts';
import { type Node, nodesOf } from './tree.ts';

const times = ['google.protobuf.Timestamp', 'google.protobuf.Duration'];
const addable: ReadonlySet<string> = new Set(['int', 'double', ...times]);

/**
 * What the types of a checked tree forbid (contract H): `+` on strings and lists, which could
 * double a text again and again, and any value whose type only the evaluation would know.
 * Returns an offset and the reason, else null.
 */
export const judgeTypes = (tree: Node): { readonly at: number; readonly message: string } | null => {
  for (const node of nodesOf(tree)) {
    const type = typeOf(node);
    // Nothing that runs is without a type after the check: if the engine ever noted it elsewhere, nothing would pass.
    if (type === undefined || type.hasDynType || type.kind === 'param') {
      return { at: node.start, message: 'The type of this expression is not known.' };
    }
    if (node.op === '+' && !node.args.every((operand) => addable.has(typeOf(operand)?.name ?? ''))) {
      return { at: node.start, message: '"+" adds numbers and times only.' };
    }
  }
  return null;
};
