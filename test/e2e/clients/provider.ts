import type { ServerResponse } from 'node:http';
import { argumentsFor, askedFor, halves, json, type Provider, serveProvider, wordEvery } from './provider-server.ts';

/**
 * A provider of the messages API, for models that pass requests on: it answers as hosted ones do, with server tools,
 * citations, signed thinking and cached tokens, and is as strict as they are about what comes back to it.
 */

interface Body {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages: readonly { readonly role: string; readonly content: string | readonly Block[] }[];
  readonly tools?: readonly { readonly type?: string; readonly name: string }[];
  readonly tool_choice?: { readonly type: string; readonly name?: string };
  readonly thinking?: { readonly type: string };
  readonly output_config?: { readonly format?: object };
  /** By its name in an earlier beta. */
  readonly output_format?: object;
  readonly [field: string]: unknown;
}

interface Block {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What thinking is signed with: it has to come back as it was. */
const signature = 'c2lnbmVkIGJ5IHRoZSBwcm92aWRlcg==';
/** Where the provider has found something. */
const found = { type: 'web_search_result', url: 'https://weirs.example/', title: 'Weirs', encrypted_content: 'ZW5j' };

export const startProvider = (): Promise<Provider<Body>> =>
  serveProvider<Body>({
    said: ({ messages }) => textOf(messages.findLast(({ role }) => role === 'user')!.content),
    overload: 529,
    refuse,
    slowly,
    answer: (response, body, { said, path }) => {
      if (path.startsWith('/v1/messages/count_tokens')) return json(response, 200, { input_tokens: 21 });
      if (!isAsItWas(body)) return refuse(response, 400, 'invalid_request_error', 'The signature is not ours.');
      const answer = answerTo(body, said);
      return body.stream === true ? stream(response, answer) : json(response, 200, answer);
    },
  });

const refuse = (response: ServerResponse, status: number, type: string, message: string, headers = {}): void =>
  json(response, status, { type: 'error', error: { type, message }, request_id: 'req_theirs' }, headers);

const blocksOf = (content: string | readonly Block[]): readonly Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content;

const textOf = (content: string | readonly Block[]): string =>
  blocksOf(content)
    .filter(({ type }) => type === 'text')
    .map(({ text }) => text)
    .join(' ');

/** Whether what the provider has thought and found comes back unchanged. */
const isAsItWas = ({ messages }: Body): boolean =>
  messages
    .flatMap(({ content }) => blocksOf(content))
    .every(({ type, ...block }) => type !== 'thinking' || block.signature === signature);

const answerTo = (body: Body, said: string) => {
  const content = contentOf(body, said);
  const last = content.at(-1)!;
  const isRefusal = said.startsWith('Refuse');
  return {
    id: 'msg_theirs',
    type: 'message',
    role: 'assistant',
    model: body.model,
    content,
    stop_reason: isRefusal ? 'refusal' : last.type === 'tool_use' ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    ...(isRefusal && { stop_details: { type: 'refusal', category: 'cyber', explanation: 'Not this.' } }),
    usage: {
      input_tokens: 21,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: JSON.stringify(body).includes('"cache_control":{') ? 100 : 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      output_tokens: 10,
      service_tier: 'standard',
      inference_geo: 'eu',
      ...(last.citations !== undefined && { server_tool_use: { web_search_requests: 1, web_fetch_requests: 0 } }),
    },
  };
};

const contentOf = (body: Body, said: string): Block[] => {
  const { tools = [], tool_choice: choice, messages, thinking, output_config: output, output_format: early } = body;
  const thought: Block[] =
    thinking === undefined || thinking.type === 'disabled'
      ? []
      : [{ type: 'thinking', thinking: 'Gates, then água 😀.', signature }];
  const results = blocksOf(messages.at(-1)!.content).filter(({ type }) => type === 'tool_result');
  if (results.length > 0) {
    return [text(`The tool said: ${results.map(({ content }) => textOf(content as string | Block[])).join(' ')}`)];
  }
  if (tools.some(({ type }) => type?.startsWith('web_search'))) return searched();
  const names = tools.map(({ name }) => name);
  const called = choice?.name ?? askedFor(said, names, choice?.type === 'any');
  if (called !== undefined) {
    const input = argumentsFor(said, called) ?? (called === 'weather' ? { city: 'Lisbon' } : person);
    return [...thought, { type: 'tool_use', id: 'toolu_theirs', name: called, input }];
  }
  if ((output?.format ?? early) !== undefined) return [...thought, text(JSON.stringify(person))];
  if (JSON.stringify(messages).includes('"citations":{"enabled":true}')) return [...thought, quoted()];
  return [...thought, text('Hello from the provider.')];
};

const person = { name: 'Ada', age: 36 };
const text = (words: string): Block => ({ type: 'text', text: words });

const quoted = (): Block => ({
  type: 'text',
  text: 'Weirs hold water back.',
  citations: [
    {
      type: 'char_location',
      cited_text: 'A weir holds water back.',
      document_index: 0,
      document_title: 'On weirs',
      start_char_index: 0,
      end_char_index: 24,
      file_id: null,
    },
  ],
});

const searched = (): Block[] => [
  {
    type: 'server_tool_use',
    id: 'srvtoolu_1',
    name: 'web_search',
    input: { query: 'weirs' },
    caller: { type: 'direct' },
  },
  { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [found], caller: { type: 'direct' } },
  {
    type: 'text',
    text: 'There are many.',
    citations: [
      {
        type: 'web_search_result_location',
        url: found.url,
        title: found.title,
        cited_text: 'many',
        encrypted_index: 'aW5k',
      },
    ],
  },
];

const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

const stream = (response: ServerResponse, answer: ReturnType<typeof answerTo>): void => {
  const { content, usage, stop_reason, stop_sequence, ...message } = answer;
  const began = {
    ...message,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 1 },
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(event('message_start', { message: began }));
  response.write(event('ping'));
  for (const [index, block] of content.entries()) {
    const { start, deltas } = inSteps(block);
    response.write(event('content_block_start', { index, content_block: start }));
    for (const delta of deltas) response.write(event('content_block_delta', { index, delta }));
    response.write(event('content_block_stop', { index }));
  }
  response.write(event('message_delta', { delta: { stop_reason, stop_sequence }, usage }));
  response.end(event('message_stop'));
};

/** A block as it is streamed: what stands at its start, and the deltas which complete it. */
const inSteps = (block: Block): { readonly start: Block; readonly deltas: readonly Block[] } => {
  switch (block.type) {
    case 'text':
      return {
        start: { type: 'text', text: '' },
        deltas: [
          ...((block.citations ?? []) as Block[]).map((citation) => ({ type: 'citations_delta', citation })),
          ...halves(block.text as string).map((half) => ({ type: 'text_delta', text: half })),
        ],
      };
    case 'thinking':
      return {
        start: { type: 'thinking', thinking: '', signature: '' },
        deltas: [
          ...halves(block.thinking as string).map((half) => ({ type: 'thinking_delta', thinking: half })),
          { type: 'signature_delta', signature: block.signature },
        ],
      };
    case 'tool_use':
    case 'server_tool_use':
      return {
        start: { ...block, input: {} },
        deltas: halves(JSON.stringify(block.input)).map((half) => ({ type: 'input_json_delta', partial_json: half })),
      };
    default:
      return { start: block, deltas: [] };
  }
};

/** A stream that goes on until its reader leaves. */
const slowly = (response: ServerResponse, { model }: Body): void => {
  const message = {
    id: 'msg_theirs',
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    usage: { input_tokens: 21 },
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(event('message_start', { message }));
  response.write(event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }));
  const delta = event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'word ' } });
  wordEvery(response, delta);
};
