import { parseExactly } from '../../../json/document.ts';
import { ownCallId } from '../call-ids.ts';
import type { Answer, AnswerBlock, StopReason } from '../port.ts';
import { type Fields, fieldsOf, parsedJson, stringOf } from '../transport/fields.ts';
import { toolUse } from '../transport/tool-use.ts';
import { contentRefused, malformed } from '../transport/upstream-errors.ts';
import { readUsage } from './usage.ts';

export const isToolUse = (block: unknown): boolean =>
  typeof block === 'object' && block !== null && (block as Fields).type === 'tool_use';

/** Null for block types outside contract G.3, such as an upstream's own tools. @throws UpstreamError */
export const readBlock = (value: unknown): AnswerBlock | null => {
  const block = fieldsOf(value, 'a content block');
  switch (block.type) {
    case 'text':
      return { type: 'text', text: stringOf(block.text ?? '', 'text') };
    case 'thinking':
      return {
        type: 'thinking',
        thinking: stringOf(block.thinking ?? '', 'thinking'),
        signature: stringOf(block.signature ?? '', 'signature'),
      };
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: stringOf(block.data, 'data') };
    case 'tool_use': {
      const call = toolUse(block.id, block.name, block.input ?? {});
      return { ...call, id: ownCallId(call.id) };
    }
    default:
      stringOf(block.type, 'the type of a content block');
      return null;
  }
};

export interface Stop {
  readonly stop_reason: StopReason;
  readonly stop_sequence: string | null;
}

/** Every unknown reason is an end of turn; a full context is `max_tokens` (contract G.3). */
export const readStop = (reason: unknown, sequence: unknown): Stop => {
  switch (reason) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return { stop_reason: 'max_tokens', stop_sequence: null };
    case 'tool_use':
      return { stop_reason: 'tool_use', stop_sequence: null };
    case 'stop_sequence':
      if (typeof sequence === 'string') return { stop_reason: 'stop_sequence', stop_sequence: sequence };
      return { stop_reason: 'end_turn', stop_sequence: null };
    default:
      return { stop_reason: 'end_turn', stop_sequence: null };
  }
};

/** @throws UpstreamError `provider_error` for what is no message, `content_refused` if it has only a refusal */
export const readMessage = (text: string, mostTokens: number): Answer => {
  const message = fieldsOf(parsedJson(text, 'the answer'), 'the answer');
  if (message.type !== 'message' || !Array.isArray(message.content)) throw malformed('the answer is not a message');
  const blocks = message.content.some(isToolUse) ? (parseExactly(text) as typeof message).content : message.content;
  const content = (blocks as unknown[]).map(readBlock).filter((block) => block !== null);
  const usage = readUsage(message.usage, mostTokens);
  if (message.stop_reason === 'refusal' && content.length === 0) throw contentRefused(usage);
  const { stop_reason, stop_sequence } = readStop(message.stop_reason, message.stop_sequence);
  return { content, stop_reason, stop_sequence, usage };
};
