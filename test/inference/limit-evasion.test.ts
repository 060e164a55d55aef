// Lane: middle: it runs at length
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { callsOf } from './limited-calls.ts';
import { type Asked, type LimitedService, limitedService } from './limited-service.ts';

/**
 * No parameter and no way to write one escapes a limit, on any of the three APIs: a request is refused before its upstream is
 * asked, and counts as an attempt, or its reservation holds the longest answer that the upstream may give (contract F.2, F.4).
 */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const input = 9;
const user = { role: 'user', content: 'abc' };
const apis = {
  messages: { path: '/v1/messages', limit: 'max_tokens', said: { messages: [user] }, unnamed: null },
  chat: { path: '/v1/chat/completions', limit: 'max_completion_tokens', said: { messages: [user] }, unnamed: 4096 },
  responses: { path: '/v1/responses', limit: 'max_output_tokens', said: { input: 'abc' }, unnamed: 4096 },
} as const;
type Api = keyof typeof apis;
const names = Object.keys(apis) as Api[];

let service: LimitedService;
let keys = 0;
beforeAll(async () => {
  service = await limitedService({ tier: 5 });
});
afterAll(() => service.stop());
afterEach(() => expect(service.troubles).toEqual([]));
const { used } = callsOf(() => service);

/** A request of a new key, and what the windows and the upstream have seen of it. */
const seen = async (
  api: Api,
  body: unknown,
  {
    path = apis[api].path,
    method = 'POST',
    headers = {},
  }: { path?: string; method?: string; headers?: Record<string, string> } = {},
) => {
  keys += 1;
  const id = `key_${keys}`;
  const token = service.key({ id });
  const asked = service.upstream.asked.length;
  const passed = service.upstream.passed.length;
  service.upstream.free = false;
  const answering = service.ask(headers['x-api-key'] === '' ? null : token, method, path, {
    body,
    headers: { ...headers, ...(headers['x-api-key'] === '' && { 'x-api-key': token }) },
  });
  let answered: Asked | null = null;
  void answering.then((answer) => {
    answered = answer;
  });
  await expect.poll(() => answered !== null || service.upstream.held > 0).toBe(true);
  const counted = { requests: used('key', id, 'requests_per_minute'), tokens: used('key', id, 'tokens_per_minute') };
  service.upstream.free = true;
  service.upstream.release(10);
  const { status } = await answering;
  const { upstream } = service;
  return { status, ...counted, calls: upstream.asked.slice(asked), passed: upstream.passed.slice(passed) };
};

const body = (api: Api, fields: object, model = 'm') => ({ model, ...apis[api].said, ...fields });
const every = <T>(row: (api: Api) => T): T[] => names.map(row);

/** Raw JSON of a body, with members that no object has. */
const raw = (api: Api, members: string, model = 'm'): string =>
  `${JSON.stringify(body(api, {}, model)).slice(0, -1)},${members}}`;
const limitOf = (api: Api, value: string, model = 'm'): string => raw(api, `"${apis[api].limit}":${value}`, model);

/** A name of which a letter is written as an escape. */
const escaped = (name: string): string => `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`;

type Row = readonly [api: Api, what: string, body: unknown];
const numbers = [
  '0',
  '-1',
  '1.5',
  '"5"',
  'true',
  '[5]',
  '{}',
  '999991',
  '1e30',
  '1e400',
  '-1e400',
  '9007199254740993',
  '1e-400',
];

