import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { passingStage, says } from '../passing-stage.ts';

/** Models whose upstream speaks responses, for clients that do too: bytes pass (contract L.1). */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const apiKey = 'sk-canary-99ef';
let stage: Awaited<ReturnType<typeof passingStage>>;
let upstream: typeof stage.upstream;

const usage = '"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"x":1.0}';
const item = '{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hé"}]}';
const whole = (id: string, model: string, status = 'completed', output = item) =>
  `{"id" : "${id}","object":"response","status":"${status}","zzz":9007199254740993, "model":"${model}","output":[${output}],${usage}}`;
const event = (type: string, members: string) => `event: ${type}\ndata: {"type":"${type}",${members}}\n\n`;
const events = (id: string, model: string, last = 'completed') => [
  event('response.created', `"sequence_number":0,"response":${whole(id, model, 'in_progress', '')}`),
  event('response.in_progress', `"sequence_number":1,"response":${whole(id, model, 'in_progress', '')}`),
  event('response.output_item.added', `"sequence_number":2,"output_index":0,"item":${item}`),
  event('response.output_text.delta', '"sequence_number":3,"item_id":"msg_1","delta":"Hé","logprobs":[]'),
  event('response.unheard_of', '"sequence_number":4,"x":1e3'),
  event(`response.${last}`, `"sequence_number":5,"response":${whole(id, model, last)}`),
];

beforeAll(async () => {
  stage = await passingStage(apiKey, (remote, owner) => {
    const upstream = { kind: 'openai', ...remote, apis: ['chat', 'responses'] };
    return [
      { id: 'passing', upstream, supported_features: ['tools', 'structured_outputs'] },
      { id: 'thinking', upstream },
      { id: 'dedicated', upstream, dedicated_to: owner },
    ];
  });
  ({ upstream } = stage);
});
afterAll(() => stage.close());
beforeEach(() => {
  upstream.received = null;
  upstream.respond = says(whole('resp_theirs', 'theirs'));
});

const post = (body: string | object) => stage.post('/v1/responses', body);
const say = (fields: object = {}, model = 'passing') => ({ model, input: 'Hello', ...fields });

