/** The words of the three APIs, as short as their clients accept them. */

/** Of one answer. */
export interface Asked {
  readonly id: number;
  readonly model: string;
  readonly inputTokens: number;
}

/** How an API writes an answer, whole or as events. */
export interface Speech {
  whole(asked: Asked, tokens: number): string;
  head(asked: Asked): string;
  token(asked: Asked, index: number): string;
  tail(asked: Asked, tokens: number): string;
}

const words = 'the weir holds the river back and lets as much of it through as the mill can use '.split(' ');

const wordAt = (index: number): string => `${words[index % (words.length - 1)]} `;

const textOf = (tokens: number): string => {
  let text = '';
  for (let i = 0; i < tokens; i++) text += wordAt(i);
  return text;
};

const numbered = (prefix: string, id: number): string => `${prefix}sim${String(id).padStart(8, '0')}`;

const event = (name: string, data: object): string =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`;

const usage = (input: number, output: number) => ({
  input_tokens: input,
  output_tokens: output,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
});

const message = ({ id, model, inputTokens }: Asked, output: number, text: string | null) => ({
  id: numbered('msg_', id),
  type: 'message',
  role: 'assistant',
  model,
  content: text === null ? [] : [{ type: 'text', text }],
  stop_reason: text === null ? null : 'end_turn',
  stop_sequence: null,
  usage: usage(inputTokens, output),
});

const messages: Speech = {
  whole: (asked, tokens) => JSON.stringify(message(asked, tokens, textOf(tokens))),
  head: (asked) =>
    event('message_start', { message: message(asked, 1, null) }) +
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  token: (_, index) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: wordAt(index) } }),
  tail: ({ inputTokens }, tokens) =>
    event('content_block_stop', { index: 0 }) +
    event('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: usage(inputTokens, tokens),
    }) +
    event('message_stop', {}),
};

const chatUsage = (input: number, output: number) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
});

const created = 1_790_000_000;

const chunk = ({ id, model }: Asked, choices: readonly object[], more: object = {}): string => {
  const head = { id: numbered('chatcmpl-', id), object: 'chat.completion.chunk', created, model };
  return `data: ${JSON.stringify({ ...head, choices, ...more })}\n\n`;
};

const delta = (asked: Asked, said: object, finish_reason: string | null = null): string =>
  chunk(asked, [{ index: 0, delta: said, finish_reason }]);

const chat: Speech = {
  whole: ({ id, model, inputTokens }, tokens) => {
    const said = { role: 'assistant', content: textOf(tokens) };
    return JSON.stringify({
      id: numbered('chatcmpl-', id),
      object: 'chat.completion',
      created,
      model,
      choices: [{ index: 0, message: said, finish_reason: 'stop' }],
      usage: chatUsage(inputTokens, tokens),
    });
  },
  head: (asked) => delta(asked, { role: 'assistant', content: '' }),
  token: (asked, index) => delta(asked, { content: wordAt(index) }),
  tail: (asked, tokens) =>
    `${delta(asked, {}, 'stop') + chunk(asked, [], { usage: chatUsage(asked.inputTokens, tokens) })}data: [DONE]\n\n`,
};

const item = (id: number, text: string) => ({
  id: numbered('msg_', id),
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
});

const response = ({ id, model, inputTokens }: Asked, tokens: number | null) => ({
  id: numbered('resp_', id),
  object: 'response',
  created_at: created,
  status: tokens === null ? 'in_progress' : 'completed',
  model,
  output: tokens === null ? [] : [item(id, textOf(tokens))],
  usage: tokens && { input_tokens: inputTokens, output_tokens: tokens, total_tokens: inputTokens + tokens },
});

const responses: Speech = {
  whole: (asked, tokens) => JSON.stringify(response(asked, tokens)),
  head: (asked) =>
    event('response.created', { sequence_number: 0, response: response(asked, null) }) +
    event('response.output_item.added', { sequence_number: 1, output_index: 0, item: item(asked.id, '') }),
  token: ({ id }, index) =>
    event('response.output_text.delta', {
      sequence_number: index + 2,
      item_id: numbered('msg_', id),
      output_index: 0,
      content_index: 0,
      delta: wordAt(index),
    }),
  tail: (asked, tokens) =>
    event('response.output_item.done', {
      sequence_number: tokens + 2,
      output_index: 0,
      item: item(asked.id, textOf(tokens)),
    }) + event('response.completed', { sequence_number: tokens + 3, response: response(asked, tokens) }),
};

/** By the paths that they are asked at. */
export const speeches: Readonly<Record<string, Speech>> = {
  '/v1/messages': messages,
  '/v1/chat/completions': chat,
  '/v1/responses': responses,
};

export const errorBody = (type: string, text: string): string =>
  JSON.stringify({ type: 'error', error: { type, message: text } });