describe('is refused, counted, and never asked', () => {
  const rows: readonly Row[] = [
    ...names.flatMap((api) => numbers.map((value): Row => [api, `a maximum of ${value}`, limitOf(api, value)])),
    ...names.flatMap((api): Row[] => {
      const { limit } = apis[api];
      const others = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'].filter((name) => name !== limit);
      return [
        [api, 'a maximum twice', raw(api, `"${limit}":1,"${limit}":999990`)],
        [api, 'a maximum twice, once escaped', raw(api, `"${limit}":1,"\\u006d${limit.slice(1)}":999990`)],
        ...others.map((other): Row => [api, `${other} beside ${limit}`, body(api, { [limit]: 1, [other]: 999_990 })]),
        ...others.map((other): Row => [api, `${other} below ${limit}`, body(api, { [limit]: 999_990, [other]: 1 })]),
        [api, 'two answers', body(api, { [limit]: 5, n: 2 })],
        [api, 'the best of two answers', body(api, { [limit]: 5, best_of: 2 })],
        [api, 'a stream as text', body(api, { [limit]: 5, stream: 'true' })],
        [api, 'a stream as a number', body(api, { [limit]: 5, stream: 1 })],
        [api, 'a model twice', raw(api, `"${limit}":5,"model":"other"`)],
        [api, 'models in a list', body(api, { [limit]: 5, model: ['m', 'm'] })],
        [api, 'requests in a list', [body(api, { [limit]: 5 }), body(api, { [limit]: 5 })]],
        [
          api,
          'two requests',
          `${JSON.stringify(body(api, { [limit]: 5 }))}${JSON.stringify(body(api, { [limit]: 5 }))}`,
        ],
        [api, 'conversations in a list', body(api, { [limit]: 5, messages: [[user]], input: [['abc']] })],
        [api, 'prompts in a list', body(api, { [limit]: 5, prompt: ['a', 'b'] })],
        [api, 'a job for later', body(api, { [limit]: 5, background: true })],
        [api, 'a limit in an options object', body(api, { [limit]: 5, extra_body: { max_tokens: 999_990 } })],
      ];
    }),
    ['messages', 'no maximum', body('messages', {})],
    ['messages', 'a maximum of null', body('messages', { max_tokens: null })],
  ];
  test.each(rows)('%s: %s', async (api, _, sent) => {
    const { status, requests, tokens, calls } = await seen(api, sent);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    expect([requests, tokens, calls.length]).toEqual([1, 0, 0]);
  });
});

describe('holds the longest answer that the upstream may give', () => {
  test.each([
    ...names.flatMap((api) => [
      [api, 'at the lower bound', body(api, { [apis[api].limit]: 1 }), 1] as const,
      [api, 'at the upper bound', body(api, { [apis[api].limit]: 999_990 }), 999_990] as const,
      [api, 'as a decimal', limitOf(api, '7.0'), 7] as const,
      [api, 'with an exponent', limitOf(api, '5E3'), 5000] as const,
      [api, 'in a query, which says nothing', body(api, { [apis[api].limit]: 60 }), 60] as const,
    ]),
    ['chat', 'by its old name', body('chat', { max_tokens: 77 }), 77] as const,
    ['chat', 'by its old name beside null', body('chat', { max_tokens: 77, max_completion_tokens: null }), 77] as const,
  ])('%s: a maximum %s', async (api, what, sent, most) => {
    const path = what.includes('query') ? `${apis[api].path}?${apis[api].limit}=1&max_tokens=1&n=9` : apis[api].path;
    const { status, requests, tokens, calls } = await seen(api, sent, { path });
    expect(status).toBe(200);
    expect([requests, tokens]).toEqual([1, input + most]);
    expect(calls.map(({ max_tokens }) => max_tokens)).toEqual([most]);
  });

  test.each(
    (['chat', 'responses'] as const).flatMap((api) => [
      [api, 'no maximum', body(api, {})] as const,
      [api, 'a maximum of null', body(api, { [apis[api].limit]: null })] as const,
    ]),
  )('%s: %s reserves the first 4,096 tokens, and grows', async (api, _, sent) => {
    const { status, requests, tokens } = await seen(api, sent);
    expect([status, requests, tokens]).toEqual([200, 1, input + 4096]);
  });
});

