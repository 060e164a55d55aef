import type { z } from 'zod';
import { refusal } from '../../../errors.ts';
import { type Document, Kind } from '../../../json/document.ts';
import { named } from '../../../json/names.ts';
import { stateFinder } from '../../questions/kept-state.ts';
import { mostTurns } from '../../questions/served-tools.ts';
import type { PassingRules } from '../../request/passing.ts';
import { walkMessages } from './walk.ts';

/** What an answer takes from its request. */
export interface MessagesSaid {
  readonly managesContext: boolean;
  /** By a translated model, whose upstream may not be able to. */
  readonly omitsThinking: boolean;
}

const { thread, max_tokens: most, context_management: managed } = named('thread', 'max_tokens', 'context_management');
const { mcp_servers: servers, compaction } = named('mcp_servers', 'compaction');

const keptIn = stateFinder({
  members: { container: 'null' },
  anywhere: ['file_id'],
  ownData: ['input', 'text', 'data', 'thinking', 'input_schema', 'input_examples', 'schema', 'metadata'],
});

/** The upstream may call its model to sum up the context. */
const sumsUp = (tape: Document): boolean => {
  const edits = tape.member(0, managed);
  if (edits === -1) return false;
  for (let at = edits; at < tape.next(edits); at++) {
    const isText = tape.kind(at) === Kind.string || tape.kind(at) === Kind.name;
    if (isText && tape.text(at).startsWith('compact')) return true;
  }
  return false;
};

export const passingMessages = (schema: z.ZodObject): PassingRules<MessagesSaid> => ({
  as: 'messages',
  family: 'messages',
  schema,
  state: ['thread', 'container'],
  kept: (tape) =>
    tape.isGiven(tape.member(0, thread)) ? refusal('thread_unsupported_request', { param: 'thread' }) : keptIn(tape),
  conversation: Object.values(named('messages', 'system')),
  walk: walkMessages,
  answer: (tape) => {
    const maxTokens = tape.number(tape.member(0, most)) ?? 0;
    return { maxTokens, grows: false, longest: maxTokens };
  },
  turns: ({ tape, isServed }) => {
    const calls = [servers, compaction].some((name) => tape.isGiven(tape.member(0, name)));
    return isServed || calls || sumsUp(tape) ? mostTurns : 1;
  },
  edits: () => [],
  hidesUsage: () => false,
  said: (tape) => ({ managesContext: tape.isGiven(tape.member(0, managed)), omitsThinking: false }),
});
