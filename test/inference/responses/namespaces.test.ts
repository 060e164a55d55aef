import fc from 'fast-check';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { flatTools } from '../../../src/data/api/responses/namespaces.ts';
import { responsesRules } from '../../../src/data/api/responses/responses-rules.ts';
import { anywhere, preparing } from '../../../src/data/request/prepare.ts';
import type { Passing } from '../../../src/data/upstream/port.ts';
import { hosted, model } from '../hosted.ts';
import { passingStage, says } from '../passing-stage.ts';
import { ScriptedUpstream } from '../scripted-upstream.ts';

/** Functions in namespaces, on models whose upstreams know none (contract G.7). */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

type Stage = Awaited<ReturnType<typeof passingStage>>;
let stage: Stage;
let asked: { readonly url: string; readonly body: Body }[] = [];
/** The functions that the upstream calls, by the names that it knows. */
let calling: readonly string[] = [];

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
type Body = any;

const eventOf = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const chunkOf = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'r', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

const messages = {
  whole: () => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'theirs',
    content: calling.map((name, at) => ({ type: 'tool_use', id: `toolu_${at}`, name, input: { q: at } })),
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 9, output_tokens: 3 },
  }),
  events: () => {
    const { content, ...rest } = messages.whole();
    const blocks = content.flatMap(({ input, ...block }, index) => [
      eventOf('content_block_start', { index, content_block: { ...block, input: {} } }),
      eventOf('content_block_delta', {
        index,
        delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
      }),
      eventOf('content_block_stop', { index }),
    ]);
    const end = { delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 3 } };
    return [
      eventOf('message_start', { message: { ...rest, content: [], stop_reason: null } }),
      ...blocks,
      eventOf('message_delta', end),
      eventOf('message_stop', {}),
    ].join('');
  },
};

const chat = {
  calls: () =>
    calling.map((name, index) => ({
      index,
      id: `call_${index}`,
      type: 'function',
      function: { name, arguments: JSON.stringify({ q: index }) },
    })),
  whole: () => ({
    id: 'c',
    object: 'chat.completion',
    model: 'r',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: null, tool_calls: chat.calls() },
        finish_reason: 'tool_calls',
      },
    ],
    usage: { prompt_tokens: 9, completion_tokens: 3 },
  }),
  events: () =>
    `${chat
      .calls()
      .map((call) => chunkOf({ tool_calls: [call] }))
      .join('')}${chunkOf({}, 'tool_calls')}data: [DONE]\n\n`,
};

const models = ['by-messages', 'by-chat'] as const;

beforeAll(async () => {
  stage = await passingStage('sk-canary-0b7d', (remote) => [
    { id: 'by-messages', upstream: { kind: 'anthropic', ...remote } },
    { id: 'by-chat', upstream: { kind: 'openai', ...remote } },
    { id: 'by-responses', upstream: { kind: 'openai', ...remote, apis: ['chat', 'responses'] } },
  ]);
  const { upstream } = stage;
  upstream.respond = (to) => {
    const { url, text } = upstream.received!;
    const body = JSON.parse(text);
    asked.push({ url, body });
    const { whole, events } = url === '/v1/messages' ? messages : chat;
    (body.stream ? says(events(), 'text/event-stream') : says(whole()))(to);
  };
});
afterAll(() => stage.close());
beforeEach(() => {
  asked = [];
  calling = ['mcp__tickets__search', 'shell'];
});

const parameters = { type: 'object', properties: { q: { type: 'number' } } };
const functionOf = (name: string, fields: object = {}) => ({
  type: 'function' as const,
  name,
  description: `Does ${name}.`,
  strict: false,
  parameters,
  ...fields,
});
const space = (name: string, ...tools: readonly ReturnType<typeof functionOf>[]) => ({
  type: 'namespace' as const,
  name,
  description: `Tools in the ${name} namespace.`,
  tools: [...tools],
});

/** As Codex asks. */
const asCodex = (model: string, fields: object = {}) => ({
  model,
  instructions: 'You are a coding agent.',
  input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
  tools: [functionOf('shell'), space('mcp__tickets__', functionOf('search'), functionOf('close'))],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: { effort: 'medium', summary: 'concise' },
  store: false,
  stream: false,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: 'thread_1',
  client_metadata: { 'x-codex-installation-id': 'a', 'x-codex-turn-metadata': '{"sandbox":"seccomp"}' },
  ...fields,
});

