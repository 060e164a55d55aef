import type { ASTNode } from '@marcbachmann/cel-js';

export type Node = ASTNode;

export const comprehensions: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter']);

export interface Comprehension {
  readonly range: Node;
  readonly variable: string;
  readonly body: Node;
}

export const comprehensionOf = (node: Node): Comprehension | undefined => {
  if (node.op !== 'rcall' || !comprehensions.has(node.args[0])) return undefined;
  const [, range, [name, body, ...rest]] = node.args;
  if (name?.op !== 'id' || body === undefined || rest.length > 0) return undefined;
  return { range, variable: name.args, body };
};

/** Child expressions, without the variable of a comprehension. */
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

/** A node and everything below it. */
export function* nodesOf(node: Node): Generator<Node> {
  yield node;
  for (const child of childrenOf(node)) yield* nodesOf(child);
}
