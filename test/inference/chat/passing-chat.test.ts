import fc from 'fast-check';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { chunk, completion, done, recorded, recordedCompletion } from '../../upstream/openai/mock.ts';
import { passingStage, says } from '../passing-stage.ts';

/** Models whose upstream speaks chat completions, for clients that do too: bytes pass (contract L.1). */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const apiKey = 'sk-canary-88cd';
let stage: Awaited<ReturnType<typeof passingStage>>;
let upstream: typeof stage.upstream;

const streams = (...events: readonly string[]) => says(events.join(''), 'text/event-stream');

beforeAll(async () => {
  stage = await passingStage(apiKey, (remote, owner) => {
    const upstream = { kind: 'openai', ...remote };
    return [
      { id: 'passing', upstream },
      { id: 'strict', upstream, passthrough: false },
      { id: 'dedicated', upstream, dedicated_to: owner },
      { id: 'several', upstreams: [upstream, { ...upstream, model: 'others' }] },
    ];
  });
  ({ upstream } = stage);
});
afterAll(() => stage.close());
beforeEach(() => {
  upstream.received = null;
  upstream.respond = says(recordedCompletion);
});

const post = (body: string | object) => stage.post('/v1/chat/completions', body, { 'anthropic-beta': 'x' });
const say = (fields: object = {}, model = 'passing') => ({
  model,
  messages: [{ role: 'user', content: 'Hello' }],
  ...fields,
});

const values = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom('9007199254740993', '1.0', '-0', '1E+2', 'null', 'true', '"\\u0041\\/"', '{}', '[ ]'),
    fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
    fc.array(tie('value')).map((items) => `[${items.join(' ,')}]`),
    fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), tie('value')).map((members) => {
      const fields = Object.entries(members).map(([name, value]) => `${JSON.stringify(name)}\t: ${value}`);
      return `{${fields.join(',\n')}}`;
    }),
  ),
})).value;

