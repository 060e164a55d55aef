import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../src/clock.ts';
import { KeptRequests } from '../../src/data/policy/kept-requests.ts';
import { connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import { messageType } from '../../src/rules/language/variables.ts';
import { readField } from '../../src/rules/text/fields.ts';
import { bodyView } from '../../src/rules/text/view.ts';
import { wholeGateway } from '../support/whole-gateway.ts';

/** The models of every recorded body, by the path it is sent to. */
export const modelsOf = {
  '/v1/messages': ['anthropic', 'anthropic-strict', 'openai-strict', 'small'],
  '/v1/messages/count_tokens': ['anthropic', 'anthropic-strict', 'small'],
  '/v1/chat/completions': ['openai', 'openai-strict', 'anthropic', 'small'],
  '/v1/responses': ['openai', 'openai-strict', 'anthropic', 'small'],
} as const;
export type Path = keyof typeof modelsOf;
export const paths = Object.keys(modelsOf) as Path[];

/** Stands for the id of the model in a recorded body. */
export const placeholder = 'the-model';

/** What an upstream answers, whatever it is asked. */
export interface Said {
  readonly status: number;
  readonly media: string;
  readonly body: Buffer;
}

/** All that can be seen of one request from outside, without ids and times. */
export interface Way {
  readonly status: number;
  /** The answer to the client. */
  readonly answer: string;
  /** What the upstream was asked; null where it was not. */
  readonly asked: { readonly path: string; readonly body: string } | null;
  /** Null where no account was opened. */
  readonly need: {
    readonly estimatedTokens: number;
    readonly maxTokens: number;
    readonly images: number;
    readonly searches: number;
  } | null;
  /** What was settled; null as `need`. */
  readonly account: Readonly<Record<string, unknown>> | null;
  /** What rules of policies read; null where none would be asked. */
  readonly text: Readonly<Record<string, unknown>> | null;
}

const textFields = [
  'system',
  'text',
  'user_text',
  'last_user_text',
  'messages',
  'tool_names',
  'metadata',
  'has_images',
  'has_documents',
  'max_tokens',
  'input_tokens',
] as const;

const accountFields = [
  'input_tokens',
  'output_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'images',
  'details',
  'usage_source',
  'micro_dollars',
  'status',
] as const;

const price = {
  prompt: '0.000001',
  completion: '0.00001',
  image: '0.0001',
  web_search: '0.01',
  file_search: '0.002',
  input_cache_read: '0.0000001',
};

const declared = (base_url: string) => {
  const remote = { base_url, api_key_env: 'KEY', model: 'far', private_network: true };
  const anthropic = { kind: 'anthropic', ...remote };
  const openai = { kind: 'openai', ...remote, apis: ['chat', 'responses'] };
  const wide = {
    context_length: 1_000_000,
    max_output_length: 900_000,
    input_modalities: ['text', 'image', 'file'],
    pricing: price,
  };
  const models = [
    { id: 'anthropic', ...wide, upstream: anthropic },
    { id: 'openai', ...wide, upstream: openai },
    { id: 'anthropic-strict', ...wide, passthrough: false, upstream: anthropic },
    { id: 'openai-strict', ...wide, passthrough: false, upstream: { ...openai, apis: ['chat'] } },
    {
      id: 'small',
      context_length: 60,
      max_output_length: 40,
      prefill: false,
      passthrough: false,
      pricing: { prompt: '0.000001' },
      upstream: anthropic,
    },
  ];
  return loadModels(JSON.stringify({ models }), { KEY: 'sk-canary-recorded' });
};

/** Ids and times differ from run to run. */
const plain = (text: string): string =>
  text
    .replaceAll(/\b([a-z]{2,8})([_-])[0-9a-hjkmnp-tv-z]{26}(?![0-9a-z])/g, '$1$2ID')
    .replaceAll(/"(created|created_at|completed_at)":\d+(\.\d+)?/g, '"$1":0');

const inJson = (_name: string, value: unknown): unknown => {
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof messageType.Record) return [value.values.role, value.values.text];
  return value;
};

const received = async (incoming: IncomingMessage): Promise<string> => {
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
};

/** A gateway and the one upstream of all of its models, over HTTP, for one request after the other. */
export const recordedStage = async () => {
  let said: Said = { status: 500, media: 'application/json', body: Buffer.from('{}') };
  let asked: Way['asked'] = null;
  const upstream = createServer(async (incoming, out: ServerResponse) => {
    asked = { path: incoming.url!, body: await received(incoming) };
    out.writeHead(said.status, { 'content-type': said.media, 'content-length': said.body.length });
    out.end(said.body);
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const connected = connect(declared(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`), {
    clock: systemClock,
    sleep: () => Promise.resolve(),
  });
  const kept = new KeptRequests(60_000, systemClock);
  let text: Way['text'] = null;
  kept.add = ({ body, owner }) => {
    const view = bodyView(body, owner);
    text = JSON.parse(
      JSON.stringify(Object.fromEntries(textFields.map((name) => [name, readField(view, 'request', name)])), inJson),
    );
  };
  const gateway = await wholeGateway({ models: connected, kept, pricing: price });
  const { accounts } = gateway;
  let need: Way['need'] = null;
  const begin = accounts.begin.bind(accounts);
  accounts.begin = (opened) => {
    const { estimatedTokens, maxTokens, images, searches } = opened;
    need = { estimatedTokens, maxTokens, images, searches };
    return begin(opened);
  };
  const { projectKey } = await gateway.make.tenant();
  const server = await gateway.listen();

  /** Sends one body, whose upstream answers so, and waits until its account is settled. */
  const ask = async (path: Path, body: Buffer, answer: Said): Promise<Way> => {
    [said, asked, need, text] = [answer, null, null, null];
    accounts.settled.length = 0;
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${projectKey.value}`, 'content-type': 'application/json' },
      body: new Uint8Array(body),
    });
    const answered = plain(await response.text());
    while (need !== null && accounts.settled.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const [settled] = accounts.settled as readonly unknown[] as readonly Readonly<Record<string, unknown>>[];
    return {
      status: response.status,
      answer: answered,
      asked,
      need,
      account: settled === undefined ? null : Object.fromEntries(accountFields.map((name) => [name, settled[name]])),
      text,
    };
  };

  return {
    ask,
    async close() {
      await server.drain(0);
      await gateway.close();
      await connected.close();
      kept.close();
      upstream.closeAllConnections();
      await new Promise((resolve) => upstream.close(resolve));
    },
  };
};

export const digestOf = (way: unknown): string =>
  createHash('sha256').update(JSON.stringify(way)).digest('base64url').slice(0, 22);
