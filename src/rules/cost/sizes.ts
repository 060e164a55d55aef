import { type RootName, roots } from '../language/variables.ts';
import { constant, type Quantity, size } from './quantity.ts';

/**
 * How large a value can get, as far as the cost of a rule depends on it. Inside a list or map everything is the total
 * over all items: an upper bound for one of them, and exact for all of them in a loop.
 */
export type Shape =
  | { readonly is: 'plain' }
  | { readonly is: 'text'; readonly length: Quantity }
  | { readonly is: 'list'; readonly count: Quantity; readonly item: Shape }
  | { readonly is: 'map'; readonly count: Quantity; readonly key: Shape; readonly value: Shape }
  | { readonly is: 'record'; readonly fields: Readonly<Record<string, Shape>> };

export const plain: Shape = { is: 'plain' };
export const text = (length: Quantity): Shape => ({ is: 'text', length });
/** A number or truth value written as text. */
export const shortText = text(constant(32));

/** The shape of a variable. Its sizes have the variable's name: `request.text`, `request.messages#`, `request.messages.role`. */
export const shapeOfVariable = (path: string): Shape => {
  const [root, field] = path.split('.') as [RootName, string];
  const count = size(`${path}#`);
  switch (roots[root]?.fields[field]) {
    case 'string':
      return text(size(path));
    case 'list<string>':
      return { is: 'list', count, item: text(size(`${path}.item`)) };
    case 'list<Message>':
      return { is: 'list', count, item: recordShape(path, ['role', 'text']) };
    case 'list<ToolCall>':
      return { is: 'list', count, item: recordShape(path, ['name', 'arguments']) };
    case 'map<string, string>':
      return { is: 'map', count, key: text(size(`${path}.key`)), value: text(size(`${path}.value`)) };
    default:
      return plain;
  }
};

const recordShape = (path: string, fields: readonly string[]): Shape => ({
  is: 'record',
  fields: Object.fromEntries(fields.map((field) => [field, text(size(`${path}.${field}`))])),
});
