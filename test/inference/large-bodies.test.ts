// Lane: middle: it runs at length
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { chatRoute } from '../../src/data/api/chat/chat.ts';
import { embeddingsRoute } from '../../src/data/api/embeddings/embeddings.ts';
import { countTokensRoute } from '../../src/data/api/messages/count-tokens.ts';
import { messagesRoute } from '../../src/data/api/messages/messages.ts';
import { responsesRoute } from '../../src/data/api/responses/responses.ts';
import type { EffectivePolicies } from '../../src/data/policy/effective.ts';
import { noPolicies, type PolicyGuard } from '../../src/data/policy/guard.ts';
import { type LargeBodies, openLargeBodies } from '../../src/data/request/large-bodies.ts';
import { type ConnectedModels, connect } from '../../src/data/upstream/connect.ts';
import { type DeclaredModel, loadModels, withoutCredentials } from '../../src/data/upstream/models/models.ts';
import { type Route, unknownNeed } from '../../src/http/route.ts';
import { ExactNumber } from '../../src/json/exact-number.ts';
import { readField } from '../../src/rules/text/fields.ts';
import { body, image, text, tool, toolResult, toolUse, user } from './body.ts';
import { send } from './call.ts';
import { FakeSink } from './fake-sink.ts';
import { manualClock } from './manual-clock.ts';

/**
 * Large bodies are read in a thread, and come to the same as if the event loop had read them: the same answer, the same request to
 * the upstream, the same text for rules. The same request is sent twice, once with white space behind it that makes it large.
 */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const large = 70_000;
/** What the upstream was sent. */
const asked: { path: string; body: string }[] = [];
const provider = createServer((incoming, out) => {
  const pieces: Buffer[] = [];
  incoming.on('data', (piece) => pieces.push(piece));
  incoming.on('end', () => {
    asked.push({ path: incoming.url!, body: Buffer.concat(pieces).toString() });
    out.writeHead(400, { 'content-type': 'application/json' });
    out.end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: 'no' } }));
  });
});

let declared: readonly DeclaredModel[];
let models: ConnectedModels;
let threads: LargeBodies;
beforeAll(async () => {
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  const { port } = provider.address() as AddressInfo;
  const remote = { base_url: `http://127.0.0.1:${port}`, private_network: true, api_key_env: 'KEY', model: 'r' };
  const [anthropic, openai] = [
    { kind: 'anthropic', ...remote },
    { kind: 'openai', ...remote, apis: ['chat', 'responses'] },
  ];
  const all = { context_length: 100_000, max_output_length: 5000, input_modalities: ['text', 'image', 'file'] };
  const entries = [
    { id: 'simulated', upstream: { kind: 'simulated', first_token_ms: 0, token_ms: 0 } },
    {
      id: 'strict',
      passthrough: false,
      upstream: anthropic,
      pricing: { prompt: '0.1', completion: '0.1', image: '1' },
    },
    { id: 'chat', passthrough: false, upstream: openai },
    {
      id: 'either',
      upstreams: [
        { ...anthropic, model: 'one' },
        { ...openai, model: 'other' },
      ],
    },
    { id: 'messages', upstream: anthropic },
    { id: 'others', upstream: openai },
    { id: 'embeddings', upstream: { ...openai, apis: ['embeddings'] } },
    { id: 'small', context_length: 50, max_output_length: 50, passthrough: false, upstream: anthropic },
    { id: 'theirs', dedicated_to: 'org_2', upstream: anthropic },
  ];
  declared = loadModels(
    JSON.stringify({ models: entries.map((each) => ({ ...all, aliases: [`also/${each.id}`], ...each })) }),
    {
      KEY: 'sk-canary-aa01',
    },
  );
  models = connect(declared, { clock: manualClock() });
  threads = openLargeBodies(declared);
});
afterAll(async () => {
  await threads.close();
  await models.close();
  provider.closeAllConnections();
  await new Promise((resolve) => provider.close(resolve));
});

type Api = 'messages' | 'count' | 'chat' | 'responses' | 'embeddings';
const routeOf = (
  api: Api,
  over: { readonly policies?: PolicyGuard; readonly large?: Pick<LargeBodies, 'read'> } = {},
): Route => {
  const options = { models, clock: manualClock(), answerId: () => 'id_1', ...over };
  if (api === 'count') return countTokensRoute(models, over.policies, over.large);
  return { messages: messagesRoute, chat: chatRoute, responses: responsesRoute, embeddings: embeddingsRoute }[api](
    options,
  );
};

