import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { type ConnectedModel, connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { dataOf } from '../upstream/data-of.ts';
import * as anthropicMock from '../upstream/mock.ts';
import * as openaiMock from '../upstream/openai/mock.ts';

/**
 * Upstreams that say anything, on every way that an answer takes: what a client gets is an error of its API, or an answer or a stream
 * that ends as its API has it, and never a failure of Weir's own.
 */

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const event = (type: string, members: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const item = { id: 'msg_1', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hé' }] };
const reasoning = {
  id: 'rs_1',
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'Hm.' }],
  encrypted_content: 'gAAA',
};
const call = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":1}' };
const response = (status: string) => ({
  id: 'resp_theirs',
  object: 'response',
  status,
  model: 'theirs',
  output: status === 'completed' ? [reasoning, call, item] : [],
  usage: status === 'completed' ? { input_tokens: 9, output_tokens: 3 } : null,
});
const theirs = {
  messages: { whole: anthropicMock.recordedMessage as object, events: anthropicMock.recorded },
  chat: { whole: openaiMock.recordedCompletion as object, events: openaiMock.recorded },
  responses: {
    whole: response('completed'),
    events: [
      event('response.created', { sequence_number: 0, response: response('in_progress') }),
      event('response.output_item.done', { sequence_number: 0, output_index: 1, item: reasoning }),
      event('response.output_item.added', { sequence_number: 0, output_index: 2, item: { ...call, arguments: '' } }),
      event('response.function_call_arguments.delta', { sequence_number: 0, output_index: 2, delta: '{"a":' }),
      event('response.function_call_arguments.delta', { sequence_number: 0, output_index: 2, delta: '1}' }),
      event('response.output_item.done', { sequence_number: 0, output_index: 2, item: call }),
      event('response.output_item.added', { sequence_number: 1, output_index: 0, item }),
      event('response.output_text.delta', { sequence_number: 2, item_id: 'msg_1', delta: 'Hé' }),
      event('response.output_text.delta', { sequence_number: 3, item_id: 'msg_1', delta: ' there' }),
      event('response.output_item.done', { sequence_number: 4, output_index: 0, item }),
      event('response.completed', { sequence_number: 5, response: response('completed') }),
    ],
  },
};
type Api = keyof typeof theirs;

const said = { messages: [{ role: 'user', content: 'Hello' }] };
const asked: Readonly<Record<Api, { path: string; body: object }>> = {
  messages: { path: '/v1/messages', body: { max_tokens: 500, ...said } },
  chat: { path: '/v1/chat/completions', body: said },
  responses: { path: '/v1/responses', body: { input: 'Hello' } },
};

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let key: string;
let body: Buffer;
let type: string;
const upstream = createServer((incoming, out) => {
  incoming.resume();
  incoming.on('end', () => out.writeHead(200, { 'content-type': type }).end(body));
});
beforeAll(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const place = { base_url: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`, private_network: true };
  const remote = { ...place, api_key_env: 'KEY', model: 'theirs', idle_timeout_ms: 2000 };
  const models = new Map<string, ConnectedModel>();
  at = await wholeGateway({ models });
  key = (await at.make.tenant()).projectKey.value;
  const entry = { context_length: 200_000, max_output_length: 64_000 };
  const ofResponses = { kind: 'openai', ...remote, apis: ['responses'] };
  const declared = [
    { id: 'anthropic', ...entry, upstream: { kind: 'anthropic', ...remote } },
    { id: 'openai', ...entry, upstream: { kind: 'openai', ...remote, apis: ['chat', 'responses'] } },
    { id: 'strict', ...entry, passthrough: false, upstream: { kind: 'openai', ...remote } },
    { id: 'answers', ...entry, upstream: ofResponses },
    { id: 'strict-answers', ...entry, passthrough: false, upstream: ofResponses },
  ];
  const loaded = loadModels(JSON.stringify({ models: declared }), { KEY: 'sk-canary-77aa' });
  for (const [id, model] of connect(loaded, { clock: systemClock })) models.set(id, model);
  server = await at.listen();
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
});

/** The model, whose words its upstream speaks, for a client of an API. */
const ways: readonly (readonly [client: Api, model: string, spoken: Api])[] = [
  ['messages', 'anthropic', 'messages'],
  ['chat', 'anthropic', 'messages'],
  ['responses', 'anthropic', 'messages'],
  ['messages', 'openai', 'chat'],
  ['chat', 'openai', 'chat'],
  ['responses', 'openai', 'responses'],
  ['chat', 'strict', 'chat'],
  ['responses', 'strict', 'chat'],
  ['messages', 'answers', 'responses'],
  ['chat', 'answers', 'responses'],
  ['responses', 'answers', 'responses'],
  ['responses', 'strict-answers', 'responses'],
];

const value = fc.constantFrom<unknown>(
  null,
  true,
  7,
  -1,
  1e308,
  '',
  'x',
  '\u0000',
  [],
  {},
  [null],
  [[]],
  { a: [{}] },
  '"failed"',
);
type Change = (parts: readonly string[]) => readonly string[];
/** The value at some place of a part becomes another. */
const replaced = fc.tuple(fc.nat(60), fc.nat(40), value).map(
  ([which, place, other]): Change =>
    (parts) => {
      const index = which % parts.length;
      return parts.map((part, here) => {
        const [head, json] = [part.slice(0, part.indexOf('{')), part.slice(part.indexOf('{')).trimEnd()];
        if (here !== index || !part.includes('{')) return part;
        let count = 0;
        const changed = JSON.stringify(JSON.parse(json), (_, each) => (count++ === place % 30 ? other : each));
        return `${head}${changed}\n\n`;
      });
    },
);
const moved = fc.tuple(fc.nat(60), fc.nat(60)).map(
  ([from, to]): Change =>
    (parts) => {
      const all = [...parts];
      const [part] = all.splice(from % all.length, 1);
      all.splice(to % (all.length + 1), 0, part!);
      return all;
    },
);
const twice = fc.nat(60).map(
  (which): Change =>
    (parts) =>
      parts.flatMap((part, at) => (at === which % parts.length ? [part, part] : [part])),
);
const dropped = fc.nat(60).map(
  (which): Change =>
    (parts) =>
      parts.filter((_, at) => at !== which % parts.length),
);
const strange = fc
  .tuple(
    fc.nat(60),
    fc.constantFrom(
      'data: [DONE]\n\n',
      'data: {}\n\n',
      'data: []\n\n',
      'data: null\n\n',
      ':\n\n',
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n',
      'data: {"error":{"message":"x"}}\n\n',
      'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":"9"}}\n\n',
      'data: {"type":"ping"}\n\n',
      'id: 3\nretry: 1\n\n',
      '\n\n\n',
      'data: {"a":1,"a":2}\n\n',
    ),
  )
  .map(
    ([where, more]): Change =>
      (parts) => [...parts.slice(0, where % (parts.length + 1)), more, ...parts.slice(where % (parts.length + 1))],
  );
const changes = fc.array(fc.oneof(replaced, moved, twice, dropped, strange), { maxLength: 4 });
type Broken = (all: Buffer) => Buffer;
const cut: fc.Arbitrary<Broken> = fc.oneof(
  fc.constant<Broken>((all) => all),
  fc.constant<Broken>((all) => Buffer.from(all.toString().replaceAll('\n', '\r\n'))),
  fc.nat(4000).map(
    (length): Broken =>
      (all) =>
        all.subarray(0, length),
  ),
);
const flipped = fc.tuple(fc.nat(4000), fc.nat(255)).map(
  ([place, byte]): Broken =>
    (all) => {
      const copy = Buffer.from(all);
      if (copy.length > 0) copy[place % copy.length] = byte;
      return copy;
    },
);
/** What passes is not read where it looks as usual: a byte that is wrong there goes to the client, as all others do (contract L.1). */
const brokenOn = (isPassing: boolean): fc.Arbitrary<Broken> => (isPassing ? cut : fc.oneof(cut, flipped));

const ask = async (client: Api, model: string, stream: boolean) => {
  const answer = await fetch(`http://127.0.0.1:${server.port}${asked[client].path}`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json' },
    body: JSON.stringify({ model, ...asked[client].body, stream }),
  });
  return { status: answer.status, media: answer.headers.get('content-type'), text: await answer.text() };
};

