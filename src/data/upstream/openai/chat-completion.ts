import { parseExactly } from '../../../json/document.ts';
import type { Answer, AnswerBlock, Chunk, Delta } from '../port.ts';
import { fieldsOf, parsedJson } from '../transport/fields.ts';
import { toolUse } from '../transport/tool-use.ts';
import { contentRefused, malformed } from '../transport/upstream-errors.ts';
import { type CallId, ChatMessage, firstChoice } from './chat-message.ts';
import { chatUsage, guessedUsage, readStop } from './usage.ts';

/** @throws UpstreamError `provider_error` for what is no completion, `content_refused` if a filter left nothing */
export const readCompletion = (text: string, mostTokens: number, callId: CallId): Answer => {
  const completion = fieldsOf(parsedJson(text, 'the answer'), 'the answer');
  if (!Array.isArray(completion.choices)) throw malformed('the answer has no choices');
  const choice = firstChoice(completion.choices);
  if (choice === null) throw malformed('the answer has no first choice');
  const { finish_reason: reason, stop_reason: sequence } = choice;
  const isCut = reason === 'length';
  const message = new ChatMessage(callId, true);
  const chunks: Chunk[] = [];
  message.add(fieldsOf(choice.message, 'the message'), text, chunks);
  message.line.end(isCut, chunks);
  const content = contentOf(chunks, isCut);
  const usage = guessedUsage(chatUsage(completion, mostTokens), message.line.bytes);
  if (reason === 'content_filter' && content.length === 0) throw contentRefused(usage);
  const isCalling = content.some(({ type }) => type === 'tool_use');
  return { content, ...readStop(reason, isCalling, sequence), usage };
};

/** @param isCut whether the answer was cut off: an incomplete call is then left out */
const contentOf = (chunks: readonly Chunk[], isCut: boolean): readonly AnswerBlock[] => {
  const blocks: AnswerBlock[] = [];
  const texts: string[] = [];
  for (const chunk of chunks) {
    if (chunk.type === 'block_start') blocks[chunk.index] = chunk.block;
    else if (chunk.type === 'block_delta') texts[chunk.index] = (texts[chunk.index] ?? '') + textIn(chunk.delta);
  }
  return blocks.flatMap((block, index) => {
    const text = texts[index]!;
    if (block.type === 'text') return [{ ...block, text }];
    if (block.type !== 'tool_use') return [{ ...block, thinking: text }] as AnswerBlock[];
    const input = inputOf(text);
    if (input === undefined && isCut && index === blocks.length - 1) return [];
    return [toolUse(block.id, block.name, input)];
  });
};

const textIn = (delta: Delta): string =>
  delta.type === 'text_delta' ? delta.text : delta.type === 'thinking_delta' ? delta.thinking : partialIn(delta);

const partialIn = (delta: Delta): string => (delta.type === 'input_json_delta' ? delta.partial_json : '');

/** Undefined for what is no JSON. Numbers keep their digits. */
export const inputOf = (text: string): unknown => {
  try {
    const values = parseExactly(`[${text}]`) as readonly unknown[];
    return values.length === 1 ? values[0] : undefined;
  } catch {
    return undefined;
  }
};
