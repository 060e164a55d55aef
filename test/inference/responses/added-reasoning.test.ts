import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { passingStage, says } from '../passing-stage.ts';

/** Encrypted reasoning in place of the storing that Weir takes away (contract L.1). */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let stage: Awaited<ReturnType<typeof passingStage>>;
let upstream: typeof stage.upstream;
let asked: string[] = [];

const encrypted = 'reasoning.encrypted_content';
const output = [
  { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' },
  { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}', status: 'completed' },
];
const usage = { input_tokens: 9, output_tokens: 3 };
const response = (status: string) => ({ id: 'resp_1', object: 'response', status, model: 'theirs', output, usage });
const whole = JSON.stringify(response('completed'));
const eventOf = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const events = [
  eventOf('response.created', { sequence_number: 0, response: { ...response('in_progress'), output: [] } }),
  ...output.map((item, at) =>
    eventOf('response.output_item.done', { sequence_number: at + 1, output_index: at, item }),
  ),
  eventOf('response.completed', { sequence_number: 3, response: response('completed') }),
].join('');

const refusal = (fields: object = {}) => ({
  error: {
    message: 'Encrypted content is not supported with this model.',
    type: 'invalid_request_error',
    param: 'include',
    code: null,
    ...fields,
  },
});

/** @param refused what a request that asks for encrypted reasoning is told; undefined if it is answered */
const answering = (refused?: object, status = 400) => {
  upstream.respond = (to) => {
    const body = upstream.received!.text;
    asked.push(body);
    const { include = [], stream } = JSON.parse(body);
    if (refused !== undefined && include.includes(encrypted)) says(refused, 'application/json', status)(to);
    else (stream === true ? says(events, 'text/event-stream') : says(whole))(to);
  };
};

beforeAll(async () => {
  stage = await passingStage('sk-canary-4c11', (remote, owner) => {
    const upstream = { kind: 'openai', ...remote, apis: ['chat', 'responses'] };
    const twins = [upstream, { ...upstream, model: 'twin', priority: 1 }];
    return [
      { id: 'thinking', upstream },
      ...['a', 'b', 'c', 'd', 'e', 'f'].map((id) => ({ id, upstream })),
      { id: 'several', upstreams: twins },
      { id: 'plain', upstream, supported_features: ['tools'] },
      { id: 'dedicated', upstream, dedicated_to: owner },
    ];
  });
  ({ upstream } = stage);
});
afterAll(() => stage.close());
beforeEach(() => {
  asked = [];
  answering();
});

const post = (fields: object, model = 'thinking') => stage.post('/v1/responses', { model, input: 'x', ...fields });
const includes = () => asked.map((body) => JSON.parse(body).include);

describe('a request whose storing is taken away', () => {
  test.each<[string, string]>([
    ['"input":"x"', `{"store":false,"include":["${encrypted}"],"model":"theirs","input":"x"}`],
    ['"input":"x","store":null', `{"include":["${encrypted}"],"model":"theirs","input":"x","store":false}`],
    ['"include":null, "input":"x"', `{"store":false,"model":"theirs","include":["${encrypted}"], "input":"x"}`],
    ['"include": [ ],"input":"x"', `{"store":false,"model":"theirs","include": ["${encrypted}" ],"input":"x"}`],
    [
      '"input":"x","include":["message.output_text.logprobs"]',
      `{"store":false,"model":"theirs","input":"x","include":["${encrypted}","message.output_text.logprobs"]}`,
    ],
    [
      `"input":"x","include":["y","${encrypted}"]`,
      `{"store":false,"model":"theirs","input":"x","include":["y","${encrypted}"]}`,
    ],
    ['"input":"x","include":"y"', '{"store":false,"model":"theirs","input":"x","include":"y"}'],
    ['"input":"x","store":false', '{"model":"theirs","input":"x","store":false}'],
  ])('with %s asks for what replaces it, once', async (fields, expected) => {
    const { status, text } = await stage.post('/v1/responses', `{"model":"thinking",${fields}}`);
    expect(status, text).toBe(200);
    expect(asked).toEqual([expected]);
  });

  test.each(['plain', 'dedicated'])('of a %s model does not', async (model) => {
    expect((await post({}, model)).status).toBe(200);
    expect(includes()).toEqual([undefined]);
  });

  test.each([false, true])('goes on with the items sent back, streamed: %s', async (stream) => {
    const client = new OpenAI({
      apiKey: stage.mine.projectKey.value,
      baseURL: `http://127.0.0.1:${stage.port}/v1`,
      maxRetries: 0,
    });
    const first = { model: 'thinking', input: [{ role: 'user' as const, content: 'x' }] };
    let items: OpenAI.Responses.ResponseOutputItem[] = [];
    if (stream) {
      for await (const each of await client.responses.create({ ...first, stream: true })) {
        if (each.type === 'response.output_item.done') items.push(each.item);
      }
    } else items = (await client.responses.create(first)).output;
    expect(items).toEqual(output);
    const result = { type: 'function_call_output' as const, call_id: 'call_1', output: 'y' };
    const input = [...first.input, ...(items as OpenAI.Responses.ResponseInputItem[]), result];
    const second = await stage.post('/v1/responses', { model: 'thinking', input, stream });
    expect(second.status, second.text).toBe(200);
    expect(JSON.parse(asked[1]!).input).toEqual(input);
    expect(includes()).toEqual([[encrypted], [encrypted]]);
  });
});

describe('an upstream that refuses it', () => {
  test.each<[string, object, number]>([
    ['a', refusal(), 400],
    ['b', refusal({ param: null }), 400],
    ['c', refusal({ param: 'include[0]', message: 'x' }), 400],
    ['d', refusal({ param: undefined, message: 'Unknown parameter: "include"' }), 400],
    ['e', { detail: [{ loc: ['body', 'include', 0], msg: 'Input should be …', type: 'literal_error' }] }, 422],
  ])('is asked once without, and then no more (%s)', async (model, refused, status) => {
    answering(refused, status);
    const first = await post({ include: ['message.output_text.logprobs'] }, model);
    expect(first.status, first.text).toBe(200);
    expect(includes()).toEqual([[encrypted, 'message.output_text.logprobs'], ['message.output_text.logprobs']]);
    for (const stream of [true, false]) expect((await post({ stream }, model)).status).toBe(200);
    expect(asked.slice(2)).toEqual([
      '{"store":false,"model":"theirs","input":"x","stream":true}',
      '{"store":false,"model":"theirs","input":"x","stream":false}',
    ]);
  });

  test('is asked once without, streamed, and charged once', async () => {
    stage.at.accounts.begun.length = 0;
    stage.at.accounts.settled.length = 0;
    answering(refusal());
    const { status, text } = await post({ stream: true }, 'f');
    expect(status, text).toBe(200);
    expect(text).toContain('event: response.completed');
    expect(includes()).toEqual([[encrypted], undefined]);
    const { begun, settled } = stage.at.accounts;
    expect(begun).toHaveLength(1);
    await vi.waitFor(() => expect(settled).toHaveLength(1));
    expect(settled[0]).toMatchObject({ input_tokens: 9, output_tokens: 3, usage_source: 'final' });
  });

  test('of several is asked itself again, not the next', async () => {
    answering(refusal());
    const { status, text } = await post({}, 'several');
    expect(status, text).toBe(200);
    expect(asked.map((body) => JSON.parse(body).model)).toEqual(['theirs', 'theirs']);
  });

  test.each<[string, object, number]>([
    ['another parameter', refusal({ param: 'input', message: 'Encrypted content is not supported' }), 400],
    ['the encrypted content of an item', refusal({ param: null, message: 'The encrypted content is wrong.' }), 400],
    ['a text that includes something', refusal({ param: null, message: 'The input must include a text.' }), 400],
    ['another status', refusal(), 403],
  ])('%s: a refusal is the client’s', async (_, refused, status) => {
    answering(refused, status);
    expect((await post({})).status).toBeGreaterThanOrEqual(400);
    expect(asked).toHaveLength(1);
  });

  test('what the client itself asks for is refused to it', async () => {
    answering(refusal());
    for (const fields of [{ include: [encrypted] }, { include: [encrypted], store: false }]) {
      const { status, text } = await post(fields);
      expect([status, text]).toEqual([400, expect.stringContaining('Encrypted content is not supported')]);
    }
    expect(asked).toHaveLength(2);
  });

  test('an upstream that refuses the second too is not asked a third time, nor remembered', async () => {
    upstream.respond = (to) => {
      asked.push(upstream.received!.text);
      says(refusal(), 'application/json', 400)(to);
    };
    expect((await post({})).status).toBe(400);
    expect(includes()).toEqual([[encrypted], undefined]);
    answering();
    expect((await post({})).status).toBe(200);
    expect(includes().at(-1)).toEqual([encrypted]);
  });
});
