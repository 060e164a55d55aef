/** The messages API's words, as short as its clients accept them. */

const words = 'the weir holds the river back and lets as much of it through as the mill can use '.split(' ');

const wordAt = (index: number): string => `${words[index % (words.length - 1)]} `;

const usage = (input: number, output: number) => ({
  input_tokens: input,
  output_tokens: output,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
});

const message = (id: number, model: string, input: number, output: number, text: string | null) => ({
  id: `msg_sim${String(id).padStart(8, '0')}`,
  type: 'message',
  role: 'assistant',
  model,
  content: text === null ? [] : [{ type: 'text', text }],
  stop_reason: text === null ? null : 'end_turn',
  stop_sequence: null,
  usage: usage(input, output),
});

export const answerBody = (id: number, model: string, input: number, tokens: number): string => {
  let text = '';
  for (let i = 0; i < tokens; i++) text += wordAt(i);
  return JSON.stringify(message(id, model, input, tokens, text));
};

const event = (name: string, data: object): string =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`;

export const streamHead = (id: number, model: string, input: number): string =>
  event('message_start', { message: message(id, model, input, 1, null) }) +
  event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });

export const tokenEvent = (index: number): string =>
  event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: wordAt(index) } });

export const streamTail = (input: number, tokens: number): string =>
  event('content_block_stop', { index: 0 }) +
  event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: usage(input, tokens) }) +
  event('message_stop', {});

export const errorBody = (type: string, text: string): string =>
  JSON.stringify({ type: 'error', error: { type, message: text } });