describe('by a model that passes what it is asked, is refused, counted, and never asked', () => {
  const counts = ['0', '-1', '1.5', '"2"', 'true', '[2]', '{}', '129', '1e30'];
  const others: Readonly<Record<Api, readonly string[]>> = {
    messages: ['max_completion_tokens', 'max_output_tokens', 'n', 'best_of'],
    chat: ['max_output_tokens'],
    responses: ['max_tokens', 'max_completion_tokens', 'n', 'best_of'],
  };
  /** Names of members, as servers that do not tell one case from another read them. */
  const common = ['Model', 'STREAM', '\u017ftream', 'N_predict', 'Policy_IDs'];
  const respelt: Readonly<Record<Api, readonly string[]>> = {
    messages: [...common, 'Messages'],
    chat: [...common, 'Messages', 'Store'],
    responses: [...common, 'Input', 'Store'],
  };
  const unknown = ['max_new_tokens', 'max_tokens_to_sample', 'max_length', 'n_predict', 'num_predict', 'n_cmpl'];
  const of = (api: Api, fields: object) => body(api, { [apis[api].limit]: 5, ...fields }, 'p');
  const rows: readonly Row[] = [
    ...names.flatMap((api) => numbers.map((value): Row => [api, `a maximum of ${value}`, limitOf(api, value, 'p')])),
    ...['n', 'best_of'].flatMap((name) =>
      counts.map(
        (value): Row => ['chat', `${name} of ${value}`, raw('chat', `"max_tokens":5,"${name}":${value}`, 'p')],
      ),
    ),
    ...numbers.map((value): Row => ['chat', `an old maximum of ${value}`, raw('chat', `"max_tokens":${value}`, 'p')]),
    ...names.flatMap((api): Row[] => {
      const { limit } = apis[api];
      return [
        ...[...others[api], ...unknown].flatMap((name): Row[] => [
          [api, `${name}, which it does not have`, of(api, { [name]: 999_990 })],
          [api, `${name} of -1`, of(api, { [name]: -1 })],
          [api, `${name}, escaped`, raw(api, `"${limit}":5,"${escaped(name)}":999990`, 'p')],
        ]),
        [api, 'a maximum twice', raw(api, `"${limit}":1,"${limit}":999990`, 'p')],
        [api, 'a maximum twice, once escaped', raw(api, `"${limit}":1,"${escaped(limit)}":999990`, 'p')],
        ...[limit.toUpperCase(), limit.replace('k', '\u212a'), ...respelt[api]].map(
          (name): Row => [api, `${name}, which some servers read`, of(api, { [name]: 'other' })],
        ),
        [api, 'a stream as text', of(api, { stream: 'true' })],
        [api, 'a stream as a number', of(api, { stream: 1 })],
        [api, 'a stream in a list', of(api, { stream: [true] })],
        [api, 'a model twice', raw(api, `"${limit}":5,"model":"other"`, 'p')],
        [api, 'a model twice, once escaped', raw(api, `"${limit}":5,"mod\\u0065l":"other"`, 'p')],
        [api, 'models in a list', { ...of(api, {}), model: ['p', 'p'] }],
        [api, 'requests in a list', [of(api, {}), of(api, {})]],
        [api, 'two requests', JSON.stringify(of(api, {})).repeat(2)],
        [api, 'conversations in a list', of(api, { messages: [[user]], input: [['abc']] })],
      ];
    }),
    ['messages', 'no maximum', body('messages', {}, 'p')],
    ['messages', 'a maximum of null', body('messages', { max_tokens: null }, 'p')],
  ];
  test.each(rows)('%s: %s', async (api, _, sent) => {
    const { status, requests, tokens, calls, passed } = await seen(api, sent);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    expect([requests, tokens, calls.length, passed.length]).toEqual([1, 0, 0, 0]);
  });
});