describe('the request', () => {
  test.each<[string, string]>([
    ['"input":"x"', '{"store":false,"model":"theirs","input":"x"}'],
    ['"input":"x","store":null', '{"model":"theirs","input":"x","store":false}'],
    ['"input":"x","store":false,"zzz": [1.0, 1E+2]', '{"model":"theirs","input":"x","store":false,"zzz": [1.0, 1E+2]}'],
    [
      '"input":"x","store":false,"client_metadata":{"file_id":"x"},"reasoning":{"summary":"concise"}',
      '{"model":"theirs","input":"x","store":false,"client_metadata":{"file_id":"x"},"reasoning":{"summary":"concise"}}',
    ],
    ['"policy_ids":[],"input":[{"type":"x"}],"store":false', '{"model":"theirs","input":[{"type":"x"}],"store":false}'],
  ])('with %s arrives as it is, but is not to be kept', async (fields, expected) => {
    const { status, text } = await post(`{"model":"passing",${fields}}`);
    expect(status, text).toBe(200);
    expect(upstream.received).toMatchObject({ url: '/v1/responses', text: expected });
    expect(upstream.received!.headers.authorization).toBe(`Bearer ${apiKey}`);
  });

  test.each([false, true])(
    'that fails for the account of the operator is a failure upstream, streamed: %s',
    async (stream) => {
      const error = '"error":{"code":"insufficient_quota","message":"check the billing details of org-7"}';
      const failed = whole('resp_theirs', 'theirs', 'failed').replace(usage, `${error},"usage":null`);
      const end = event('response.failed', `"sequence_number":1,"response":${failed}`);
      upstream.respond = stream ? says(events('resp_theirs', 'theirs')[0]! + end, 'text/event-stream') : says(failed);
      const { status, text } = await post(say({ stream }));
      expect(status).toBe(502);
      expect(text).toContain('The model provider failed.');
      expect(text).not.toMatch(/org-7|insufficient_quota/);
    },
  );

  test.each([false, true])('that fails upstream is told without its key and host, streamed: %s', async (stream) => {
    const failed = whole('resp_theirs', 'theirs', 'failed').replace(
      usage,
      `"error":{"code":"server_error","message":"the key ${apiKey} at 127.0.0.1"},${usage}`,
    );
    const end = event('response.failed', `"sequence_number":1,"response":${failed}`);
    upstream.respond = stream ? says(events('resp_theirs', 'theirs')[0]! + end, 'text/event-stream') : says(failed);
    const { status, text } = await post(say({ stream }));
    expect([status, text]).toEqual([200, expect.stringContaining('"code":"server_error"')]);
    expect(text).not.toContain(apiKey);
    expect(text).not.toContain('127.0.0.1');
  });

  test('of a dedicated model may be kept', async () => {
    for (const fields of [{}, { store: true }]) {
      await post(say(fields, 'dedicated'));
      expect(JSON.parse(upstream.received!.text)).toEqual({ ...say(fields, 'theirs') });
    }
  });

  test.each<[object, string]>([
    [{ store: true }, 'store'],
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ conversation: 'conv_1' }, 'conversation'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
    [{ background: true }, 'background'],
    [
      {
        input: [
          { role: 'user', content: 'x' },
          { type: 'item_reference', id: 'msg_1' },
        ],
      },
      'input.1',
    ],
    [{ input: [{ id: 'msg_1' }] }, 'input.0'],
    [{ input: [{ type: null, id: 'msg_1' }] }, 'input.0'],
    [{ input: [{ type: 'reasoning', id: 'rs_1', status: 'completed' }] }, 'input.0'],
    [{ input: [{ type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'x' }] }] }, 'input.0'],
    [{ input: [{ type: 'reasoning', id: 'rs_1', summary: [], content: [], encrypted_content: null }] }, 'input.0'],
    [{ input: [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: '' }] }, 'input.0'],
    [
      { input: [{ type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: '' }] }] },
      'input.0',
    ],
    [{ input: [{ type: 'r\u0065asoning', id: 'rs_1', summary: [{}] }] }, 'input.0'],
    [{ input: [{ role: null, id: 'msg_1', content: [] }] }, 'input.0'],
    [{ tools: [{ type: 'shell', skills: [{ skill_id: 'skill_1' }] }] }, 'tools.0.skills.0.skill_id'],
    [{ input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }] }, 'input.0.content.0.file_id'],
    [{ tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }, 'tools.0.vector_store_ids'],
    [{ tools: [{ type: 'code_interpreter', container: 'cntr_1' }] }, 'tools.0.container'],
    [
      { tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['file_1'] } }] },
      'tools.0.container.file_ids',
    ],
    [
      { tools: [{ type: 'shell', environment: { type: 'container_reference', container_id: 'c' } }] },
      'tools.0.environment.container_id',
    ],
    [{ tools: [{ type: 'mcp', server_label: 'x', tunnel_id: 'tunnel_1' }] }, 'tools.0.tunnel_id'],
    [{ tools: [{ type: 'mcp', server_label: 'x', connector_id: 'connector_gmail' }] }, 'tools.0.connector_id'],
    [{ tools: [{ type: 'mcp', connector_id: 'connector_gmail', authorization: '' }] }, 'tools.0.connector_id'],
    [
      { input: [{ type: 'additional_tools', tools: [{ type: 'code_interpreter', container: 'cntr_1' }] }] },
      'input.0.tools.0.container',
    ],
    [
      { input: [{ type: 'tool_search_output', tools: [{ type: 'mcp', connector_id: 'connector_gmail' }] }] },
      'input.0.tools.0.connector_id',
    ],
    [{ prompt_cache_options: { comparison_response_id: 'resp_1' } }, 'prompt_cache_options.comparison_response_id'],
    [{ tools: [{ type: 'file_search', Vector_Store_Ids: ['vs_1'] }] }, 'tools.0.Vector_Store_Ids'],
  ])('%j is refused, unless the model is dedicated', async (fields, param) => {
    const { status, text } = await post(say(fields));
    expect(status).toBe(400);
    expect(JSON.parse(text).error).toMatchObject({ code: 'unsupported_parameter', param });
    expect(upstream.received).toBeNull();
    expect((await post(say(fields, 'dedicated'))).status).toBe(200);
  });

  test('a connector is the caller’s where the caller has the right to it', async () => {
    const tools = [{ type: 'mcp', server_label: 'x', connector_id: 'connector_gmail', authorization: 'ya29' }];
    expect((await post(say({ tools }))).status).toBe(200);
    expect(JSON.parse(upstream.received!.text).tools).toEqual(tools);
  });

  test.each<[object]>([
    [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'AA==' }],
    [{ type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'x' }] }],
    [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'x' }] }],
    [{ type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' }],
    [{ id: null, type: 'message', role: 'user', content: 'x' }],
    [{ role: 'user', content: 'x', client_metadata: { container_id: 'x' } }],
  ])('%j names no state: all of it is there', async (item) => {
    const { status, text } = await post(say({ input: [item] }));
    expect(status, text).toBe(200);
    expect(JSON.parse(upstream.received!.text).input).toEqual([item]);
  });

  test.each<[object, string]>([
    [{ input: [] }, 'input'],
    [{ input: 3 }, 'input'],
    [{ max_output_tokens: 0 }, 'max_output_tokens'],
    [{ max_output_tokens: 1_000_000 }, 'max_output_tokens'],
    [{ stream: 'true' }, 'stream'],
  ])('%j is refused', async (fields, param) => {
    const { status, text } = await post(say(fields));
    expect([status, JSON.parse(text).error.param]).toEqual([400, param]);
    expect(upstream.received).toBeNull();
  });
});

