import type { IncomingMessage, ServerResponse } from 'node:http';

/** What a server of chat completions says, in the test's words. */

export const chunk = (delta: object | null, fields: object = {}): string =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'remote',
    choices: delta === null ? [] : [{ index: 0, delta, logprobs: null, finish_reason: null, ...fields }],
    ...(delta === null && fields),
  })}\n\n`;

export const done = 'data: [DONE]\n\n';

const usage = {
  prompt_tokens: 28,
  completion_tokens: 57,
  total_tokens: 85,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 9 },
};

const called = (index: number, id: string, name: string) => ({
  tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }],
});
const written = (index: number, text: string) => ({ tool_calls: [{ index, function: { arguments: text } }] });

/** A stream with all that an answer can have, in the manner of vLLM. */
export const recorded: readonly string[] = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ reasoning_content: 'Gates, then ' }),
  chunk({ reasoning_content: 'água 😀' }),
  ': a comment\n\n',
  chunk({ content: 'The weir ' }),
  chunk({ content: 'é aqui 😀.' }),
  chunk(called(0, 'call_01', 'open_gate')),
  chunk(written(0, '{"gate":')),
  chunk(written(0, ' 9007199254740993}')),
  chunk(called(1, 'call_02', 'close_gate')),
  chunk({}, { finish_reason: 'tool_calls', stop_reason: null }),
  chunk(null, { usage }),
  done,
];

const expectedUsage = {
  input_tokens: 24,
  output_tokens: 57,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 4,
  reasoning_tokens: 9,
};

/** The same as an answer, with the number as the digits that it has. */
export const recordedAnswer = {
  content: [
    { type: 'thinking', thinking: 'Gates, then água 😀', signature: '' },
    { type: 'text', text: 'The weir é aqui 😀.' },
    { type: 'tool_use', id: 'call_01', name: 'open_gate', input: { gate: 9007199254740993n } },
    { type: 'tool_use', id: 'call_02', name: 'close_gate', input: {} },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: expectedUsage,
};

const recordedMessage = {
  role: 'assistant',
  content: 'The weir é aqui 😀.',
  reasoning_content: 'Gates, then água 😀',
  refusal: null,
  tool_calls: [
    { id: 'call_01', type: 'function', function: { name: 'open_gate', arguments: '{"gate": 9007199254740993}' } },
    { id: 'call_02', type: 'function', function: { name: 'close_gate', arguments: '' } },
  ],
};

export const completion = (message: object, fields: object = {}, over: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'remote',
  choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop', ...fields }],
  usage,
  ...over,
});

export const recordedCompletion = completion(recordedMessage, { finish_reason: 'tool_calls' });

export const bodyOf = async (incoming: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const piece of incoming) text += String(piece);
  return text;
};

export const json = (response: ServerResponse, body: unknown, status = 200) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
};

export const stream = (response: ServerResponse, events: readonly (string | Buffer)[] = recorded) => {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  for (const event of events) response.write(event);
  response.end();
};

/** Answers a request in the way that it asks for. */
export const both =
  (whole: unknown = recordedCompletion, events: readonly string[] = recorded) =>
  (incoming: IncomingMessage, response: ServerResponse): void => {
    void bodyOf(incoming).then((body) => (JSON.parse(body).stream ? stream(response, events) : json(response, whole)));
  };
