import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { systemClock } from '../../src/clock.ts';
import { anthropicUpstream } from '../../src/data/upstream/anthropic/anthropic.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import { openaiUpstream } from '../../src/data/upstream/openai/openai.ts';
import type { Upstream } from '../../src/data/upstream/port.ts';
import type { EndpointDependencies } from '../../src/data/upstream/transport/endpoint.ts';

export const apiKey = 'sk-canary-5f0c7d';

export interface Mock {
  readonly url: string;
  /** Connections accepted so far. */
  readonly connections: () => number;
  close(): Promise<void>;
}

const listen = async (server: Server): Promise<Mock> => {
  let connections = 0;
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
};

export const serve = (listener: RequestListener): Promise<Mock> => listen(createServer(listener));

/** Calls `respond` with the raw connection once a whole request has been received on it. */
export const serveRaw = (respond: (socket: Socket) => void): Promise<Mock> =>
  listen(
    createTcpServer((socket) => {
      let received = '';
      socket.on('data', (piece) => {
        received += piece.toString('latin1');
        const end = received.indexOf('\r\n\r\n');
        const length = /content-length: (\d+)/i.exec(received)?.[1];
        if (end < 0 || received.length < end + 4 + Number(length ?? 0)) return;
        received = '';
        respond(socket);
      });
    }),
  );

/** An upstream at this URL, of kind `anthropic` by default. */
export const upstreamAt = (
  url: string,
  over: object = {},
  dependencies: Partial<EndpointDependencies> = {},
): Upstream => {
  const upstream = { kind: 'anthropic', base_url: url, api_key_env: 'KEY', private_network: true, ...over };
  const entry = { id: 'm', context_length: 200_000, max_output_length: 64_000, upstream };
  const declared = loadModels(JSON.stringify({ models: [entry] }), { KEY: apiKey })[0]!.upstreams[0]!.upstream;
  const known = { clock: systemClock, random: () => 0, sleep: () => Promise.resolve(), mostTokens: 200_000 };
  if (declared.kind === 'anthropic') return anthropicUpstream(declared, { ...known, ...dependencies });
  if (declared.kind === 'openai') return openaiUpstream(declared, { ...known, thinks: true, ...dependencies });
  throw new Error('another kind');
};

export const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

const usage = { input_tokens: 21, cache_creation_input_tokens: 3, cache_read_input_tokens: 4, output_tokens: 1 };

/** A stream with every kind of block and delta, and some that this gateway does not know. */
export const recorded: readonly string[] = [
  event('message_start', {
    message: {
      id: 'msg_01',
      type: 'message',
      role: 'assistant',
      model: 'remote',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    },
  }),
  event('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }),
  event('ping'),
  event('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'Gates, then água 😀' } }),
  event('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } }),
  event('content_block_stop', { index: 0 }),
  event('content_block_start', { index: 1, content_block: { type: 'redacted_thinking', data: 'b3BhcXVl' } }),
  event('content_block_stop', { index: 1 }),
  event('content_block_start', {
    index: 2,
    content_block: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
  }),
  event('content_block_delta', { index: 2, delta: { type: 'input_json_delta', partial_json: '{"query":"x"}' } }),
  event('content_block_stop', { index: 2 }),
  event('content_block_start', { index: 3, content_block: { type: 'text', text: '' } }),
  event('content_block_delta', { index: 3, delta: { type: 'text_delta', text: 'The weir ' } }),
  event('content_block_delta', { index: 3, delta: { type: 'citations_delta', citation: { type: 'x' } } }),
  event('content_block_delta', { index: 3, delta: { type: 'text_delta', text: 'é aqui 😀.' } }),
  event('content_block_stop', { index: 3 }),
  event('content_block_start', {
    index: 4,
    content_block: { type: 'tool_use', id: 'toolu_01', name: 'open_gate', input: {} },
  }),
  event('content_block_delta', { index: 4, delta: { type: 'input_json_delta', partial_json: '' } }),
  event('content_block_delta', { index: 4, delta: { type: 'input_json_delta', partial_json: '{"gate":' } }),
  event('content_block_delta', { index: 4, delta: { type: 'input_json_delta', partial_json: ' 3}' } }),
  event('content_block_stop', { index: 4 }),
  event('message_delta', {
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: 57, input_tokens: null },
  }),
  event('message_stop'),
];

export const recordedAnswer = {
  content: [
    { type: 'thinking', thinking: 'Gates, then água 😀', signature: 'c2ln' },
    { type: 'redacted_thinking', data: 'b3BhcXVl' },
    { type: 'text', text: 'The weir é aqui 😀.' },
    { type: 'tool_use', id: 'toolu_01', name: 'open_gate', input: { gate: 3 } },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: { ...usage, output_tokens: 57 },
};

/** The same as a message that is not streamed. */
export const recordedMessage = {
  id: 'msg_01',
  type: 'message',
  role: 'assistant',
  model: 'remote',
  ...recordedAnswer,
  content: [...recordedAnswer.content, { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }],
};
