import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { type ConnectedModel, connect } from '../../../src/data/upstream/connect.ts';
import { loadModels } from '../../../src/data/upstream/models/models.ts';
import type { GenerateRequest } from '../../../src/data/upstream/port.ts';
import type { HttpServer } from '../../../src/http/listen/server.ts';
import { jsonText } from '../../../src/json/exact-number.ts';
import { bearer, wholeGateway } from '../../support/whole-gateway.ts';

/** What chat completions accept, refuse by name, and make of it (contract G.6, L.1, G.1). */

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let key: string;
/** What the model was asked for last. */
let asked: GenerateRequest | null = null;

beforeAll(async () => {
  const declared = { context_length: 10_000, max_output_length: 500, input_modalities: ['text', 'image', 'file'] };
  const text = JSON.stringify({
    models: [
      {
        id: 'm',
        ...declared,
        supported_features: ['tools', 'structured_outputs', 'reasoning'],
        upstream: { kind: 'simulated' },
      },
      { id: 'long', ...declared, max_output_length: 9000, upstream: { kind: 'simulated', output_tokens: 5 } },
      { id: 'plain', ...declared, supported_features: [], input_modalities: ['text'], upstream: { kind: 'simulated' } },
    ],
  });
  const models = new Map<string, ConnectedModel>();
  for (const [id, hosted] of connect(loadModels(text, {}), { clock: systemClock })) {
    const { upstream } = hosted;
    const seen = {
      ...upstream,
      answer: (request: GenerateRequest, options: Parameters<typeof upstream.answer>[1]) => {
        asked = request;
        return upstream.answer(request, options);
      },
    };
    models.set(id, { ...hosted, upstream: seen });
    // A model that would answer otherwise the next time.
    const { repeatable: _, ...fickle } = seen;
    models.set(`${id}-fickle`, { ...hosted, model: { ...hosted.model, id: `${id}-fickle` }, upstream: fickle });
  }
  at = await wholeGateway({ models });
  key = (await at.make.tenant()).projectKey.value;
  server = await at.listen();
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
});

