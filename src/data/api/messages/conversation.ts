import type { z } from 'zod';
import type { MessageInput } from './content-blocks.ts';
import { maxIssues } from './list-schema.ts';

type Path = (string | number)[];

/** There is a user message, and the turns are those of `checkTurns` (contract G.1). */
export const checkConversation = (messages: readonly MessageInput[], context: z.RefinementCtx): void => {
  checkTurns(messages, context);
  if (!messages.some(({ role }) => role === 'user')) context.addIssue({ ...noUser });
};

/** In other APIs instructions may stand alone (contract G.6). */
export const checkTranslated = (messages: readonly MessageInput[], context: z.RefinementCtx): void => {
  if (messages.some(({ role }) => role !== 'system')) checkConversation(messages, context);
};

const noUser = {
  code: 'custom',
  message: 'At least one message must have the role user.',
  input: undefined,
} as const;

/**
 * Each tool_use has exactly one tool_result in the next user turn (contract G.1, G.2). A turn is a run of one role; paths
 * are as sent. Unspecified: a `system` message does not end a turn, or an operator's note would break a tool loop.
 */
const checkTurns = (messages: readonly MessageInput[], context: z.RefinementCtx): void => {
  let issues = 0;
  const issue = (path: Path, message: string, input: unknown) => {
    issues += 1;
    if (issues <= maxIssues) context.addIssue({ code: 'custom', path, message, input });
  };
  const open = new Map<string, Path>();
  const endTurn = () => {
    for (const [id, path] of open) issue(path, 'The next user turn has no tool_result for this tool_use.', id);
    open.clear();
  };

  let turn: 'user' | 'assistant' | null = null;
  for (const [index, { role, content }] of messages.entries()) {
    if (role === 'system') continue;
    if (role !== 'user' && turn !== 'assistant') endTurn();
    turn = role;
    if (typeof content === 'string') continue;
    for (const [at, block] of content.entries()) {
      if (block.type === 'tool_use') {
        const path = [index, 'content', at, 'id'];
        if (open.has(block.id)) issue(path, 'Another tool_use of this turn has this id.', block.id);
        else open.set(block.id, path);
      } else if (block.type === 'tool_result' && !open.delete(block.tool_use_id)) {
        const path = [index, 'content', at, 'tool_use_id'];
        issue(path, 'No unanswered tool_use of the preceding assistant turn has this id.', block.tool_use_id);
      }
    }
  }
  endTurn();
};

export const someUser = { contains: { properties: { role: { const: 'user' } }, required: ['role'] } };

/** Whether the answer continues the last message (contract G.1). */
export const isPrefilled = (messages: readonly { readonly role: string }[]): boolean =>
  messages.at(-1)?.role === 'assistant';
