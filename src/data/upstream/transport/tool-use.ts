import type { ToolUseBlock } from '../port.ts';
import { fieldsOf, stringOf } from './fields.ts';
import { maxDepth } from './limits.ts';
import { malformed } from './upstream-errors.ts';

/** Ids and names come back in requests and logs, so malformed ones are refused. @throws UpstreamError */
export const toolUse = (theirId: unknown, theirName: unknown, theirInput: unknown): ToolUseBlock => {
  const [id, name] = [stringOf(theirId, 'id'), stringOf(theirName, 'name')];
  if (!/^[\x21-\x7e]{1,256}$/.test(id)) throw malformed('the id of a tool call has strange characters');
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(name)) throw malformed('the name of a called tool has strange characters');
  const input = fieldsOf(theirInput, 'the input of a tool call');
  // JSON.stringify overflows the stack on depths that JSON.parse takes.
  if (!isShallow(input, maxDepth)) throw malformed('the input of a tool call is nested too deeply');
  return { type: 'tool_use', id, name, input };
};

const isShallow = (value: unknown, levels: number): boolean => {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((field) => isShallow(field, levels - 1));
};