const toolsOf = ({ url, body }: (typeof asked)[number]): readonly { name: string; description: string }[] =>
  url === '/v1/messages' ? body.tools : body.tools.map((each: Body) => each.function);

const items = (text: string, stream: boolean): readonly Body[] => {
  if (!stream) return JSON.parse(text).output;
  const documents = [...text.matchAll(/^data: (.*)$/gm)].map(([, document]) => JSON.parse(document!));
  const of = (type: string) => documents.filter((each) => each.type === type).map(({ item }) => item);
  const done = of('response.output_item.done');
  expect(of('response.output_item.added')).toEqual(
    done.map((item) => ({ ...item, arguments: '', status: 'in_progress' })),
  );
  const told = documents.filter(({ type }) => type === 'response.function_call_arguments.done');
  expect(told.map(({ name }) => name)).toEqual(done.map(({ name }) => name));
  expect(documents.at(-1).response.output).toEqual(done);
  return done;
};

describe.each(models)('%s', (model) => {
  test.each([false, true])('is asked by one name, which is read back, streamed: %s', async (stream) => {
    const request = asCodex(model, { stream });
    const { status, text } = await stage.post('/v1/responses', request);
    expect(status, text).toBe(200);
    expect(toolsOf(asked[0]!).map(({ name, description }) => [name, description])).toEqual([
      ['shell', 'Does shell.'],
      ['mcp__tickets__search', 'Tools in the mcp__tickets__ namespace.\n\nDoes search.'],
      ['mcp__tickets__close', 'Does close.'],
    ]);
    expect(JSON.stringify(asked[0]!.body)).not.toMatch(/client_metadata|codex|namespace"/);
    const called = items(text, stream);
    expect(called).toMatchObject([
      { type: 'function_call', namespace: 'mcp__tickets__', name: 'search', arguments: '{"q":0}', status: 'completed' },
      { type: 'function_call', name: 'shell', arguments: '{"q":1}', status: 'completed' },
    ]);
    expect(called[1]).not.toHaveProperty('namespace');
    if (!stream) expect(JSON.parse(text).tools[1]).toMatchObject(request.tools[1]!);

    // The next turn has them again.
    const results = called.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'done' }));
    const second = { ...request, input: [...request.input, ...called, ...results] };
    expect((await stage.post('/v1/responses', second)).status).toBe(200);
    expect(JSON.stringify(asked[1]!.body.messages)).toMatch(/"name":"mcp__tickets__search".*"name":"shell"/);
  });

  test('calls of functions that are no longer declared keep their names', async () => {
    const gone = { type: 'function_call', namespace: 'mcp__old', name: 'find', call_id: 'a', arguments: '{}' };
    const result = { type: 'function_call_output', call_id: 'a', output: 'x' };
    const { input } = asCodex(model);
    const { status, text } = await stage.post('/v1/responses', asCodex(model, { input: [...input, gone, result] }));
    expect(status, text).toBe(200);
    expect(JSON.stringify(asked[0]!.body.messages)).toContain('"name":"mcp__old__find"');
  });

  test('a name that another function has is told apart, and names are short', async () => {
    const long = 'x'.repeat(60);
    const tools = [functionOf('a__b'), space('a', functionOf('b')), space(long, functionOf('b'), functionOf('c'))];
    await stage.post('/v1/responses', asCodex(model, { tools }));
    const names = toolsOf(asked[0]!).map(({ name }) => name);
    expect(new Set(names).size).toBe(4);
    expect(names.filter((name) => !/^[A-Za-z0-9_-]{1,64}$/.test(name))).toEqual([]);
    calling = names;
    const { text } = await stage.post('/v1/responses', asCodex(model, { tools }));
    expect(items(text, false).map(({ namespace, name }) => [namespace, name])).toEqual([
      [undefined, 'a__b'],
      ['a', 'b'],
      [long, 'b'],
      [long, 'c'],
    ]);
  });

  test('refusals have the place in the namespace', async () => {
    const twice = [functionOf('shell'), space('n', functionOf('f'), functionOf('f'))];
    const faulty = [space('n', functionOf('f'), functionOf('g', { parameters: { type: 'array' } }))];
    for (const [tools, param] of [
      [twice, 'tools.1.tools.1.name'],
      [faulty, 'tools.0.tools.1.parameters.type'],
    ] as const) {
      const { status, text } = await stage.post('/v1/responses', asCodex(model, { tools }));
      expect([status, JSON.parse(text).error.param]).toEqual([400, param]);
    }
    expect(asked).toEqual([]);
  });

  test('the functions of `functions` are in none', async () => {
    calling = ['shell'];
    const tools = [space('functions', functionOf('shell'))];
    const { text } = await stage.post('/v1/responses', asCodex(model, { tools }));
    const [called] = items(text, false);
    expect([called.name, called.namespace]).toEqual(['shell', undefined]);
  });

  test('the SDK reads it', async () => {
    const client = new OpenAI({
      apiKey: stage.mine.projectKey.value,
      baseURL: `http://127.0.0.1:${stage.port}/v1`,
      maxRetries: 0,
    });
    const { output } = await client.responses.create({
      model,
      input: 'x',
      tools: [space('mcp__tickets', functionOf('search'))],
    });
    expect(output[0]).toMatchObject({ type: 'function_call', namespace: 'mcp__tickets', name: 'search' });
  });
});