const send = async (body: object | string) => {
  asked = null;
  const response = await fetch(`http://127.0.0.1:${server.port}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, never> };
};
const usual = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };
const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };
const call = (id: string, args = '{}') => ({ id, type: 'function', function: { name: 'f', arguments: args } });
const user = { role: 'user', content: 'Hello' };
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

test('arguments keep the digits of their numbers', async () => {
  const args = '{"n":12345678901234567890,"in":[1.0,-0.10]}';
  const messages = [
    user,
    { role: 'assistant', tool_calls: [call('a', args)] },
    { role: 'tool', tool_call_id: 'a', content: 'x' },
  ];
  expect((await send({ ...usual, tools: [tool], messages })).status).toBe(200);
  expect(jsonText(asked)).toContain(`"input":${args}`);
});

test('what says nothing changes nothing', async () => {
  const said = [
    user,
    { role: 'assistant', content: 'Yes', tool_calls: [call('a')] },
    { role: 'tool', tool_call_id: 'a', content: [] },
  ];
  const plain = [...said, { role: 'user', content: [{ type: 'text', text: 'Go on' }] }];
  const nothing = { type: 'text', text: '' };
  const hint = { prompt_cache_breakpoint: { mode: 'explicit' } };
  const padded = [
    { role: 'developer', content: '' },
    { role: 'user', content: [nothing, { type: 'text', text: 'Hello', ...hint }] },
    { role: 'assistant', content: '' },
    {
      role: 'assistant',
      content: [nothing, { type: 'text', text: 'Yes' }, { type: 'refusal', refusal: '' }],
      tool_calls: [call('a')],
    },
    { role: 'tool', tool_call_id: 'a', name: 'f', content: [nothing] },
    { role: 'system', content: [nothing] },
    { role: 'assistant', content: null },
    { role: 'user', content: [{ type: 'text', text: 'Go on' }, nothing] },
  ];
  expect((await send({ ...usual, tools: [tool], messages: plain })).status).toBe(200);
  const expected = asked;
  const hints = { logit_bias: {}, prompt_cache_options: { mode: 'implicit', ttl: '30m' } };
  expect((await send({ ...usual, tools: [tool], messages: padded, ...hints })).status).toBe(200);
  expect(asked).toEqual(expected);
});

test.each(['image/png', 'image/PNG'])(
  'an image may be looked at as it is, and media types have no case: %s',
  async (type) => {
    const image_url = { url: `data:${type};base64,AAAA`, detail: 'original' };
    expect(
      (await send({ ...usual, messages: [{ role: 'user', content: [{ type: 'image_url', image_url }] }] })).status,
    ).toBe(200);
  },
);

describe('is refused by name', () => {
  test.each<[what: string, body: object, code: string, param: string | null]>([
    ['no model', { messages: usual.messages }, 'validation_failed', 'model'],
    ['no messages', { model: 'm', messages: [] }, 'validation_failed', 'messages'],
    ['no user', { ...usual, messages: [{ role: 'assistant', content: 'x' }] }, 'validation_failed', 'messages'],
    ['nothing said', { ...usual, messages: [{ role: 'assistant', content: '' }] }, 'validation_failed', 'messages'],
    [
      'a role that is none',
      { ...usual, messages: [{ role: 'robot', content: 'x' }] },
      'validation_failed',
      'messages.0.role',
    ],
    [
      'a message without parts',
      { ...usual, messages: [user, { role: 'user', content: [] }] },
      'validation_failed',
      'messages.1.content',
    ],
    [
      'a result by the name of another call',
      {
        ...usual,
        messages: [
          user,
          { role: 'assistant', tool_calls: [call('a')] },
          { role: 'tool', tool_call_id: 'a', name: 'g', content: '' },
        ],
      },
      'unsupported_parameter',
      'messages.2.name',
    ],
    ['a bias', { ...usual, logit_bias: { 5: 1 } }, 'unsupported_parameter', 'logit_bias'],
    [
      'an answer to compare with',
      { ...usual, prompt_cache_options: { comparison_response_id: 'resp_1' } },
      'unsupported_parameter',
      'prompt_cache_options.comparison_response_id',
    ],
    [
      'a part that is none',
      { ...usual, messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] },
      'unsupported_content_block',
      'messages.0.content.0.type',
    ],
    ['both limits', { ...usual, max_tokens: 5, max_completion_tokens: 400 }, 'validation_failed', 'max_tokens'],
    ['a limit of 0', { ...usual, max_completion_tokens: 0 }, 'validation_failed', 'max_completion_tokens'],
    [
      'more than the model answers',
      { ...usual, max_completion_tokens: 501 },
      'validation_failed',
      'max_completion_tokens',
    ],
    ['more than the model answers, by its old name', { ...usual, max_tokens: 501 }, 'validation_failed', 'max_tokens'],
    ['stream as text', { ...usual, stream: 'true' }, 'validation_failed', 'stream'],
    [
      'options of a stream without one',
      { ...usual, stream_options: { include_usage: true } },
      'validation_failed',
      'stream_options',
    ],
    ['two answers', { ...usual, n: 2 }, 'unsupported_parameter', 'n'],
    ['two answers as text', { ...usual, n: '1' }, 'unsupported_parameter', 'n'],
    ['logprobs', { ...usual, logprobs: true }, 'unsupported_parameter', 'logprobs'],
    ['audio', { ...usual, audio: { voice: 'a' } }, 'unsupported_parameter', 'audio'],
    ['functions of old', { ...usual, functions: [] }, 'unsupported_parameter', 'functions'],
    ['web search', { ...usual, web_search_options: {} }, 'unsupported_parameter', 'web_search_options'],
    ['a field that nobody knows', { ...usual, best_of: 3 }, 'unsupported_parameter', 'best_of'],
    ['what would be stored', { ...usual, store: true }, 'unsupported_parameter', 'store'],
    ['another speed', { ...usual, service_tier: 'priority' }, 'validation_failed', 'service_tier'],
    ['a penalty', { ...usual, frequency_penalty: 0.1 }, 'unsupported_parameter', 'frequency_penalty'],
    ['a penalty beyond all', { ...usual, presence_penalty: 2.1 }, 'validation_failed', 'presence_penalty'],
    ['a seed where nothing repeats itself', { ...usual, model: 'm-fickle', seed: 7 }, 'unsupported_parameter', 'seed'],
    ['a temperature above 2', { ...usual, temperature: 2.1 }, 'validation_failed', 'temperature'],
    ['five stop sequences', { ...usual, stop: ['a', 'b', 'c', 'd', 'e'] }, 'validation_failed', 'stop'],
    ['a blank stop sequence', { ...usual, stop: ['a', ' '] }, 'validation_failed', 'stop.1'],
    [
      'a tool that is no function',
      { ...usual, tools: [{ type: 'custom', custom: {} }] },
      'unsupported_tool',
      'tools.0.type',
    ],
    [
      'a tool with a name that is none',
      { ...usual, tools: [{ type: 'function', function: { name: 'a b' } }] },
      'validation_failed',
      'tools.0.function.name',
    ],
    ['two tools of one name', { ...usual, tools: [tool, tool] }, 'validation_failed', 'tools.1.function.name'],
    [
      'parameters of another type',
      { ...usual, tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'array' } } }] },
      'validation_failed',
      'tools.0.function.parameters.type',
    ],
    ['a choice without tools', { ...usual, tool_choice: 'required' }, 'validation_failed', 'tools'],
    [
      'a tool that was not declared',
      { ...usual, tools: [tool], tool_choice: { type: 'function', function: { name: 'g' } } },
      'validation_failed',
      'tool_choice',
    ],
    [
      'arguments that are no JSON',
      { ...usual, messages: [user, { role: 'assistant', tool_calls: [call('a', '{')] }] },
      'validation_failed',
      'messages.1.tool_calls.0.function.arguments',
    ],
    [
      'arguments that are no object',
      { ...usual, messages: [user, { role: 'assistant', tool_calls: [call('a', '[1]')] }] },
      'validation_failed',
      'messages.1.tool_calls.0.function.arguments',
    ],
    [
      'arguments of too many levels',
      { ...usual, messages: [user, { role: 'assistant', tool_calls: [call('a', `{"a":${nested(20_000)}}`)] }] },
      'request_too_complex',
      'messages.1.tool_calls.0.function.arguments',
    ],
    ...(
      [
        ['with a member twice', '{"a":1,"a":2}'],
        ['with half a character', '{"a":"\\ud800"}'],
        ['that go on after their end', '{},"b":{}'],
      ] as const
    ).map(([what, args]): [string, object, string, string] => [
      `arguments ${what}`,
      { ...usual, messages: [user, { role: 'assistant', tool_calls: [call('a', args)] }] },
      'validation_failed',
      'messages.1.tool_calls.0.function.arguments',
    ]),
    [
      'a call without an answer',
      { ...usual, messages: [user, { role: 'assistant', content: 'x', tool_calls: [call('a')] }, user] },
      'validation_failed',
      'messages.1.tool_calls.0',
    ],
    [
      'an answer without a call',
      { ...usual, messages: [user, { role: 'tool', tool_call_id: 'a', content: '1' }] },
      'validation_failed',
      'messages.1.tool_call_id',
    ],
    [
      'an image by an address without TLS',
      {
        ...usual,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'x' },
              { type: 'image_url', image_url: { url: 'http://a.example/x' } },
            ],
          },
        ],
      },
      'invalid_media',
      'messages.0.content.1',
    ],
    [
      'an image that is no base64',
      {
        ...usual,
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,!' } }] }],
      },
      'invalid_media',
      'messages.0.content.0',
    ],
    [
      'a stored file',
      { ...usual, messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: 'x', file_id: 'f' } }] }] },
      'unsupported_parameter',
      'messages.0.content.0.file.file_id',
    ],
    ['a name that is none', { ...usual, messages: [{ ...user, name: 1 }] }, 'validation_failed', 'messages.0.name'],
    ['a policy that there is not', { ...usual, policy_ids: ['pol_1'] }, 'policy_not_found', 'policy_ids.0'],
    ['tools of a model without', { ...usual, model: 'plain', tools: [tool] }, 'unsupported_parameter', 'tools'],
    [
      'reasoning of a model without',
      { ...usual, model: 'plain', reasoning_effort: 'low' },
      'unsupported_parameter',
      'reasoning_effort',
    ],
    [
      'a schema of a model without',
      { ...usual, model: 'plain', response_format: { type: 'json_object' } },
      'unsupported_parameter',
      'response_format',
    ],
    [
      'an image of a model without',
      {
        ...usual,
        model: 'plain',
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
        ],
      },
      'unsupported_content_block',
      'messages.0.content.0',
    ],
    [
      'more than the context',
      { ...usual, messages: [{ role: 'user', content: 'x'.repeat(40_000) }] },
      'context_length_exceeded',
      'messages',
    ],
  ])('%s', async (_, body, code, param) => {
    const got = await send(body);
    const error = got.body.error as unknown as object;
    expect(error).toMatchObject({ code, param });
    expect(got.status).toBe(code === 'policy_not_found' ? 404 : 400);
    expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type']);
    expect(asked).toBeNull();
  });

  test('a member that is named twice', async () => {
    const text =
      '{"model":"m","max_completion_tokens":1,"max_completion_tokens":400,"messages":[{"role":"user","content":"x"}]}';
    expect((await send(text)).body.error).toMatchObject({ code: 'invalid_json' });
  });
});

describe('the model is asked', () => {
  test('for what it may answer at most, where nobody says', async () => {
    await send(usual);
    expect(asked).toMatchObject({
      max_tokens: 500,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
    });
  });

  test('with everything that was said, in its own terms', async () => {
    const { status } = await send({
      ...usual,
      messages: [
        { role: 'system', content: 'One' },
        { role: 'developer', content: [{ type: 'text', text: 'Two' }] },
        user,
        {
          role: 'assistant',
          content: 'Let me see',
          tool_calls: [call('a', '{"n":100000000000000000000}'), call('b', '')],
        },
        { role: 'tool', tool_call_id: 'b', content: 'B' },
        { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'A' }] },
        {
          role: 'user',
          content: [{ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } }],
        },
        { role: 'system', content: 'Three' },
      ],
      max_tokens: 17,
      temperature: 0.5,
      top_p: 0.9,
      stop: 'END',
      seed: 7,
      tools: [{ type: 'function', function: { name: 'f', description: 'F', strict: true } }],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
      reasoning_effort: 'minimal',
      user: 'u-1',
      n: 1,
      logprobs: false,
      store: false,
      service_tier: 'auto',
      metadata: { a: 'b' },
      modalities: ['text'],
      frequency_penalty: 0,
    });
    expect(status).toBe(200);
    expect(JSON.parse(JSON.stringify(asked))).toEqual({
      model: expect.any(String),
      max_tokens: 17,
      system: [
        { type: 'text', text: 'One' },
        { type: 'text', text: 'Two' },
      ],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Let me see' },
            { type: 'tool_use', id: 'a', name: 'f', input: { n: 1e20 } },
            { type: 'tool_use', id: 'b', name: 'f', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'b', content: 'B' },
            { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'A' }] },
            {
              type: 'document',
              title: 'a.pdf',
              source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
            },
          ],
        },
        { role: 'system', content: [{ type: 'text', text: 'Three' }] },
      ],
      temperature: 0.5,
      top_p: 0.9,
      stop_sequences: ['END'],
      tools: [{ name: 'f', description: 'F', input_schema: { type: 'object' }, strict: true }],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      thinking: { type: 'adaptive' },
      output_config: { format: { type: 'json_schema', schema: { type: 'object' } }, effort: 'low' },
      metadata: { user_id: 'u-1' },
    });
  });

  test.each([
    ['required', { type: 'any' }],
    ['none', { type: 'none' }],
    [
      { type: 'function', function: { name: 'f' } },
      { type: 'tool', name: 'f' },
    ],
  ])('for the tool choice %j', async (tool_choice, expected) => {
    await send({ ...usual, tools: [tool], tool_choice });
    expect(asked!.tool_choice).toEqual(expect.objectContaining(expected));
  });

  test('null is as if it were not there', async () => {
    const nulls = Object.fromEntries(
      [
        'max_tokens',
        'stream',
        'temperature',
        'stop',
        'seed',
        'n',
        'logprobs',
        'tools',
        'tool_choice',
        'response_format',
        'audio',
        'functions',
        'user',
        'store',
        'nobody',
      ].map((name) => [name, null]),
    );
    expect((await send({ ...usual, ...nulls })).status).toBe(200);
  });
});

test.each([
  ['4,096 tokens where nobody names a maximum', 'long', {}, 4096],
  ['the maximum of the model where that is less', 'm', {}, 500],
  ['the maximum that is named', 'long', { max_completion_tokens: 9000 }, 9000],
  ['the maximum that is named, by its old name', 'long', { max_tokens: 8999 }, 8999],
])('an answer reserves %s', async (_, model, fields, tokens) => {
  const left = async (body: object): Promise<number> => {
    const { value } = (await at.make.tenant()).projectKey;
    const response = await fetch(`http://127.0.0.1:${server.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...bearer(value), 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await response.text();
    return Number(response.headers.get('x-ratelimit-remaining-tokens'));
  };
  // The headers of a stream are those of its beginning, when all of its reservation stands.
  const body = { ...usual, model, stream: true };
  expect((await left({ ...body, max_completion_tokens: 1 })) - (await left({ ...body, ...fields }))).toBe(tokens - 1);
});

test('an answer carries the limits and its request id', async () => {
  const { headers, body } = await send(usual);
  expect(headers.get('x-request-id')).toMatch(/^req_/);
  expect(headers.get('x-ratelimit-limit-requests')).not.toBeNull();
  expect(body.id).toMatch(/^chatcmpl-[0-9a-z]{26}$/);
});

describe('a schema that the simulated model cannot keep is refused where the caller wrote it', () => {
  const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^a' } }, required: ['a'] };
  const tools = [tool, { type: 'function', function: { name: 'g', parameters: schema } }];
  const toolChoice = { type: 'function', function: { name: 'g' } };
  test.each<[string, object, string]>([
    ['of a tool', { tools, tool_choice: toolChoice }, 'tools.1.function.parameters.properties.a.pattern'],
    [
      'of the answer',
      { response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } },
      'response_format.json_schema.schema.properties.a.pattern',
    ],
  ])('%s', async (_, over, param) => {
    for (const stream of [false, true]) {
      const { status, body } = await send({ ...usual, ...over, stream });
      expect([status, body]).toMatchObject([400, { error: { code: 'unsupported_parameter', param } }]);
    }
  });
});
