import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../src/clock.ts';
import { type ConnectedModel, connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';

/** A provider that speaks all three APIs, and counts tokens as a test wants it to. */

/** What it says of one request. */
export interface Said {
  readonly text: string;
  /** Its `usage`, in the words of the API; undefined for none. */
  readonly usage: unknown;
  /** What else it says: members of the answer, of responses also items before its text. */
  readonly beside?: Readonly<Record<string, unknown>>;
  readonly items?: readonly unknown[];
}
type Body = Readonly<Record<string, unknown>>;

const event = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const chunk = (choices: readonly object[], fields: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'r', choices, ...fields })}\n\n`;
/** Beside the text there is much that nobody wrote. */
const logprobs = {
  content: Array.from({ length: 40 }, () => ({ token: 'aaaaaaaa', logprob: -0.125, top_logprobs: [] })),
};
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'r',
  stop_reason: 'end_turn',
  stop_sequence: null,
};

const forms: Readonly<Record<string, { whole(said: Said): object; events(said: Said): readonly string[] }>> = {
  '/v1/messages': {
    whole: ({ text, usage }) => ({
      ...message,
      content: [{ type: 'text', text, citations: ['x'.repeat(900)] }],
      usage,
    }),
    events: ({ text, usage }) => [
      event('message_start', { message: { ...message, content: [], usage: { input_tokens: 0, output_tokens: 1 } } }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
      event('content_block_stop', { index: 0 }),
      event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage }),
      event('message_stop', {}),
    ],
  },
  '/v1/chat/completions': {
    whole: ({ text, usage, beside }) => ({
      ...beside,
      id: 'c',
      object: 'chat.completion',
      model: 'r',
      choices: [{ index: 0, message: { role: 'assistant', content: text }, logprobs, finish_reason: 'stop' }],
      usage,
    }),
    events: ({ text, usage, beside }) => [
      chunk([{ index: 0, delta: { role: 'assistant', content: '' } }]),
      chunk([{ index: 0, delta: { content: text }, logprobs }]),
      chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
      ...(usage === undefined ? [] : [chunk([], { ...beside, usage })]),
      'data: [DONE]\n\n',
    ],
  },
  '/v1/responses': {
    whole: (said) => response(said),
    events: (said) => [
      event('response.created', { response: { ...response(said), status: 'in_progress', output: [], usage: null } }),
      event('response.output_text.delta', { item_id: 'msg_1', delta: said.text, logprobs: [logprobs] }),
      event('response.completed', { response: response(said) }),
    ],
  },
};

const response = ({ text, usage, beside, items = [] }: Said) => ({
  ...beside,
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'r',
  output: [...items, { id: 'msg_1', type: 'message', content: [{ type: 'output_text', text, logprobs: [logprobs] }] }],
  usage,
});

export const paths = Object.keys(forms);

/** @param entry what each of its two models, `messages` and `others`, declares beside its place */
export const speakingUpstream = async (answer: (path: string, body: Body) => Said, entry: object = {}) => {
  const reply = (path: string, body: Body, out: ServerResponse): void => {
    const said = answer(path, body);
    const isStreamed = body.stream === true;
    out.writeHead(200, { 'content-type': isStreamed ? 'text/event-stream' : 'application/json' });
    if (!isStreamed) out.end(JSON.stringify(forms[path]!.whole(said)));
    else out.end(forms[path]!.events(said).join(''));
  };
  const server = createServer(async (incoming, out) => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    reply(incoming.url!, JSON.parse(Buffer.concat(pieces).toString()) as Body, out);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const at = { base_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, private_network: true };
  const remote = { ...at, api_key_env: 'KEY', model: 'r' };
  const declared = [
    { id: 'messages', upstream: { kind: 'anthropic', ...remote } },
    { id: 'others', upstream: { kind: 'openai', ...remote, apis: ['chat', 'responses'] } },
    { id: 'own', passthrough: false, upstream: { kind: 'anthropic', ...remote } },
    { id: 'answers', upstream: { kind: 'openai', ...remote, apis: ['responses'] } },
    { id: 'translated', passthrough: false, upstream: { kind: 'openai', ...remote } },
  ].map((each) => ({ context_length: 5_000, max_output_length: 4_500, ...entry, ...each }));
  const loaded = loadModels(JSON.stringify({ models: declared }), { KEY: 'sk-canary-aa01' });
  const connected = connect(loaded, { clock: systemClock });
  return {
    models: connected as ReadonlyMap<string, ConnectedModel>,
    async close() {
      await connected.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** The model that passes requests of an API on. */
export const modelFor = (path: string): string => (path === '/v1/messages' ? 'messages' : 'others');
