import { type RootName, roots } from '../language/variables.ts';
import { constant, type Quantity, size } from './quantity.ts';

/** The size of a value, as far as costs depend on it. Inside lists and maps sizes are totals over all items. */
export type Shape =
  | { readonly is: 'plain' }
  | { readonly is: 'text'; readonly length: Quantity }
  | { readonly is: 'list'; readonly count: Quantity; readonly item: Shape }
  | { readonly is: 'map'; readonly count: Quantity; readonly key: Shape; readonly value: Shape }
  | { readonly is: 'record'; readonly fields: Readonly<Record<string, Shape>> };

export const plain: Shape = { is: 'plain' };
export const text = (length: Quantity): Shape => ({ is: 'text', length });
export const shortText = text(constant(32));

/** Named after the variable: `request.text`, `request.messages#`, `request.messages.role`. */
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