describe('the answer', () => {
  test('is the upstream’s, byte for byte, but for its id and model', async () => {
    const { text } = await post(say());
    const { id } = JSON.parse(text);
    expect(id).toMatch(/^resp_[0-9a-z]{20}/);
    expect(text).toBe(whole(id, 'passing'));
  });

  test.each(['<html>', '[]', '{"id":"a","model":"b"}'])('%s is 502', async (text) => {
    upstream.respond = says(text);
    expect((await post(say())).status).toBe(502);
  });
});

describe('the stream', () => {
  test.each(['completed', 'incomplete', 'failed'])('that is %s is the upstream’s, but for the names', async (last) => {
    upstream.respond = says(events('resp_theirs', 'theirs', last).join(''), 'text/event-stream');
    const { text } = await post(say({ stream: true }));
    const id = /"id" : "([^"]+)"/.exec(text)![1]!;
    expect(id).not.toBe('resp_theirs');
    expect(text).toBe(events(id, 'passing', last).join(''));
  });

  test('of the official SDK has its text', async () => {
    upstream.respond = says(events('resp_theirs', 'theirs').join(''), 'text/event-stream');
    const client = new OpenAI({
      apiKey: stage.mine.projectKey.value,
      baseURL: `http://127.0.0.1:${stage.port}/v1`,
      maxRetries: 0,
    });
    const seen: string[] = [];
    const stream = await client.responses.create({ model: 'passing', input: 'x', stream: true });
    for await (const each of stream) seen.push(each.type);
    expect(seen).toHaveLength(6);
  });

  test('that fails before it says anything is an ordinary error', async () => {
    const failed = event('error', '"code":"rate_limit_exceeded","message":"x","param":null');
    upstream.respond = says(events('a', 'b').slice(0, 2).join('') + failed, 'text/event-stream');
    expect((await post(say({ stream: true }))).status).toBeGreaterThanOrEqual(500);
  });

  test.each<[string, string]>([
    ['an early end', events('a', 'b').slice(0, -1).join('')],
    ['garbage', `${events('a', 'b').slice(0, 4).join('')}data: {"type":\n\n`],
    ['an event without a type', `${events('a', 'b').slice(0, 4).join('')}data: {"x":1}\n\n`],
  ])('%s in the middle ends with an error', async (_, text) => {
    upstream.respond = says(text, 'text/event-stream');
    const { text: seen } = await post(say({ stream: true }));
    const told = seen.split('\n\n').at(-2)!;
    expect(told).toMatch(/^event: error\n/);
    expect(JSON.parse(told.split('data: ')[1]!)).toMatchObject({ type: 'error', code: 'provider_error' });
    const numbers = [...seen.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
    expect(numbers).toEqual([...numbers.keys()]);
  });
});