describe('by a model that passes what it is asked, holds the longest answers that the upstream may give', () => {
  type Held = readonly [api: Api, what: string, body: unknown, most: number];
  const rows: readonly Held[] = [
    ...names.flatMap((api): Held[] => {
      const { limit } = apis[api];
      const parsed = { policy_ids: [] };
      return [
        [api, 'a maximum at the lower bound', body(api, { [limit]: 1 }, 'p'), 1],
        [api, 'a maximum at the upper bound', body(api, { [limit]: 999_990 }, 'p'), 999_990],
        [api, 'a maximum as a decimal', limitOf(api, '7.0', 'p'), 7],
        [api, 'a maximum with an exponent', limitOf(api, '5E3', 'p'), 5000],
        [api, 'an escaped name', raw(api, `"${escaped(limit)}":70`, 'p'), 70],
        [api, 'what has to be parsed', body(api, { [limit]: 70, ...parsed }, 'p'), 70],
        [api, 'other names that are null', body(api, { [limit]: 70, n_predict: null, max_new_tokens: null }, 'p'), 70],
      ];
    }),
    ...[
      { max_tokens: 1, max_completion_tokens: 999_990 },
      { max_tokens: 999_990, max_completion_tokens: 1 },
    ].map((fields): Held => ['chat', JSON.stringify(fields), body('chat', fields, 'p'), 999_990]),
    ...[
      { max_tokens: 5, n: 3 },
      { max_tokens: 5, best_of: 3 },
      { max_completion_tokens: 5, n: 2, best_of: 3 },
      { max_completion_tokens: 5, n: 3, best_of: 2 },
      { max_tokens: 5, n: 3, policy_ids: [] },
    ].map((fields): Held => ['chat', JSON.stringify(fields), body('chat', fields, 'p'), 15]),
    ['chat', 'several answers without a maximum', body('chat', { n: 2 }, 'p'), 8192],
    ['chat', 'no maximum', body('chat', {}, 'p'), 4096],
    ['responses', 'no maximum', body('responses', {}, 'p'), 4096],
    ['responses', 'a maximum of null', body('responses', { max_output_tokens: null }, 'p'), 4096],
  ];
  test.each(rows)('%s: %s', async (api, _, sent, most) => {
    const { status, requests, tokens, passed } = await seen(api, sent);
    expect([status, requests, tokens]).toEqual([200, 1, input + most]);
    // The upstream reads what Weir has read.
    const { policy_ids: _1, ...asked } =
      typeof sent === 'string' ? JSON.parse(sent) : (sent as Record<string, unknown>);
    const stateless = { store: false, include: ['reasoning.encrypted_content'] };
    expect(passed).toEqual([{ ...asked, model: 'up-p', ...(api === 'responses' && stateless) }]);
  });

  test.each(names)('%s: the other header of a key counts for the same key', async (api) => {
    const sent = body(api, { [apis[api].limit]: 5 }, 'p');
    const { status, requests, tokens } = await seen(api, sent, { headers: { 'x-api-key': '' } });
    expect([status, requests, tokens]).toEqual([200, 1, input + 5]);
  });
});

describe('another way in', () => {
  test.each(names)('%s: the other header of a key counts for the same key', async (api) => {
    const sent = body(api, { [apis[api].limit]: 5 });
    const { status, requests, tokens } = await seen(api, sent, { headers: { 'x-api-key': '' } });
    expect([status, requests, tokens]).toEqual([200, 1, input + 5]);
  });

  test.each(
    names.flatMap((api) => [
      [api, 'api-key'] as const,
      [api, 'x-goog-api-key'] as const,
      [api, 'openai-api-key'] as const,
    ]),
  )('%s: a key in %s is none', async (api, header) => {
    const { path, limit } = apis[api];
    const asked = service.upstream.asked.length;
    const { status } = await service.ask(null, 'POST', path, {
      body: body(api, { [limit]: 5 }),
      headers: { [header]: service.key({ id: 'key_else' }) },
    });
    expect([status, service.upstream.asked.length - asked]).toEqual([401, 0]);
  });

  const spellings = ['/', '//', '%2f', '?', '/../messages/', '.', ';x=1', '#x'];
  test.each(every((api) => spellings.map((end) => [api, end] as const)).flat())(
    '%s%s is the same route or none, and counts',
    async (api, end) => {
      const { limit, path } = apis[api];
      const { status, requests, tokens, calls } = await seen(api, body(api, { [limit]: 5 }), { path: `${path}${end}` });
      expect([200, 400, 404, 405, 422]).toContain(status);
      expect(requests).toBe(1);
      // Whatever is asked has been reserved.
      expect(tokens).toBe(calls.length === 0 ? 0 : input + calls[0]!.max_tokens);
      expect(calls.length).toBe(status === 200 ? 1 : 0);
    },
  );
});