test('an upstream of responses gets namespaces as they are', async () => {
  const { upstream } = stage;
  const { respond } = upstream;
  upstream.respond = says({ id: 'r', object: 'response', model: 'm', status: 'completed', output: [], usage: {} });
  const request = asCodex('by-responses', { max_output_tokens: 100 });
  const { status, text } = await stage.post('/v1/responses', request);
  expect(status, text).toBe(200);
  expect(JSON.parse(upstream.received!.text)).toEqual({ ...request, model: 'theirs' });
  upstream.respond = respond;
});

test('names never collide, and are read back', () => {
  const word = fc.stringMatching(/^[A-Za-z_-]{1,4}$/);
  const long = fc.stringMatching(/^[A-Za-z0-9_.é-]{1,80}$/);
  const named = fc.record({
    name: fc.oneof(word, long),
    namespace: fc.option(fc.oneof(word, long), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.uniqueArray(named, { selector: (each) => JSON.stringify(each), maxLength: 12 }), (all) => {
      const plain = all.filter(({ namespace }) => namespace === undefined);
      const spaced = all.filter(({ namespace }) => namespace !== undefined && namespace !== 'functions');
      const tools = [
        ...spaced.map(({ namespace, name }) => space(namespace!, functionOf(name))),
        ...plain.map(({ name }) => functionOf(name)),
      ];
      const { tools: flat, called, nameOf } = flatTools(tools);
      const names = flat.map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      for (const [at, each] of spaced.entries()) {
        expect(names[at]).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        expect(called.get(names[at]!)).toEqual(each);
        expect(nameOf(each)).toBe(names[at]);
      }
      expect(plain.some(({ name }) => called.has(name))).toBe(false);
      expect(flatTools(tools).tools).toEqual(flat);
    }),
    { numRuns: 300 },
  );
});

test.each<[string, object, number]>([
  ['functions', functionOf('f'), 1],
  ['functions and custom tools', { type: 'custom', name: 'f' }, 1],
  ['what is no tool of the client', { type: 'web_search' }, 100],
  ['a namespace', space('m'), 100],
])('a namespace of %s that passes: the answer takes turns of the model', (_, inner, turns) => {
  const upstream = Object.assign(new ScriptedUpstream(), { passing: { responses: {} as Passing } });
  const read = preparing(hosted(upstream, model({})), responsesRules);
  const tools = [{ type: 'namespace', name: 'n', description: 'N', tools: [functionOf('g'), inner] }];
  const principal = { organizationId: 'org_1', allowedModels: null, modelAliases: null };
  for (const asked of [{ tools }, { input: [{ type: 'additional_tools', tools }] }]) {
    const bytes = Buffer.from(JSON.stringify({ model: 'm', input: 'x', ...asked }));
    expect(read(bytes, principal, anywhere)).toMatchObject({ turns });
  }
});
