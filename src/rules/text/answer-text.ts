import type { TextApi } from '../../apis.ts';
import { Kind, parseExactly, lentDocument as tape } from '../../json/document.ts';
import { ExactNumber } from '../../json/exact-number.ts';
import { withoutRepeats } from './answer-marks.ts';
import type { ResponseText } from './request-text.ts';

// Answers of all APIs as rules of the response direction read them.

export type Json = Readonly<Record<string, unknown>>;
type Block = ResponseText['content'][number];

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const objectOf = (value: unknown): Json => (isObject(value) ? value : {});
export const listOf = (value: unknown): readonly Json[] =>
  Array.isArray(value) ? value.map((item) => (isObject(item) ? item : { text: item })) : [];
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const numberOf = (value: unknown): number => {
  const number = value instanceof ExactNumber ? Number(value) : value;
  return Number.isSafeInteger(number) ? (number as number) : 0;
};

/** In the terms of the messages API (contract G.6). */
const stops: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  completed: 'end_turn',
  incomplete: 'max_tokens',
};

/** The parsed JSON, or the text itself. */
export const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

/** The arguments of a call: JSON with the digits of its numbers, or the text if it is invalid or has repeated members. */
export const inputOf = (text: string): unknown =>
  // One level down, where numbers keep their digits.
  tape.scanText(text) && !tape.hasRepeats ? (parseExactly(`[${text}]`) as readonly [unknown])[0] : text;

const blockOf = (value: Json): Block => (typeof value.type === 'string' ? (value as Block) : { ...value, type: '' });
const blocksOf = (content: unknown): Block[] =>
  typeof content === 'string'
    ? [{ type: 'text', text: content }]
    : Array.isArray(content)
      ? content.flatMap((part) => blocksOf(part))
      : isObject(content)
        ? [blockOf(content)]
        : [];

interface Parts {
  readonly content: Block[];
  readonly others: unknown[];
}

/** A call in the form of chat completions, directly or in a member named after its type. */
const readCall = ({ content, others }: Parts, call: Json): void => {
  const { function: made, custom, ...rest } = call;
  const own = isObject(made) ? made : isObject(custom) ? custom : call;
  const { name, arguments: sent, input, ...more } = own;
  content.push({
    type: 'tool_use',
    name: textOf(name),
    input: typeof sent === 'string' ? inputOf(sent) : (sent ?? input),
  });
  others.push(more, ...(own === call ? [] : [rest]), ...(own === custom ? [made] : []));
};

const readMessage = (parts: Parts, message: Json): void => {
  const { content, refusal, tool_calls: calls, function_call: legacy, ...others } = message;
  parts.content.push(...blocksOf(content));
  if (typeof refusal === 'string') parts.content.push({ type: 'refusal', refusal });
  if (Array.isArray(calls)) for (const call of listOf(calls)) readCall(parts, call);
  else parts.others.push(calls);
  if (isObject(legacy)) readCall(parts, legacy);
  // Reasoning, transcripts of audio, sources, and unknown members.
  parts.others.push(others);
};

const readItem = (parts: Parts, item: Json): void => {
  const { type } = item;
  if (type === 'function_call' || type === 'custom_tool_call') readCall(parts, item);
  else if (type === 'message') {
    const { content, ...others } = item;
    parts.content.push(...blocksOf(content));
    parts.others.push(others);
  } else {
    parts.others.push(item);
    if (typeof type !== 'string' || !type.endsWith('_call')) return;
    // The input of a provider's tool is text, too.
    const { name, arguments: sent, action } = item;
    const input = typeof sent === 'string' ? inputOf(sent) : action;
    parts.content.push({ type: 'tool_use', name: textOf(name ?? type.slice(0, -'_call'.length)), input });
  }
};

type Told = ResponseText & { readonly others: readonly unknown[] };

const messageText = ({ content, stop_reason, usage, id: _, model: __, ...others }: Json): Told => ({
  content: blocksOf(content),
  stopReason: textOf(stop_reason),
  outputTokens: numberOf(objectOf(usage).output_tokens),
  others: [others, { stop_reason, usage }],
});

const completionText = ({ choices, usage, id: _, model: __, ...others }: Json): Told => {
  const parts: Parts = { content: [], others: [others, usage] };
  const all = listOf(choices);
  for (const { message, text, ...more } of all) {
    if (isObject(message)) readMessage(parts, message);
    else parts.others.push(message);
    parts.content.push(...blocksOf(text));
    parts.others.push(more);
  }
  const reason = textOf(all[0]?.finish_reason);
  return { ...parts, stopReason: stops[reason] ?? reason, outputTokens: numberOf(objectOf(usage).completion_tokens) };
};

const responseText = ({ output, usage, id: _, model: __, ...others }: Json): Told => {
  const parts: Parts = { content: [], others: [withoutRepeats(others), usage] };
  const items = listOf(output);
  for (const item of items) readItem(parts, item);
  const isCalling = items.some(({ type }) => type === 'function_call' || type === 'custom_tool_call');
  return {
    ...parts,
    stopReason: isCalling ? 'tool_use' : (stops[textOf(others.status)] ?? ''),
    outputTokens: numberOf(objectOf(usage).output_tokens),
  };
};

const readers = { messages: messageText, 'chat.completions': completionText, responses: responseText };

export const answerOf = (endpoint: TextApi, body: Json, beside: readonly unknown[]): ResponseText => {
  const told = readers[endpoint](body);
  return { ...told, others: [...told.others, ...beside] };
};

export const answerText = (endpoint: TextApi, document: string): ResponseText => {
  const body = parseExactly(document);
  return answerOf(endpoint, objectOf(body), isObject(body) ? hiddenIn(document) : [body]);
};

/** The strings of a document with repeated members, which parsing would lose; usually none. */
export const hiddenIn = (document: string): readonly string[] => {
  const hidden: string[] = [];
  // Nearly always one scan tells, because contract A.3 accepts no repeated members.
  if (tape.scan(Buffer.from(`{"":${document}}`)) || !tape.scanText(document) || !tape.hasRepeats) return hidden;
  for (let at = 0, end = tape.next(0); at < end; at++) {
    if (tape.kind(at) === Kind.name || tape.kind(at) === Kind.string) hidden.push(tape.text(at));
  }
  return hidden;
};