const outcomeOf = async (route: Route, value: unknown, bytes: number) => {
  asked.length = 0;
  const { stream, ...seen } = await send(route, value, { isForeign: true, bytes });
  const sink = new FakeSink();
  await stream?.(sink);
  const [sent] = asked;
  return { ...seen, streamed: sink.text, path: sent?.path, sent: sent && JSON.stringify(JSON.parse(sent.body)) };
};

const same = async (api: Api, value: unknown, bytes = large) => {
  const read = vi.spyOn(threads, 'read');
  const here = await outcomeOf(routeOf(api), value, 0);
  const there = await outcomeOf(routeOf(api, { large: threads }), value, bytes);
  expect(there).toEqual(here);
  const isRead = read.mock.calls.length === 1;
  read.mockRestore();
  return { ...here, isRead };
};

const call = {
  id: 'c',
  type: 'function',
  function: { name: 'weather', arguments: '{"n":1.0,"big":9007199254740993}' },
};
const conversations: Readonly<Record<Exclude<Api, 'embeddings'>, readonly object[]>> = {
  messages: [
    body(),
    body({ stream: true, system: [text('Be brief.')], tools: [tool('weather')], tool_choice: { type: 'auto' } }),
    body({ messages: [user(image('AAAA'), text('x'))], metadata: { user_id: 'u' } }),
    body({
      tools: [tool('weather')],
      messages: [
        user(text('x')),
        { role: 'assistant', content: [{ ...toolUse('a'), input: { exact: new ExactNumber('1.0') } }] },
        user(toolResult('a', { content: [text('y')] })),
      ],
    }),
    body({ messages: [user(text('x')), user(text('y')), { role: 'assistant', content: 'z' }] }),
    body({ messages: [user({ type: 'text', text: 1 })] }),
    body({ messages: [user({ type: 'text', text: new ExactNumber('1.0') })] }),
    body({ max_tokens: 6000 }),
    body({ thinking: { type: 'adaptive' } }),
    body({ context_management: { edits: [] } }),
    body({ output_config: { format: { type: 'json_schema', schema: { type: 'string', pattern: '^(a|b)+$' } } } }),
    body({ messages: [user(text('x'.repeat(400)))] }),
    body({ policy_ids: ['pol_1'] }),
    body({ thread: 't' }),
  ],
  count: [body(), body({ messages: [user(text('x')), user(image('AAAA'))] }), body({ messages: [] })],
  chat: [
    { messages: [{ role: 'system', content: 's' }, user(text('x'))] },
    { messages: [user(text('x'))], stream: true, stream_options: { include_usage: true }, max_tokens: 20 },
    {
      messages: [
        user(text('x')),
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c', content: 'r' },
      ],
      tools: [{ type: 'function', function: { name: 'weather' } }],
    },
    { messages: [user(text('x'))], seed: 1 },
    { messages: [{ role: 'user', content: [{ type: 'text', text: 1 }] }] },
    { messages: [{ role: 'assistant', tool_calls: [{ ...call, function: { name: 'f', arguments: '[' } }] }] },
    {
      messages: [user(text('x'))],
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'string' } } }],
    },
  ],
  responses: [
    { input: 'x', instructions: 'i', metadata: { a: 'b' } },
    { input: [user({ type: 'input_text', text: 'x' })], stream: true, reasoning: { effort: 'low', summary: 'auto' } },
    {
      input: [
        user({ type: 'input_text', text: 'x' }),
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":1.0}' },
        { type: 'function_call_output', call_id: 'c', output: 'o' },
      ],
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }],
      max_output_tokens: 20,
    },
    { input: [] },
  ],
};
const names = ['simulated', 'strict', 'chat', 'messages', 'others', 'small', 'theirs', 'none'];
const cases = (Object.keys(conversations) as (keyof typeof conversations)[]).flatMap((api) =>
  names.map((name) => [api, name] as const),
);

