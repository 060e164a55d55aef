import { createServer } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { modelsBefore } from '../policies/models-before.ts';
import { bearer, context, wholeGateway } from '../support/whole-gateway.ts';
import { chunk, completion, done } from '../upstream/openai/mock.ts';

/** Searches of upstreams, which clients of responses and of chat completions ask for on translated models (G.6, G.7). */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
type Fields = Readonly<Record<string, any>>;
let at: Awaited<ReturnType<typeof wholeGateway>>;
let mine: Awaited<ReturnType<typeof at.make.tenant>>;
/** What the upstream was sent last. */
let sent: Fields | null;
/** Searches that it says it has made, and tokens that it has read. */
let searches = 2;
let input = 100;

const events = (all: readonly Fields[]): string =>
  all.map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`).join('');

const cited = { type: 'web_search_result_location', url: 'https://a.example', title: 'A', cited_text: 'x' };
const found = { type: 'web_search_result', url: 'https://a.example', title: 'A', encrypted_content: 'e' };
const blocks = [
  { type: 'text', text: 'I look. ' },
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'weirs' } },
  { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [found] },
  { type: 'text', text: 'It is ' },
  { type: 'text', text: 'a dam', citations: [cited] },
  { type: 'text', text: '.' },
];
const whole = 'I look. It is a dam.';

const blockEvents = (block: Fields, index: number): Fields[] => {
  const start = (content_block: object) => ({ type: 'content_block_start', index, content_block });
  const delta = (said: object) => ({ type: 'content_block_delta', index, delta: said });
  const stop = { type: 'content_block_stop', index };
  switch (block.type) {
    case 'text': {
      const citations = (block.citations ?? []).map((citation: object) => delta({ type: 'citations_delta', citation }));
      return [start({ type: 'text', text: '' }), ...citations, delta({ type: 'text_delta', text: block.text }), stop];
    }
    case 'server_tool_use': {
      const partial_json = JSON.stringify(block.input);
      return [start({ ...block, input: {} }), delta({ type: 'input_json_delta', partial_json }), stop];
    }
    default:
      return [start(block), stop];
  }
};

const asMessages = (stream: boolean): string => {
  const usage = { input_tokens: input, output_tokens: 10, server_tool_use: { web_search_requests: searches } };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'theirs', stop_sequence: null };
  if (!stream) return JSON.stringify({ ...message, content: blocks, stop_reason: 'end_turn', usage });
  return events([
    { type: 'message_start', message: { ...message, content: [], usage: { input_tokens: 100, output_tokens: 1 } } },
    ...blocks.flatMap(blockEvents),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    { type: 'message_stop' },
  ]);
};

const asChat = (stream: boolean): string => {
  const annotations = [{ type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A' } }];
  const last = { finish_reason: 'stop' };
  if (!stream) return JSON.stringify(completion({ role: 'assistant', content: whole, annotations }, last));
  return [
    chunk({ content: 'I look. ' }),
    chunk({ content: 'It is a dam.' }),
    chunk({ annotations }),
    chunk({}, last),
    done,
  ].join('');
};

const asResponse = (stream: boolean): string => {
  const action = { type: 'search', query: 'weirs' };
  const call = { type: 'web_search_call', id: 'ws_1', status: 'completed', action };
  const annotation = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 1 };
  const content = [{ type: 'output_text', text: whole, annotations: [annotation] }];
  const output = [...Array(searches).fill(call), { type: 'message', id: 'msg_1', role: 'assistant', content }];
  const usage = { input_tokens: 100, output_tokens: 10 };
  const response = { id: 'resp_1', object: 'response', status: 'completed', model: 'theirs', output, usage };
  if (!stream) return JSON.stringify(response);
  const place = { output_index: searches, item_id: 'msg_1', content_index: 0 };
  return events([
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
    { type: 'response.output_item.added', output_index: 0, item: { ...call, status: 'in_progress' } },
    { type: 'response.web_search_call.searching', output_index: 0, item_id: 'ws_1' },
    { type: 'response.output_item.done', output_index: 0, item: call },
    { type: 'response.output_text.delta', ...place, delta: 'I look. ' },
    { type: 'response.output_text.annotation.added', ...place, annotation_index: 0, annotation },
    { type: 'response.output_text.delta', ...place, delta: 'It is a dam.' },
    { type: 'response.output_item.done', output_index: searches, item: output.at(-1) },
    { type: 'response.completed', response },
  ]);
};

const upstream = createServer(async (incoming, out) => {
  let asked = '';
  for await (const piece of incoming) asked += String(piece);
  sent = JSON.parse(asked) as Fields;
  const stream = sent.stream === true;
  const say = incoming.url!.endsWith('/messages')
    ? asMessages
    : incoming.url!.endsWith('/responses')
      ? asResponse
      : asChat;
  out.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' }).end(say(stream));
});

const pricing = { prompt: '0.000001', completion: '0.00001', web_search: '0.01' };

beforeAll(async () => {
  const models = await modelsBefore(upstream, ({ remote, entry }) => {
    const searching = {
      ...entry,
      passthrough: false,
      pricing,
      access: { required_checks: ['credits'] },
      supported_features: ['tools', 'web_search'],
    };
    return [
      { id: 'messages', ...searching, upstream: { kind: 'anthropic', ...remote } },
      { id: 'chat', ...searching, upstream: { kind: 'openai', ...remote } },
      { id: 'responses', ...searching, upstream: { kind: 'openai', ...remote, apis: ['responses'] } },
      { id: 'simulated', ...searching, upstream: { kind: 'simulated' } },
      { id: 'not-searching', ...entry, passthrough: false, upstream: { kind: 'anthropic', ...remote } },
      {
        id: 'search-alone',
        ...entry,
        supported_features: ['web_search'],
        upstream: { kind: 'anthropic', ...remote },
      },
    ];
  });
  at = await wholeGateway({ models, pricing });
  mine = await at.make.tenant();
  await grant(mine.organizationId, 1_000_000_000);
});
afterAll(async () => {
  await at.close();
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
});
beforeEach(() => {
  sent = null;
  searches = 2;
  input = 100;
});

/** @param amount in micro-dollars */
const grant = async (organizationId: string, amount: number): Promise<void> => {
  const entry = { amount, reference: 'grant' };
  await at.settled(await at.admin.aggregates.organization.dispatch(organizationId, 'grant', entry, context));
};

const ofChat = (body: Fields): Fields => ({ messages: [{ role: 'user', content: 'hi' }], max_tokens: 50, ...body });
const ofResponses = (body: Fields): Fields => ({ input: 'hi', max_output_tokens: 50, ...body });
const post = (path: string, body: Fields, key = mine.projectKey.value) =>
  at.call('POST', path, { headers: bearer(key), body });
const chat = (model: string, body: Fields) => post('/v1/chat/completions', ofChat({ model, ...body }));
const responses = (model: string, body: Fields) => post('/v1/responses', ofResponses({ model, ...body }));

const dataOf = (text: string): Fields[] =>
  text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)) as Fields] : []));

const location = { city: 'Porto', country: 'PT' };
const plain = { search_context_size: 'low', user_location: { type: 'approximate', ...location, region: null } };

describe.each([false, true])('streamed: %s', (stream) => {
  const said = (path: string, text: string): string => {
    if (path === 'chat') {
      if (!stream) return (JSON.parse(text) as Fields).choices[0].message.content;
      return dataOf(text)
        .map((data) => data.choices[0]?.delta.content ?? '')
        .join('');
    }
    const response = stream ? dataOf(text).at(-1)!.response : (JSON.parse(text) as Fields);
    expect(response.status).toBe('completed');
    const items: Fields[] = response.output;
    // Around the search and where it cites, an upstream of messages begins another block.
    expect(items.map(({ type }) => type)).toEqual(['message']);
    if (stream) {
      const deltas = dataOf(text).filter(({ type }) => type === 'response.output_text.delta');
      expect(deltas.map(({ delta }) => delta).join('')).toBe(items.map(({ content }) => content[0].text).join(''));
    }
    return items.map(({ content }) => content[0].text).join('');
  };

  const bodies = {
    responses: { tools: [{ type: 'web_search', ...plain }] },
    chat: {
      web_search_options: {
        search_context_size: 'low',
        user_location: { type: 'approximate', approximate: location },
      },
    },
  };

  describe.each(['responses', 'chat'] as const)('a client of %s', (api) => {
    const ask = async (model: string, more: Fields = {}) => {
      const path = api === 'chat' ? '/v1/chat/completions' : '/v1/responses';
      const form = api === 'chat' ? ofChat : ofResponses;
      const before = at.accounts.settled.length;
      const got = await post(path, form({ model, stream, ...bodies[api], ...more }));
      expect(got.status, got.text).toBe(200);
      const [settled] = at.accounts.settled.slice(before);
      return { text: said(api, got.text), account: [settled!.details, settled!.micro_dollars] };
    };

    test('searches by an upstream of messages, and gets the whole text', async () => {
      expect(await ask('messages')).toEqual({ text: whole, account: [{ web_search: 2 }, 200 + 20_000] });
      expect(sent!.tools).toEqual([
        { type: 'web_search_20250305', name: 'web_search', user_location: { type: 'approximate', ...location } },
      ]);
    });

    test('searches by an upstream of chat completions, which does not count its searches', async () => {
      const { text, account } = await ask('chat');
      expect([text, account[0]]).toEqual([whole, undefined]);
      expect([sent!.tools, sent!.web_search_options]).toEqual([
        undefined,
        { search_context_size: 'low', user_location: { type: 'approximate', approximate: location } },
      ]);
    });

    test('searches by an upstream of responses', async () => {
      expect(await ask('responses')).toEqual({ text: whole, account: [{ web_search: 2 }, 200 + 20_000] });
      expect(sent!.tools).toEqual([
        {
          type: 'web_search',
          search_context_size: 'low',
          user_location: { type: 'approximate', ...location },
        },
      ]);
    });

    test('pays for no more searches than it allows', async () => {
      searches = 1e9;
      expect((await ask('messages')).account).toEqual([{ web_search: 100 }, 200 + 1_000_000]);
    });

    test('has functions beside the search', async () => {
      const named = { name: 'f', parameters: { type: 'object', properties: {} } };
      const declared = api === 'chat' ? { type: 'function', function: named } : { type: 'function', ...named };
      const tools = api === 'chat' ? [declared] : [...bodies.responses.tools, declared];
      await ask('messages', { tools });
      expect(sent!.tools.map(({ name }: Fields) => name)).toEqual(['f', 'web_search']);
      await ask('chat', { tools });
      expect([sent!.tools.length, sent!.web_search_options.search_context_size]).toEqual([1, 'low']);
    });
  });
});

test('a client of responses bounds the searches', async () => {
  searches = 5;
  const before = at.accounts.settled.length;
  const filters = { allowed_domains: ['a.example'] };
  const body = { tools: [{ type: 'web_search_preview', filters }], max_tool_calls: 3 };
  expect((await responses('messages', body)).status).toBe(200);
  expect(sent!.tools).toEqual([
    { type: 'web_search_20250305', name: 'web_search', max_uses: 3, allowed_domains: ['a.example'] },
  ]);
  expect((await responses('responses', body)).status).toBe(200);
  expect([sent!.tools, sent!.max_tool_calls]).toEqual([[{ type: 'web_search', filters }], 3]);
  const settled = at.accounts.settled.slice(before).map(({ details }) => details);
  expect(settled).toEqual([{ web_search: 3 }, { web_search: 3 }]);
});

test('the searches that a request allows are held', async () => {
  const { projectKey, organizationId } = await at.make.tenant();
  await grant(organizationId, 50_000);
  const ask = async (more: Fields) => {
    const body = ofResponses({ model: 'messages', tools: [{ type: 'web_search' }], ...more });
    return (await post('/v1/responses', body, projectKey.value)).status;
  };
  // A hundred, where nobody says how many.
  expect(await ask({})).toBe(402);
  expect(await ask({ max_tool_calls: 5 })).toBe(402);
  expect(await ask({ max_tool_calls: 3 })).toBe(200);
});

test('after each search the model reads its context again, and all of it is charged', async () => {
  input = 1_000_000;
  const charged = async (body: Fields) => {
    const before = at.accounts.settled.length;
    expect((await responses('messages', body)).status).toBe(200);
    return at.accounts.settled[before]!.input_tokens;
  };
  expect(await charged({ tools: [{ type: 'web_search' }] })).toBe(1_000_000);
  expect(await charged({})).toBe(200_000);
});

test('a large request searches too', async () => {
  const tools = [{ type: 'web_search' }];
  const before = at.accounts.settled.length;
  expect((await responses('messages', { input: 'x '.repeat(100_000), tools })).status).toBe(200);
  expect(sent!.tools).toEqual([{ type: 'web_search_20250305', name: 'web_search' }]);
  expect(at.accounts.settled[before]!.details).toEqual({ web_search: 2 });
});

test('the answer repeats the tool', async () => {
  const got = await responses('messages', { tools: [{ type: 'web_search', ...plain }] });
  expect((JSON.parse(got.text) as Fields).tools).toEqual([{ type: 'web_search', ...plain }]);
});

test('no search where the client wants no tool', async () => {
  expect((await responses('chat', { tools: [{ type: 'web_search' }], tool_choice: 'none' })).status).toBe(200);
  expect(sent!.web_search_options).toBeUndefined();
  expect((await responses('messages', { tools: [{ type: 'web_search' }], tool_choice: 'none' })).status).toBe(200);
  expect(sent!.tool_choice).toEqual({ type: 'none' });
});

test('a model need not call functions to search', async () => {
  expect((await responses('search-alone', { tools: [{ type: 'web_search' }] })).status).toBe(200);
});

describe('what a model cannot do is refused by name', () => {
  const search = { type: 'web_search' };
  const named = { type: 'function', name: 'web_search', parameters: {} };
  test.each<[string, Fields, string]>([
    ['not-searching', { tools: [search] }, 'tools.0.type'],
    ['simulated', { tools: [search] }, 'tools.0.type'],
    ['messages', { tools: [{ ...search, external_web_access: false }] }, 'tools.0.external_web_access'],
    ['messages', { tools: [{ ...search, search_content_types: ['image'] }] }, 'tools.0.search_content_types.0'],
    ['messages', { tools: [{ ...search, filters: { blocked_domains: ['a'] } }] }, 'tools.0.filters.blocked_domains'],
    ['messages', { tools: [search, search] }, 'tools.1'],
    ['messages', { tools: [{ type: 'file_search', vector_store_ids: [] }] }, 'tools.0.type'],
    ['chat', { tools: [{ ...search, filters: { allowed_domains: ['a'] } }] }, 'tools.0.filters.allowed_domains'],
    ['chat', { tools: [search], max_tool_calls: 3 }, 'max_tool_calls'],
    ['chat', { tools: [search], tool_choice: 'required' }, 'tool_choice'],
  ])('%s, responses: %j', async (model, body, param) => {
    const got = await responses(model, body);
    const { error } = JSON.parse(got.text) as Fields;
    expect([got.status, error.code, error.param]).toEqual([400, 'unsupported_parameter', param]);
    expect(sent).toBeNull();
  });

  test.each<[string, Fields, string]>([
    ['not-searching', { web_search_options: {} }, 'web_search_options'],
    ['simulated', { web_search_options: {} }, 'web_search_options'],
    ['messages', { web_search_options: { filters: {} } }, 'web_search_options.filters'],
    ['messages', { web_search_options: {}, tool_choice: 'none' }, 'tool_choice'],
    ['messages', { web_search_options: {}, tool_choice: 'required' }, 'tool_choice'],
  ])('%s, chat completions: %j', async (model, body, param) => {
    const got = await chat(model, body);
    const { error } = JSON.parse(got.text) as Fields;
    expect([got.status, error.code, error.param]).toEqual([400, 'unsupported_parameter', param]);
    expect(sent).toBeNull();
  });

  test('a search cannot be chosen by a name, nor have that of a function', async () => {
    const chosen = await responses('messages', {
      tools: [search],
      tool_choice: { type: 'function', name: 'web_search' },
    });
    expect(chosen.status).toBe(400);
    expect((await responses('messages', { tools: [search, named] })).status).toBe(400);
    expect(sent).toBeNull();
  });

  test('a client of messages declares no search of a translated model', async () => {
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
    const body = { model: 'messages', max_tokens: 50, messages: [{ role: 'user', content: 'hi' }], tools };
    expect((await post('/v1/messages', body)).status).toBe(422);
    expect(sent).toBeNull();
  });
});
