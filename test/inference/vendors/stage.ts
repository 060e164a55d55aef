import { createServer } from 'node:http';
import { vi } from 'vitest';
import { modelsBefore } from '../../policies/models-before.ts';
import { bearer, wholeGateway } from '../../support/whole-gateway.ts';

/** Upstreams that refuse what the servers of vendors refuse, behind models that translate. */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
export type Fields = Readonly<Record<string, any>>;
export type Api = 'messages' | 'chat' | 'responses';
/** The model whose upstream speaks this API alone; `simulated` has no upstream. */
export const models = ['messages', 'chat', 'responses', 'simulated'] as const;
export type Model = (typeof models)[number];

const routes: Readonly<Record<Api, string>> = {
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
};

/** What a vendor says to this body; null if it takes it. */
export type Refuses = (body: Fields) => string | null;

const usual: Readonly<Record<Api, Fields>> = {
  messages: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'theirs',
    content: [{ type: 'text', text: 'ok' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 11, output_tokens: 7 },
  },
  chat: {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'theirs',
    choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
  },
  responses: {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'theirs',
    output: [{ type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] }],
    usage: { input_tokens: 11, output_tokens: 7, total_tokens: 18 },
  },
};

export const vendors = async (refuses: Readonly<Partial<Record<Api, Refuses>>>) => {
  /** What an upstream was sent last. */
  let sent: Fields | null = null;
  /** What an upstream says beside the usual; a text is a stream. */
  let says: Fields | string = {};
  const server = createServer(async (incoming, out) => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    sent = JSON.parse(Buffer.concat(pieces).toString()) as Fields;
    const [api] = (Object.entries(routes) as [Api, string][]).find(([, path]) => incoming.url === path)!;
    const message = refuses[api]?.(sent) ?? null;
    const type = typeof says === 'string' ? 'text/event-stream' : 'application/json';
    out.writeHead(message === null ? 200 : 400, { 'content-type': message === null ? type : 'application/json' });
    if (message !== null) out.end(JSON.stringify({ error: { type: 'invalid_request_error', message } }));
    else out.end(typeof says === 'string' ? says : JSON.stringify({ ...usual[api], ...says }));
  });
  const connected = await modelsBefore(server, ({ remote, entry }) => {
    const strict = { ...entry, passthrough: false, input_modalities: ['text', 'image', 'file'] };
    return [
      { id: 'messages', ...strict, upstream: { kind: 'anthropic', ...remote } },
      { id: 'chat', ...strict, upstream: { kind: 'openai', ...remote } },
      { id: 'responses', ...strict, upstream: { kind: 'openai', ...remote, apis: ['responses'] } },
      { id: 'simulated', ...strict, upstream: { kind: 'simulated', output_tokens: 4 } },
    ];
  });
  const gateway = await wholeGateway({ models: connected });
  const { projectKey } = await gateway.make.tenant();
  const minimal: Readonly<Record<Api, Fields>> = {
    messages: { max_tokens: 50, messages: [{ role: 'user', content: 'x' }] },
    chat: { max_completion_tokens: 50, messages: [{ role: 'user', content: 'x' }] },
    responses: { max_output_tokens: 50, input: 'x' },
  };
  return {
    models: connected,
    /** The usage record of the last request. */
    account: () => gateway.accounts.settled.at(-1)!,
    /** Asks a model by an API; what is not named is the least that it takes. */
    async ask(api: Api, model: Model, body: Fields) {
      sent = null;
      const asked = { model, ...minimal[api], ...body };
      const {
        status,
        text,
        body: answer,
      } = await gateway.call('POST', routes[api], {
        headers: bearer(projectKey.value),
        body: asked,
      });
      return { status, text, answer: answer as Fields, sent: sent as Fields | null };
    },
    says(what: Fields | string): void {
      says = what;
    },
    async close() {
      await gateway.close();
      await connected.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
