import type { RequestText, ResponseText } from './request-text.ts';

/** Answers in the form of an API, as rules of the response direction read them. */

type Json = Readonly<Record<string, unknown>>;
type Block = ResponseText['content'][number];

const objectOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.map(objectOf) : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const numberOf = (value: unknown): number => (Number.isSafeInteger(value) ? (value as number) : 0);

/** In the words of the messages API (contract G.6). */
const stops: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  completed: 'end_turn',
  incomplete: 'max_tokens',
};

const inputOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

const callBlock = (name: unknown, input: string): Block => ({
  type: 'tool_use',
  name: textOf(name),
  input: inputOf(input),
});

const chatBlocks = ({
  content,
  refusal,
  tool_calls: calls,
  role: _,
  reasoning_content: __,
  reasoning: ___,
  ...others
}: Json): Block[] => [
  ...(typeof content === 'string' ? [{ type: 'text', text: content }] : (listOf(content) as unknown as Block[])),
  { type: 'refusal', refusal, ...others },
  ...listOf(calls).map((call) => {
    const { name, arguments: sent } = objectOf(call.function);
    return callBlock(name, textOf(sent));
  }),
];

const outputBlocks = (item: Json): Block[] => {
  if (item.type === 'reasoning') return [];
  if (item.type === 'function_call') return [callBlock(item.name, textOf(item.arguments))];
  return [...(listOf(item.content) as unknown as Block[]), { ...item, type: textOf(item.type), content: null }];
};

/** An answer in one piece. */
export const answerText = (endpoint: RequestText['endpoint'], body: Json): ResponseText => {
  const usage = objectOf(body.usage);
  switch (endpoint) {
    case 'messages':
      return {
        content: listOf(body.content) as unknown as Block[],
        stopReason: textOf(body.stop_reason),
        outputTokens: numberOf(usage.output_tokens),
      };
    case 'chat.completions': {
      const choices = listOf(body.choices);
      const reason = textOf(choices[0]?.finish_reason);
      return {
        content: choices.flatMap(({ message }) => chatBlocks(objectOf(message))),
        stopReason: stops[reason] ?? reason,
        outputTokens: numberOf(usage.completion_tokens),
      };
    }
    case 'responses': {
      const content = listOf(body.output).flatMap(outputBlocks);
      const reason = content.some(({ type }) => type === 'tool_use') ? 'tool_use' : (stops[textOf(body.status)] ?? '');
      return { content, stopReason: reason, outputTokens: numberOf(usage.output_tokens) };
    }
  }
};

/** The data of server-sent events, those that are JSON. */
const eventsIn = (text: string): readonly Json[] =>
  text.split(/\r?\n\r?\n/).flatMap((event) => {
    const data = event
      .split(/\r?\n/)
      .flatMap((line) => (line.startsWith('data:') ? [line.slice(5)] : []))
      .join('\n');
    return data.trim().startsWith('{') ? [objectOf(inputOf(data))] : [];
  });

/** A streamed message put together again. */
const messageOf = (events: readonly Json[]): Json => {
  const blocks = new Map<unknown, Record<string, unknown>>();
  const inputs = new Map<unknown, string>();
  const strange: Json[] = [];
  let reason: unknown;
  let usage: Json = {};
  for (const event of events) {
    const { type, index } = event;
    if (type === 'content_block_start') blocks.set(index, { ...objectOf(event.content_block) });
    else if (type === 'content_block_delta') {
      const delta = objectOf(event.delta);
      const block = blocks.get(index) ?? {};
      blocks.set(index, block);
      if (delta.type === 'text_delta') block.text = textOf(block.text) + textOf(delta.text);
      else if (delta.type === 'input_json_delta')
        inputs.set(index, (inputs.get(index) ?? '') + textOf(delta.partial_json));
      else if (delta.type !== 'thinking_delta' && delta.type !== 'signature_delta') strange.push(delta);
    } else if (type === 'message_delta') {
      reason = objectOf(event.delta).stop_reason ?? reason;
      usage = { ...usage, ...objectOf(event.usage) };
    }
  }
  for (const [index, input] of inputs) blocks.get(index)!.input = inputOf(input);
  return { content: [...blocks.values(), ...strange], stop_reason: reason, usage };
};

interface Choice {
  readonly message: Record<string, unknown>;
  readonly calls: Map<unknown, { readonly name: string; readonly arguments: string }>;
  finish_reason: unknown;
}

/** Streamed choices put together again. */
const completionOf = (events: readonly Json[]): Json => {
  const choices = new Map<unknown, Choice>();
  let usage: unknown;
  for (const event of events) {
    usage = event.usage ?? usage;
    for (const { index, delta, finish_reason } of listOf(event.choices)) {
      const choice: Choice = choices.get(index) ?? { message: {}, calls: new Map(), finish_reason: null };
      choices.set(index, choice);
      choice.finish_reason = finish_reason ?? choice.finish_reason;
      for (const [name, value] of Object.entries(objectOf(delta))) {
        if (typeof value === 'string') choice.message[name] = textOf(choice.message[name]) + value;
        else if (name !== 'tool_calls' && value !== null) choice.message[name] = value;
      }
      for (const call of listOf(objectOf(delta).tool_calls)) {
        const made = objectOf(call.function);
        const known = choice.calls.get(call.index) ?? { name: '', arguments: '' };
        choice.calls.set(call.index, {
          name: known.name + textOf(made.name),
          arguments: known.arguments + textOf(made.arguments),
        });
      }
    }
  }
  const whole = [...choices.values()].map(({ message, calls, finish_reason }) => ({
    message: { ...message, tool_calls: [...calls.values()].map((made) => ({ function: made })) },
    finish_reason,
  }));
  return { choices: whole, usage };
};

/** A streamed answer, by the text of all of its events. */
export const streamedText = (endpoint: RequestText['endpoint'], text: string): ResponseText => {
  const events = eventsIn(text);
  switch (endpoint) {
    case 'messages':
      return answerText(endpoint, messageOf(events));
    case 'chat.completions':
      return answerText(endpoint, completionOf(events));
    case 'responses':
      return answerText(endpoint, objectOf(events.findLast(({ response }) => response !== undefined)?.response));
  }
};