describe('the request', () => {
  test('arrives byte for byte, but for the model and what Weir alone understands', async () => {
    await fc.assert(
      fc.asyncProperty(values, values, fc.constantFrom(0, 1, 2), fc.boolean(), async (one, two, place, isNamed) => {
        const members = [
          `"zzz":${one}`,
          `"messages" :[{"role":"user","content":[{"type":"unheard_of","of":${two}}],"more": ${one}}]`,
          '"max_tokens":10.0',
          `"tools":[{"type":"web_search","x":${two}}]`,
        ];
        const body = (model: string, policies: readonly string[]) => {
          const all = [...members];
          all.splice(place * 2, 0, ` "model" : ${JSON.stringify(model)}`);
          all.splice(place, 0, ...policies);
          return `{${all.join(' ,')} }`;
        };
        const { status, text } = await post(body('passing', isNamed ? ['"policy_ids": []'] : []));
        expect(status, text).toBe(200);
        const sent = upstream.received!.text;
        if (isNamed) {
          expect(sent).not.toContain('policy_ids');
          expect(sent.replaceAll(/\s/g, '')).toBe(body('theirs', []).replaceAll(/\s/g, ''));
        } else expect(sent).toBe(body('theirs', []));
      }),
      { numRuns: 60 },
    );
  });

  test('has the upstream’s key and never the client’s', async () => {
    await post(say());
    expect(upstream.received).toMatchObject({
      url: '/v1/chat/completions',
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(JSON.stringify(upstream.received)).not.toContain(stage.mine.projectKey.value);
    expect(upstream.received!.headers).not.toHaveProperty('anthropic-beta');
  });

  test.each<[string, string]>([
    ['"stream":true', '{"stream_options":{"include_usage":true},"model":"theirs","messages":[{}],"stream":true}'],
    [
      '"stream":true,"stream_options":null',
      '{"model":"theirs","messages":[{}],"stream":true,"stream_options":{"include_usage":true}}',
    ],
    [
      '"stream":true,"stream_options":{}',
      '{"model":"theirs","messages":[{}],"stream":true,"stream_options":{"include_usage":true}}',
    ],
    [
      '"stream":true,"stream_options":{"x":1}',
      '{"model":"theirs","messages":[{}],"stream":true,"stream_options":{"include_usage":true,"x":1}}',
    ],
    [
      '"stream":true,"stream_options":{"include_usage":false}',
      '{"model":"theirs","messages":[{}],"stream":true,"stream_options":{"include_usage":true}}',
    ],
    [
      '"stream":true,"stream_options":{"include_usage":true}',
      '{"model":"theirs","messages":[{}],"stream":true,"stream_options":{"include_usage":true}}',
    ],
    ['"stream":false', '{"model":"theirs","messages":[{}],"stream":false}'],
    // With policies to take out.
    [
      '"stream":true,"policy_ids":[],"stream_options":{"x":1}',
      '{"model":"theirs","messages":[{}],"stream":true,"stream_options":{"include_usage":true,"x":1}}',
    ],
    [
      '"stream":true,"policy_ids":[]',
      '{"stream_options":{"include_usage":true},"model":"theirs","messages":[{}],"stream":true}',
    ],
  ])('with %s asks for the usage of a stream', async (fields, expected) => {
    if (fields.includes('"stream":true')) upstream.respond = streams(...recorded);
    const { status, text } = await post(`{"model":"passing","messages":[{}],${fields}}`);
    expect(status, text).toBe(200);
    expect(upstream.received!.text).toBe(expected);
  });

  test('to several upstreams names the model as each of them does', async () => {
    const names: unknown[] = [];
    for (let round = 0; round < 2; round += 1) {
      await post(say({}, 'several'));
      names.push(JSON.parse(upstream.received!.text).model);
    }
    expect(names.sort()).toEqual(['others', 'theirs']);
  });

  test.each<[string, object, string]>([
    ['an answer that is kept', { store: true }, 'store'],
    ['an earlier answer', { previous_response_id: 'resp_1' }, 'previous_response_id'],
    ['a conversation', { conversation: { id: 'conv_1' } }, 'conversation'],
    ['a prompt', { prompt: { id: 'pmpt_1' } }, 'prompt'],
    ['work in the background', { background: true }, 'background'],
    ['a container', { container: 'cntr_1' }, 'container'],
    [
      'a file',
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file_1' } }] }] },
      'messages.0.content.0.file.file_id',
    ],
    ['files of a tool', { tools: [{ type: 'x', file_ids: ['file_1'] }] }, 'tools.0.file_ids'],
    ['a store of vectors', { tools: [{ type: 'x', vector_store_ids: ['vs_1'] }] }, 'tools.0.vector_store_ids'],
    ['a skill', { tools: [{ type: 'x', skills: [{ skill_id: 'skill_1' }] }] }, 'tools.0.skills.0.skill_id'],
    ['a tunnel to a server', { tools: [{ type: 'mcp', tunnel_id: 'tunnel_1' }] }, 'tools.0.tunnel_id'],
    [
      'an answer to compare with',
      { prompt_cache_options: { comparison_response_id: 'resp_1' } },
      'prompt_cache_options.comparison_response_id',
    ],
    ['a file in other letters', { tools: [{ type: 'x', File_ID: 'file_1' }] }, 'tools.0.File_ID'],
    ['files in other letters', { tools: [{ type: 'x', 'file_id\u017f': ['file_1'] }] }, 'tools.0.file_id\u017f'],
    ['a voice of the account', { audio: { format: 'wav', voice: { id: 'voice_1' } } }, 'audio.voice'],
    ['a spoken answer', { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }, 'messages.0.audio'],
  ])('that names %s is refused, unless the model is dedicated', async (_, fields, param) => {
    const { status, text } = await post(say(fields));
    expect(status).toBe(400);
    expect(JSON.parse(text).error).toMatchObject({ code: 'unsupported_parameter', param });
    expect(upstream.received).toBeNull();
    expect((await post(say(fields, 'dedicated'))).status).toBe(200);
    expect(JSON.parse(upstream.received!.text)).toMatchObject(fields);
  });

  test('a voice by its name is anybody’s', async () => {
    expect((await post(say({ audio: { format: 'wav', voice: 'alloy' } }))).status).toBe(200);
  });

  test('own data may have such names', async () => {
    const parameters = { type: 'object', properties: { file_id: { type: 'string' } } };
    const tools = [{ type: 'function', function: { name: 'f', parameters } }];
    expect((await post(say({ tools, metadata: { file_id: 'x' }, store: false }))).status).toBe(200);
  });

  test.each<[object, string]>([
    [{ model: '' }, 'model'],
    [{ messages: [] }, 'messages'],
    [{ messages: [{ content: 3 }] }, 'messages.0.content'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ max_tokens: 1, max_completion_tokens: 1_000_000 }, 'max_completion_tokens'],
    [{ n: 129 }, 'n'],
    [{ n: [1] }, 'n'],
    [{ stream: 'true' }, 'stream'],
    [{ stream_options: { include_usage: 'true' } }, 'stream_options.include_usage'],
    [{ policy_ids: 'pol_1' }, 'policy_ids'],
  ])('%j is refused', async (fields, param) => {
    const { status, text } = await post(say(fields));
    const model = 'model' in fields ? 404 : 400;
    expect([400, model]).toContain(status);
    if (status === 400) expect(JSON.parse(text).error.param).toBe(param);
    expect(upstream.received).toBeNull();
  });

  test('a member that comes twice is refused', async () => {
    const { status, text } = await post('{"model":"passing","messages":[{}],"max_tokens":1,"max_tokens":900000}');
    expect([status, JSON.parse(text).error.code]).toEqual([400, 'invalid_json']);
  });
});

describe('the answer', () => {
  test('is the upstream’s, byte for byte, but for its id and model', async () => {
    const text = (id: string, model: string) =>
      `{"id" : "${id}","zzz":9007199254740993, "choices":[{"message":{"content":"é","x":1.0},"finish_reason":"new"}],\n` +
      `"model":"${model}","usage":{"prompt_tokens":3,"completion_tokens":2,"y":null}}`;
    upstream.respond = says(text('chatcmpl-theirs', 'theirs'));
    const answer = await post(say());
    const { id } = JSON.parse(answer.text);
    expect(id).toMatch(/^chatcmpl-/);
    expect(id).not.toBe('chatcmpl-theirs');
    expect(answer.text).toBe(text(id, 'passing'));
  });

  test.each<[string, string]>([
    ['no JSON', '<html>'],
    ['no choices', '{"id":"a","model":"b"}'],
    ['a list', '[]'],
    ['bad UTF-8', '{"id":"a","model":"b","choices":["\xff"]}'],
  ])('that is %s is 502', async (_, text) => {
    upstream.respond = (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.from(text, 'latin1'));
    const { status, text: told } = await post(say());
    expect([status, JSON.parse(told).error.code]).toEqual([502, 'provider_error']);
  });

  test('that is a refusal is told in its words and with its place, without host and key', async () => {
    const error = {
      message: `Bad. At 127.0.0.1 with ${apiKey}.`,
      type: 'invalid_request_error',
      param: 'tools.0',
      code: 'unsupported_parameter',
    };
    upstream.respond = says({ error }, 'application/json', 400);
    const { status, text } = await post(say());
    expect(status).toBe(400);
    expect(JSON.parse(text).error).toMatchObject({ ...error, message: 'Bad. At [host] with [key].' });
  });
});

describe('the stream', () => {
  const parts = (text: string) => text.split('\n\n').slice(0, -1);

  test('is the upstream’s, but for ids, models and a usage that nobody asked for', async () => {
    upstream.respond = streams(...recorded);
    for (const include_usage of [true, false, undefined]) {
      const { text, headers } = await post(say({ stream: true, stream_options: { include_usage } }));
      expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
      const events = parts(text);
      const id = JSON.parse(events[0]!.slice(6)).id as string;
      expect(id).toMatch(/^chatcmpl-[0-9a-z]{20}/);
      const own = recorded
        .filter((event) => event.startsWith('data') && (include_usage === true || !event.includes('"choices":[]')))
        .map((event) => event.replace('"chatcmpl-1"', `"${id}"`).replace('"remote"', '"passing"'));
      expect(text).toBe(own.join(''));
    }
  });

  test.each<[string, readonly string[]]>([
    [
      'names after the choices',
      ['data: {"choices":[{"delta":{"content":"x"}}],"model":"remote","id":"chatcmpl-1"}\n\n'],
    ],
    [
      'line ends of another kind',
      ['data: {"id":"chatcmpl-1","model":"remote","choices":[{"delta":{"content":"x"}}]}\r\n\r\n'],
    ],
    ['several lines', ['data: {"id":"chatcmpl-1","model":"remote",\ndata: "choices":[{"delta":{"content":"x"}}]}\n\n']],
    [
      'fields of events',
      ['event: x\nid: 3\ndata:{"id":"chatcmpl-1","model":"remote","choices":[{"delta":{"content":"x"}}]}\n\n'],
    ],
    [
      'names that change',
      [
        'data: {"id":"chatcmpl-1","model":"remote","choices":[]}\n\n',
        'data: {"id":"chatcmpl-2","model":"remote2","choices":[{"delta":{"content":"x"}}]}\n\n',
      ],
    ],
    [
      'numbers with exponents',
      ['data: {"id":"chatcmpl-1","model":"remote","created":1e3,"choices":[{"delta":{"content":"x"}}]}\n\n'],
    ],
  ])('with %s has its own names', async (_, events) => {
    upstream.respond = streams(...events, chunk({}, { finish_reason: 'stop' }), done);
    const { status, text } = await post(say({ stream: true }));
    expect(status).toBe(200);
    expect(text).not.toMatch(/remote|chatcmpl-[12]"/);
    const chunks = parts(text)
      .slice(0, -1)
      .map((event) => JSON.parse(event.replace(/^[\s\S]*?data: /, '')));
    for (const { id, model } of chunks) expect([id, model]).toEqual([chunks[0].id, 'passing']);
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('x');
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
  });

  test('that fails before it says anything is an ordinary error', async () => {
    upstream.respond = streams(recorded[0]!, 'data: {"error":{"message":"x","code":429}}\n\n');
    const { status, text } = await post(say({ stream: true }));
    expect([status, JSON.parse(text).error.code]).toEqual([503, 'provider_overloaded']);
  });

  test('that fails in the middle ends with the error', async () => {
    upstream.respond = streams(...recorded.slice(0, 6), 'data: {"error":{"message":"secret"}}\n\n');
    const events = parts((await post(say({ stream: true }))).text);
    expect(JSON.parse(events.at(-1)!.slice(6)).error).toMatchObject({ code: 'provider_error' });
    expect(events.join('')).not.toContain('secret');
    expect(events.join('')).not.toContain('[DONE]');
  });

  test('of the official SDK has its text, calls and usage', async () => {
    upstream.respond = streams(...recorded);
    const client = new OpenAI({
      apiKey: stage.mine.projectKey.value,
      baseURL: `http://127.0.0.1:${stage.port}/v1`,
      maxRetries: 0,
    });
    const stream = client.chat.completions.stream({
      model: 'passing',
      messages: [{ role: 'user', content: 'x' }],
      stream_options: { include_usage: true },
    });
    const { choices, usage, model } = await stream.finalChatCompletion();
    expect(choices[0]!.message).toMatchObject({ content: 'The weir é aqui 😀.' });
    expect(choices[0]!.message.tool_calls).toHaveLength(2);
    expect([usage?.completion_tokens, model]).toEqual([57, 'passing']);
  });
});

describe('a strict model of the same upstream', () => {
  test('is asked in Weir’s own words and refuses what it does not know', async () => {
    upstream.respond = says(completion({ content: 'Hi.' }));
    const { status, text } = await post(say({ max_tokens: 5 }, 'strict'));
    expect(status).toBe(200);
    expect(JSON.parse(upstream.received!.text)).toEqual({ ...say({ max_tokens: 5 }, 'theirs'), stream: false });
    expect(JSON.parse(text)).toMatchObject({ model: 'strict', system_fingerprint: 'fp_weir' });
    expect((await post(say({ zzz: 1 }, 'strict'))).status).toBe(400);
  });
});