test.each(cases)('%s of the model %s', async (api, model) => {
  let read = 0;
  for (const each of conversations[api]) {
    const seen = await same(api, { ...each, model });
    // What passes without being parsed needs no thread.
    if (seen.isRead) read += 1;
  }
  const isPassed =
    (model === 'messages' && api !== 'chat' && api !== 'responses') || (model === 'others' && api !== 'messages');
  if (!isPassed && model !== 'others') expect(read).toBe(conversations[api].length);
});

test('tokens for embeddings are read in a thread where they are many, or refused', async () => {
  const of = (many: number, first: unknown = 1) => ({
    model: 'embeddings',
    input: [first, ...Array.from({ length: many }, () => 1)],
  });
  expect(await same('embeddings', of(60_000), 0)).toMatchObject({ isRead: false, path: '/v1/embeddings' });
  expect(await same('embeddings', of(70_000), 0)).toMatchObject({ isRead: true, path: '/v1/embeddings' });
  expect(await same('embeddings', of(60_000, [1]), 0)).toMatchObject({ isRead: true, path: undefined });
  expect(await same('embeddings', { ...of(60_000), model: 'others' }, 0)).toMatchObject({ isRead: false });
  expect(await same('embeddings', { ...of(60_000), model: 'none' }, 0)).toMatchObject({ isRead: true });
});

test('a body that passes is read in a thread above a mebibyte, or if it is refused', async () => {
  const value = { ...body({ model: 'messages' }), 'na\nme': 1, policy_ids: [] };
  expect(await same('messages', value)).toMatchObject({ isRead: false });
  const { isRead, sent } = await same('messages', value, 1_050_000);
  expect(isRead).toBe(true);
  expect(JSON.parse(sent!)).toMatchObject({ model: 'r', 'na\nme': 1 });
  for (const refused of [{ max_tokens: 0 }, { Max_Tokens: 1 }, { messages: [{ content: [{ file_id: 'f' }] }] }])
    expect(await same('messages', { ...value, ...refused })).toMatchObject({ isRead: true, status: 422 });
});

test('of several upstreams each is sent its own, and one that has no place for a request is not asked', async () => {
  const route = routeOf('messages', { large: threads });
  const sent: unknown[] = [];
  for (let each = 0; each < 2; each++) {
    const seen = await outcomeOf(route, body({ model: 'either' }), large);
    sent.push([seen.path, JSON.parse(seen.sent!).model]);
  }
  expect(sent).toEqual([
    ['/v1/messages', 'one'],
    ['/v1/chat/completions', 'other'],
  ]);
  for (let each = 0; each < 2; each++) {
    const seen = await outcomeOf(route, body({ model: 'either', top_k: 5 }), large);
    expect(seen.path).toBe('/v1/messages');
  }
});

