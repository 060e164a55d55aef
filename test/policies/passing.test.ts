import { createServer, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ConnectedModels } from '../../src/data/upstream/connect.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { chunk, done } from '../upstream/openai/mock.ts';
import { modelsBefore } from './models-before.ts';

/** Policies on models whose upstream speaks the client's API: what passes is judged all the same. */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: Awaited<ReturnType<typeof at.listen>>;
let mine: Awaited<ReturnType<typeof at.make.tenant>>;
let asked = 0;
let respond: (response: ServerResponse) => void;
const upstream = createServer(async (incoming, response) => {
  for await (const _ of incoming);
  asked += 1;
  respond(response);
});
const says =
  (text: string | object, type = 'application/json') =>
  (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': type });
    response.end(typeof text === 'string' ? text : JSON.stringify(text));
  };
const streams = (...events: readonly (string | object)[]) =>
  says(events.map((event) => (typeof event === 'string' ? event : frame(event))).join(''), 'text/event-stream');
const frame = (event: object): string =>
  `event: ${(event as { type?: string }).type ?? 'message'}\ndata: ${JSON.stringify(event)}\n\n`;

let models: ConnectedModels;
beforeAll(async () => {
  models = await modelsBefore(upstream, ({ remote, entry }) => [
    { id: 'openai', ...entry, upstream: { kind: 'openai', apis: ['chat', 'responses'], ...remote } },
    { id: 'anthropic', ...entry, upstream: { kind: 'anthropic', ...remote } },
  ]);
  at = await wholeGateway({ models });
  server = await at.listen();
});
afterAll(async () => {
  await server.drain(0);
  await models.close();
  await at.close();
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
});
beforeEach(async () => {
  mine = await at.make.tenant();
  asked = 0;
});

let keys = 0;
const publish = async (fields: object): Promise<string> => {
  const post = async (path: string, body: object) => {
    const headers = { ...bearer(mine.adminKey.value), 'idempotency-key': `key-number-${keys++}` };
    const got = await at.call('POST', `/v1/organization/policies${path}`, { headers, body });
    expect(got.status, got.text).toBeLessThan(300);
    return got.body;
  };
  const { id } = await post('', { name: 'No darkness', mode: 'enforcing', ...fields });
  await post(`/${id}/publish`, { revision: 1 });
  return id;
};
const bodies = {
  '/v1/messages': { model: 'anthropic', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] },
  '/v1/chat/completions': { model: 'openai', messages: [{ role: 'user', content: 'Hi' }] },
  '/v1/responses': { model: 'openai', input: 'Hi' },
} as const;
const ask = async (path: keyof typeof bodies, more: object = {}) => {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method: 'POST',
    headers: { ...bearer(mine.projectKey.value), 'content-type': 'application/json' },
    body: JSON.stringify({ ...bodies[path], ...more }),
  });
  return { status: response.status, text: await response.text() };
};

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const message = (said: object) => ({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'theirs', usage },
  choices: [
    { index: 0, message: { role: 'assistant', content: null, ...said }, finish_reason: 'stop', logprobs: null },
  ],
});
const response = (status: string, ...output: readonly object[]) => ({
  ...{ id: 'r', object: 'response', created_at: 1, model: 'theirs', status, output },
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
});
const created = { type: 'response.created', response: response('in_progress') };
const text = (words: string) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: words }],
});
const piece = (delta: string, type = 'response.output_text.delta') => ({
  type,
  output_index: 0,
  content_index: 0,
  delta,
});
const begin = {
  type: 'message_start',
  message: {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'theirs',
    content: [],
    usage: { input_tokens: 1, output_tokens: 1 },
  },
};
const end = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
];
const finish = [chunk({}, { finish_reason: 'stop' }), chunk(null, { usage }), done];

