import { typeOf } from './cel-internals.ts';
import { type Node, nodesOf } from './tree.ts';

const times = ['google.protobuf.Timestamp', 'google.protobuf.Duration'];
const addable: ReadonlySet<string> = new Set(['int', 'double', ...times]);

/** Refuses `+` on strings and lists, which could double a text repeatedly, and types known only at run time (contract H). */
export const judgeTypes = (tree: Node): { readonly at: number; readonly message: string } | null => {
  for (const node of nodesOf(tree)) {
    const type = typeOf(node);
    // If the engine moved its notes, every rule would be refused.
    if (type === undefined || type.hasDynType || type.kind === 'param') {
      return { at: node.start, message: 'The type of this expression is not known.' };
    }
    if (node.op === '+' && !node.args.every((operand) => addable.has(typeOf(operand)?.name ?? ''))) {
      return { at: node.start, message: '"+" adds numbers and times only.' };
    }
  }
  return null;
};