test('whatever is in a request', async () => {
  const odd = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(null), fc.constant([]), fc.integer());
  const api = fc.constantFrom<keyof typeof conversations>('messages', 'count', 'chat', 'responses');
  const conceivable = api.chain((each) =>
    fc.record({
      api: fc.constant(each),
      value: fc.constantFrom(...conversations[each]),
      model: fc.constantFrom('simulated', 'strict', 'chat', 'messages'),
      name: fc.constantFrom('messages', 'input', 'max_tokens', 'tools', 'stop', 'stream', 'user', 'temperature', 'x'),
      odd: fc.option(odd, { nil: undefined }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(conceivable, async ({ api, value, model, name, odd }) => {
      await same(api, { ...value, model, ...(odd !== undefined && { [name]: odd }) });
    }),
    { numRuns: 60 },
  );
});

describe('policies', () => {
  test.each(cases.filter(([, name]) => name !== 'theirs' && name !== 'none'))(
    '%s of %s: the same text',
    async (api, model) => {
      const seen: unknown[] = [];
      const policies: PolicyGuard = {
        ...noPolicies,
        meet: () => ({ request: [{}], response: [] }) as unknown as EffectivePolicies,
        judge: ({ view }) => {
          const fields = [
            'text',
            'system',
            'model',
            'endpoint',
            'max_tokens',
            'input_tokens',
            'message_count',
            'stream',
            'metadata',
          ];
          seen.push(fields.map((field) => readField(view, 'request', field)));
          return { refused: null, headers: {}, decisions: [] };
        },
      };
      for (const conversation of conversations[api]) {
        const each = { ...conversation, model, metadata: { team: 'legal' } };
        await outcomeOf(routeOf(api, { policies }), each, 0);
        const here = seen.splice(0);
        await outcomeOf(routeOf(api, { policies, large: threads }), each, large);
        expect(seen.splice(0)).toEqual(here);
      }
    },
  );
});

describe('what is read where', () => {
  const parsedHere = async (bytes: number) => {
    const parse = vi.spyOn(JSON, 'parse');
    await outcomeOf(routeOf('messages', { large: threads }), body({ model: 'simulated' }), bytes);
    const lengths = parse.mock.calls.map(([said]) => String(said).length);
    parse.mockRestore();
    return Math.max(...lengths);
  };
  test('64 KiB on the event loop, and nothing of a body with a byte more', async () => {
    expect(await parsedHere(65_536)).toBe(65_536);
    expect(await parsedHere(65_537)).toBeLessThan(5000);
  });
  test('tokens of a refused request are not counted in a large body', () => {
    const route = routeOf('messages', { large: threads });
    const head = { requestId: 'req_1' } as never;
    expect(route.tokens!({ head, principal: {} as never, body: { large: Buffer.alloc(0) } })).toEqual(unknownNeed);
  });
  test('no credential goes to a thread', () => {
    const keys = (all: readonly DeclaredModel[]) =>
      all.flatMap(({ upstreams }) =>
        upstreams.flatMap(({ upstream }) => ('apiKey' in upstream ? [upstream.apiKey] : [])),
      );
    expect(keys(declared).every((key) => key.reveal() === 'sk-canary-aa01')).toBe(true);
    expect(keys(withoutCredentials(declared)).every((key) => key.reveal() === '')).toBe(true);
  });
});

describe('a body for a model by its alias', () => {
  const aliases = ['also/strict', 'also/chat', 'also/messages', 'also/others', 'also/theirs', 'also/none'];
  test.each(aliases)('%s is read as on the event loop', async (model) => {
    for (const api of ['messages', 'count', 'chat', 'responses'] as const) {
      const { isRead, status } = await same(api, { ...conversations[api][0], model });
      // What passes through is read in a thread above a megabyte only.
      if (model === 'also/strict' || model === 'also/chat') expect(isRead).toBe(true);
      expect(status === 404).toBe(['also/theirs', 'also/none'].includes(model));
    }
  });

  test.each([
    ['also/messages', 'others'],
    ['also/strict', 'messages'],
  ])('%s that is of %s since it was read is sent nowhere', async (alias, other) => {
    const moved = declared.map(({ model, ...rest }) => {
      const others = model.aliases.filter((each) => each !== alias);
      return { ...rest, model: { ...model, aliases: model.id === other ? [...others, alias] : others } };
    });
    const read: LargeBodies['read'] = async (job) => {
      const made = await threads.read(job);
      models.replace(moved);
      return made;
    };
    try {
      const of = body({ model: alias });
      const outcome = await outcomeOf(routeOf('messages', { large: { read } }), of, 2 ** 20 + 1);
      expect([outcome.status, outcome.sent]).toEqual([404, undefined]);
      expect((await outcomeOf(routeOf('messages'), of, 100)).sent).toBeDefined();
    } finally {
      models.replace(declared);
    }
  });
});

test('an organization has sixteen bodies read at once, and the others have theirs beside it', async () => {
  const read = async (organizationId: string) => {
    const text = Buffer.from(JSON.stringify(body({ model: 'simulated' })).padEnd(large));
    const served = { organizationId, allowedModels: null, modelAliases: null };
    return (await threads.read({ api: 'messages', body: new Uint8Array(text), served })) !== null;
  };
  const mine = Array.from({ length: 17 }, () => read('org_1'));
  const theirs = read('org_2');
  expect(await Promise.all(mine)).toEqual([...Array(16).fill(true), false]);
  expect(await theirs).toBe(true);
  expect(await read('org_1')).toBe(true);
});

test('a thread that cannot be had is 503, and a fault of ours is not told', async () => {
  const busy = { read: async () => null };
  const seen = await outcomeOf(routeOf('chat', { large: busy }), { messages: [], model: 'simulated' }, large);
  expect([seen.status, seen.body.error.code]).toEqual([503, 'server_busy']);
  const faulty = { read: async () => ({ fault: 'x' }) };
  await expect(outcomeOf(routeOf('chat', { large: faulty }), {}, large)).rejects.toThrow('could not be read');
});