const answers: readonly (readonly [string, keyof typeof bodies, boolean, (response: ServerResponse) => void])[] = [
  ['text', '/v1/chat/completions', false, says(message({ content: 'nightfall' }))],
  [
    'a custom call',
    '/v1/chat/completions',
    false,
    says(message({ tool_calls: [{ id: 'c', type: 'custom', custom: { name: 't', input: 'nightfall' } }] })),
  ],
  [
    'a transcript',
    '/v1/chat/completions',
    false,
    says(message({ audio: { id: 'a', data: '', transcript: 'nightfall' } })),
  ],
  ['text', '/v1/chat/completions', true, streams(chunk({ content: 'night' }), chunk({ content: 'fall' }), ...finish)],
  [
    'text in parts',
    '/v1/chat/completions',
    true,
    streams(chunk({ content: [{ type: 'text', text: 'nightfall' }] }), ...finish),
  ],
  [
    'a custom call',
    '/v1/chat/completions',
    true,
    streams(
      chunk({ tool_calls: [{ index: 0, id: 'c', type: 'custom', custom: { name: 't', input: 'night' } }] }),
      chunk({ tool_calls: [{ index: 0, custom: { input: 'fall' } }] }),
      ...finish,
    ),
  ],
  [
    'a call in the old form',
    '/v1/chat/completions',
    true,
    streams(chunk({ function_call: { name: 'f', arguments: 'nightfall' } }), ...finish),
  ],
  [
    'a transcript',
    '/v1/chat/completions',
    true,
    streams(chunk({ audio: { transcript: 'night' } }), chunk({ audio: { transcript: 'fall' } }), ...finish),
  ],
  ['text', '/v1/responses', false, says(response('completed', text('nightfall')))],
  [
    'a custom call',
    '/v1/responses',
    false,
    says(response('completed', { type: 'custom_tool_call', call_id: 'c', name: 't', input: 'nightfall' })),
  ],
  [
    'text that fails',
    '/v1/responses',
    true,
    streams(created, piece('night'), piece('fall'), { type: 'response.failed', response: response('failed') }),
  ],
  [
    'text that is cut off',
    '/v1/responses',
    true,
    streams(created, piece('night'), piece('fall'), { type: 'response.incomplete', response: response('incomplete') }),
  ],
  [
    'text that ends otherwise',
    '/v1/responses',
    true,
    streams(created, piece('nightfall'), { type: 'response.completed', response: response('completed', text('Hi')) }),
  ],
  [
    'the input of a custom call',
    '/v1/responses',
    true,
    streams(created, piece('nightfall', 'response.custom_tool_call_input.delta'), {
      type: 'response.completed',
      response: response('completed'),
    }),
  ],
  [
    'text',
    '/v1/messages',
    true,
    streams(
      begin,
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'night' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'fall' } },
      { type: 'content_block_stop', index: 0 },
      ...end,
    ),
  ],
  [
    'a block that nobody knows',
    '/v1/messages',
    true,
    streams(
      begin,
      { type: 'content_block_start', index: 0, content_block: { type: 'new', words: 'nightfall' } },
      { type: 'content_block_stop', index: 0 },
      ...end,
    ),
  ],
];

const rule = 'response.text.contains("nightfall") || response.tool_calls.exists(c, c.arguments.contains("nightfall"))';

describe('an answer that passes', () => {
  test.each(answers)('is kept back for %s on %s, streamed: %s', async (_, path, stream, answer) => {
    respond = answer;
    expect((await ask(path, { stream })).status).toBe(200);
    const id = await publish({ direction: 'response', rule });
    const blocked = await ask(path, { stream });
    expect([blocked.status, blocked.text.includes('policy_violation')]).toEqual([403, true]);
    expect(blocked.text).not.toMatch(/nightfall|output_text|delta/);
    expect(at.decided.at(-1)!.decisions).toMatchObject([{ policyId: id, verdict: 'blocked', direction: 'response' }]);
    expect(asked).toBe(2);
  });

  test.each([
    ['/v1/chat/completions', streams(chunk({ content: 'day' }), ...finish)],
    [
      '/v1/responses',
      streams(created, piece('day'), { type: 'response.completed', response: response('completed', text('day')) }),
    ],
    [
      '/v1/messages',
      streams(
        begin,
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'day' } },
        { type: 'content_block_stop', index: 0 },
        ...end,
      ),
    ],
  ] as const)('is released by the same bytes, on %s, when it is held and harmless', async (path, answer) => {
    respond = answer;
    const plain = (await ask(path, { stream: true })).text;
    await publish({ direction: 'response', rule });
    const held = await ask(path, { stream: true });
    const nameless = (events: string) => events.replace(/(?:msg|chatcmpl|resp)[_-]\w+/g, 'id');
    expect(held.status).toBe(200);
    expect(nameless(held.text)).toBe(nameless(plain));
    expect(held.text).toContain('day');
  });

  test('is only watched by a monitoring policy, though nobody can read it', async () => {
    const id = await publish({ direction: 'response', mode: 'monitoring', rule });
    respond = streams(chunk({ content: 'nightfall' }), ...finish);
    const { status, text: got } = await ask('/v1/chat/completions', { stream: true });
    expect([status, got.includes('nightfall')]).toEqual([200, true]);
    await expect.poll(() => at.decided.at(-1)?.decisions).toMatchObject([{ policyId: id, verdict: 'monitored' }]);
  });

  test('that breaks off is not released', async () => {
    await publish({ direction: 'response', rule });
    respond = streams(chunk({ content: 'about night' }));
    const { status, text: got } = await ask('/v1/chat/completions', { stream: true });
    expect([status >= 500, got.includes('about')]).toEqual([true, false]);
  });
});

describe('the longest answer that a rule sees', () => {
  const isSeen = async (path: keyof typeof bodies, most: number, more: object = {}) => {
    await publish({ rule: `request.max_tokens == ${most}` });
    const { status } = await ask(path, more);
    return status === 403;
  };
  test('is what is named', async () => {
    expect(await isSeen('/v1/chat/completions', 100, { max_tokens: 20, max_completion_tokens: 100 })).toBe(true);
  });
  test.each(['/v1/chat/completions', '/v1/responses'] as const)(
    'on %s is that of the model, where none is named',
    async (path) => {
      expect(await isSeen(path, 64_000)).toBe(true);
    },
  );
  test.each(['/v1/chat/completions', '/v1/responses'] as const)('on %s is what another API is told', async (path) => {
    expect(await isSeen(path, 64_000, { model: 'anthropic' })).toBe(true);
  });
});
