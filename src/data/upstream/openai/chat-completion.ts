import { parseExactly } from '../../../json/document.ts';
import { writtenBytesOf } from '../estimate.ts';
import type { Answer, AnswerBlock } from '../port.ts';
import { type Fields, fieldsOf, parsedJson, stringOf } from '../transport/fields.ts';
import { toolUse } from '../transport/tool-use.ts';
import { contentRefused, malformed } from '../transport/upstream-errors.ts';
import { chatUsage, guessedUsage, readStop } from './usage.ts';

export type CallId = (index: number) => string;

/** @throws UpstreamError `provider_error` for what is no completion, `content_refused` if a filter left nothing */
export const readCompletion = (text: string, mostTokens: number, callId: CallId): Answer => {
  const completion = fieldsOf(parsedJson(text, 'the answer'), 'the answer');
  if (!Array.isArray(completion.choices)) throw malformed('the answer has no choices');
  const choice = firstChoice(completion.choices);
  if (choice === null) throw malformed('the answer has no first choice');
  const message = fieldsOf(choice.message, 'the message');
  const { finish_reason: reason, stop_reason: sequence } = choice;
  const calls = callsOf(message.tool_calls, reason === 'length', callId);
  const content = [...saidIn(message), ...calls];
  const usage = guessedUsage(chatUsage(completion, mostTokens), writtenBytesOf(content));
  if (reason === 'content_filter' && content.length === 0) throw contentRefused(usage);
  return {
    content,
    ...readStop(reason, calls.length > 0, sequence),
    usage,
  };
};

/** Further choices are ignored. */
export const firstChoice = (choices: readonly unknown[]): Fields | null =>
  choices.map((choice) => fieldsOf(choice, 'a choice')).find(({ index }) => index == null || index === 0) ?? null;

/** Null if no field of the known servers has text. */
export const textIn = (message: Fields): string | null => {
  const { content, refusal } = message;
  const text = Array.isArray(content) ? content.map(partText).join('') : content;
  if (text != null && text !== '') return stringOf(text, 'content');
  return refusal != null && refusal !== '' ? stringOf(refusal, 'refusal') : null;
};

const partText = (part: unknown): string => {
  const { type, text } = fieldsOf(part, 'a part');
  return type === 'text' ? stringOf(text, 'text') : '';
};

export const thoughtIn = ({ reasoning_content, reasoning }: Fields): string | null => {
  const thought = reasoning_content ?? reasoning;
  return thought == null || thought === '' ? null : stringOf(thought, 'reasoning');
};

const saidIn = (message: Fields): readonly AnswerBlock[] => {
  const [thinking, text] = [thoughtIn(message), textIn(message)];
  return [
    ...(thinking === null ? [] : [{ type: 'thinking', thinking, signature: '' } as const]),
    ...(text === null ? [] : [{ type: 'text', text } as const]),
  ];
};

/** @param isCut whether the answer was cut off: an incomplete call is then left out */
const callsOf = (calls: unknown, isCut: boolean, callId: CallId): readonly AnswerBlock[] => {
  if (calls == null) return [];
  if (!Array.isArray(calls)) throw malformed('tool_calls is not a list');
  return calls.flatMap((each, index) => {
    const call = fieldsOf(each, 'a call');
    const { name, arguments: said } = fieldsOf(call.function, 'function');
    const input = argumentsOf(said);
    if (input === undefined && isCut && index === calls.length - 1) return [];
    return [toolUse(call.id == null || call.id === '' ? callId(index) : call.id, name, input)];
  });
};

/** Undefined for what is no JSON. Numbers keep their digits. */
export const argumentsOf = (said: unknown): unknown => {
  if (said == null || said === '') return {};
  if (typeof said !== 'string') return said;
  try {
    const values = parseExactly(`[${said}]`) as readonly unknown[];
    return values.length === 1 ? values[0] : undefined;
  } catch {
    return undefined;
  }
};