/** An error of the API, by the status of one that is not Weir's. */
const expectError = (client: Api, status: number, text: string): void => {
  expect([502, 503, 504, 529, 400, 403, 413, 429, 422, 404]).toContain(status);
  const told = JSON.parse(text);
  expect(typeof told.error.message).toBe('string');
  expect(told.error.code ?? told.error.type).not.toMatch(/internal/);
  if (client === 'messages') expect(told.type).toBe('error');
};

describe.each(ways)('a client of %s, model %s', (client, model, spoken) => {
  const bytes = brokenOn(client === spoken && !model.startsWith('strict'));

  test('in one piece', async () => {
    const text = `${JSON.stringify(theirs[spoken].whole)}\n\n`;
    await fc.assert(
      fc.asyncProperty(fc.array(replaced, { maxLength: 3 }), bytes, async (all, broken) => {
        type = 'application/json';
        body = broken(
          Buffer.from(
            all
              .reduce<readonly string[]>((parts, change) => change(parts), [text])
              .join('')
              .trimEnd(),
          ),
        );
        const { status, text: told } = await ask(client, model, false);
        if (status !== 200) expectError(client, status, told);
        else {
          const answer = JSON.parse(told);
          expect([answer.model ?? model, answer.id ?? '']).toEqual([
            model,
            expect.not.stringMatching(/theirs|chatcmpl-1$|msg_1$/),
          ]);
        }
        expect(told).not.toContain('sk-canary-77aa');
      }),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 60) },
    );
  });

  test('streamed', async () => {
    await fc.assert(
      fc.asyncProperty(changes, bytes, async (all, broken) => {
        type = 'text/event-stream';
        body = broken(
          Buffer.from(
            all.reduce((parts, change) => (parts.length === 0 ? parts : change(parts)), theirs[spoken].events).join(''),
          ),
        );
        const { status, media, text: told } = await ask(client, model, true);
        if (status !== 200) return expectError(client, status, told);
        expect(media).toBe('text/event-stream; charset=utf-8');
        const events = [...dataOf([Buffer.from(told)])];
        expect(told.endsWith('\n\n')).toBe(true);
        const last = events.at(-1)!;
        const kinds = events.map((data) => (data === '[DONE]' ? data : (JSON.parse(data).type ?? 'chunk')));
        expect(told).not.toContain('internal_error');
        if (client === 'messages') {
          expect(['message_stop', 'error']).toContain(kinds.at(-1));
          expect(kinds.filter((kind) => kind === 'message_stop' || kind === 'error')).toHaveLength(1);
          expect(kinds[0]).toBe('message_start');
        } else if (client === 'responses') {
          expect(kinds.at(-1)).toMatch(/^(response\.(completed|incomplete|failed)|error)$/);
        } else {
          const isError = last !== '[DONE]' && JSON.parse(last).error !== undefined;
          const isFinished = /"finish_reason":(?!null)/.test(told);
          expect(last === '[DONE]' || isError || isFinished).toBe(true);
          for (const data of events.filter((each) => each.startsWith('{'))) {
            const { id, model: named, error } = JSON.parse(data);
            if (error == null)
              expect([id ?? '', named ?? model]).toEqual([expect.not.stringMatching(/chatcmpl-1$/), model]);
          }
        }
      }),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 60) },
    );
  });
});
