import { parseExactly } from '../../../json/document.ts';
import type { Answer } from '../port.ts';
import { fieldsOf, parsedJson } from '../transport/fields.ts';
import { contentRefused, malformed } from '../transport/upstream-errors.ts';
import { isToolUse, readBlock, readStop, readUsage } from './anthropic-blocks.ts';

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
