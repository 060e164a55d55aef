import type { ServerResponse } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { bearer } from '../../support/whole-gateway.ts';
import { passingStage, says } from '../passing-stage.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** `POST /v1/embeddings` over the wire (contract G.9). */

let stage: Awaited<ReturnType<typeof passingStage>>;
const path = '/v1/embeddings';
beforeAll(async () => {
  stage = await passingStage('sk-canary-cc03', (remote, owner) => [
    { id: 'e', upstream: { kind: 'openai', ...remote, apis: ['embeddings'] } },
    { id: 'own', dedicated_to: owner, upstream: { kind: 'openai', ...remote, apis: ['embeddings'] } },
    { id: 'off', is_ready: false, upstream: { kind: 'openai', ...remote, apis: ['embeddings'] } },
    {
      id: 'short',
      context_length: 100,
      max_output_length: 1,
      upstream: { kind: 'openai', ...remote, apis: ['embeddings'] },
    },
    {
      id: 'two',
      upstreams: [
        { kind: 'openai', ...remote, apis: ['embeddings'] },
        { kind: 'openai', ...remote, apis: ['embeddings'], model: 'spare', priority: 1 },
      ],
    },
    { id: 'chat', upstream: { kind: 'openai', ...remote } },
    { id: 'claude', upstream: { kind: 'anthropic', ...remote } },
    { id: 'sim', upstream: { kind: 'simulated' } },
  ]);
});
afterAll(() => stage.close());

const list = (entries: number, usage: unknown = { prompt_tokens: 7, total_tokens: 7 }, more: object = {}) => ({
  object: 'list',
  data: Array.from({ length: entries }, (_, index) => ({ object: 'embedding', index, embedding: [0.25, -1e-9] })),
  model: 'theirs',
  usage,
  ...more,
});
beforeEach(() => {
  stage.upstream.received = null;
  stage.upstream.respond = says(list(1));
});

const post = async (body: object | string, headers = {}, to = path) => {
  const answer = await stage.post(to, body, headers);
  return { ...answer, body: JSON.parse(answer.text) };
};
const ask = (fields: object = {}) => post({ model: 'e', input: 'hi', ...fields });
const codes = async (fields: object) => {
  const { status, body } = await ask(fields);
  return [status, body.error?.code, body.error?.param, stage.upstream.received === null];
};
const account = () => stage.at.accounts.settled.at(-1)!;

describe('a request', () => {
  test('goes out as it is, with the model of the upstream and without its policies', async () => {
    const { status } = await post(
      '{"input": ["a","b"],"model":"e", "dimensions":256,"encoding_format":"base64","user":"u","policy_ids":[],"more":{"x":1.50}}',
    );
    expect(status).toBe(200);
    expect(stage.upstream.received).toMatchObject({
      url: path,
      headers: { authorization: 'Bearer sk-canary-cc03', accept: 'application/json' },
      text: '{"input": ["a","b"],"model":"theirs", "dimensions":256,"encoding_format":"base64","user":"u","more":{"x":1.50}}',
    });
  });

  test.each<[string, unknown]>([
    ['a text', 'hi'],
    ['an empty text, which is for the upstream to judge', ''],
    ['texts', ['a', '']],
    ['tokens', [1, 2, 3]],
    ['tokens of several texts', [[1], [2, 3]]],
    ['2,048 texts', Array.from({ length: 2048 }, () => 'a')],
    ['2,048 lists of tokens', Array.from({ length: 2048 }, () => [1])],
    ['more tokens of one text', Array.from({ length: 3000 }, () => 1)],
  ])('has %s', async (_, input) => {
    expect((await ask({ input })).status).toBe(200);
    expect(JSON.parse(stage.upstream.received!.text)).toEqual({ model: 'theirs', input });
  });

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'input'],
    ['null', null, 'input'],
    ['a number', 5, 'input'],
    ['an object', { text: 'a' }, 'input'],
    ['an empty list', [], 'input'],
    ['2,049 texts', Array.from({ length: 2049 }, () => 'a'), 'input'],
    ['2,049 lists of tokens', Array.from({ length: 2049 }, () => [1]), 'input'],
    ['an empty list of tokens', [[1], []], 'input.1'],
    ['a list of null', [null], 'input.0'],
    ['objects', [{ text: 'a' }], 'input.0'],
    ['texts and tokens', ['a', 1], 'input.1'],
    ['tokens and texts', [1, 'a'], 'input.1'],
    ['lists and tokens', [[1], 1], 'input.1'],
    ['lists of texts', [['a']], 'input.0.0'],
    ['lists of lists', [[[1]]], 'input.0.0'],
    ['half a token', [1.5], 'input.0'],
    ['a negative token', [-1], 'input.0'],
    ['a token that is no number', [1e300], 'input.0'],
  ])('is refused with %s', async (_, input, param) => {
    expect(await codes({ input })).toEqual([400, 'validation_failed', param, true]);
  });

  test('is refused where it is no JSON, repeats a member, or asks for a stream', async () => {
    for (const [text, code] of [
      ['{"model":"e","input":[NaN]}', 'invalid_json'],
      ['{"model":"e","input":"a","input":"b"}', 'invalid_json'],
      [`{"model":"e","input":${'['.repeat(70)}${']'.repeat(70)}}`, 'request_too_complex'],
      ['{"model":"e","input":"a","Input":"b"}', 'unsupported_parameter'],
      ['{"model":"e","input":"a","stream":true}', 'unsupported_parameter'],
      ['{"model":"e","input":"a","file_id":"f"}', 'unsupported_parameter'],
      ['{"model":"e","input":"a","more":[{"file_id":"f"}]}', 'unsupported_parameter'],
    ]) {
      const { status, body } = await post(text!);
      expect([text, status, body.error.code]).toEqual([text, 400, code]);
    }
    expect(stage.upstream.received).toBeNull();
    for (const stream of [false, null]) expect((await ask({ stream })).status).toBe(200);
  });

  test('is passed or refused, whatever its input is', async () => {
    const entry = fc.oneof(fc.string(), fc.nat(), fc.array(fc.nat()), fc.jsonValue({ maxDepth: 2 }));
    await fc.assert(
      fc.asyncProperty(fc.oneof(entry, fc.array(entry, { maxLength: 3 })), async (input) => {
        stage.upstream.received = null;
        const { status, body } = await ask({ input });
        const received = stage.upstream.received as { readonly text: string } | null;
        if (status === 200) expect(JSON.parse(received!.text).input).toEqual(JSON.parse(JSON.stringify(input)));
        else expect([status, body.error.code, received]).toEqual([400, 'validation_failed', null]);
      }),
    );
  });

  test('is read the same where it is large', async () => {
    const input = Array.from({ length: 2048 }, (_, index) => `${'x'.repeat(600)}${index}`);
    const before = stage.at.accounts.begun.length;
    stage.upstream.respond = says(list(1, null));
    expect((await ask({ input })).status).toBe(200);
    expect(stage.at.accounts.begun.slice(before).map(({ input_tokens }) => input_tokens)).toEqual([
      Math.ceil(input.join('').length / 3) + 8 * 2048,
    ]);
  });
});

describe('the model', () => {
  test('answers embeddings alone, and no other model does', async () => {
    const messages = [{ role: 'user', content: 'hi' }];
    for (const [to, fields] of [
      ['/v1/chat/completions', { messages, of_tomorrow: 1 }],
      ['/v1/responses', { input: 'hi' }],
      ['/v1/messages', { max_tokens: 5, messages }],
      ['/v1/messages/count_tokens', { messages }],
    ] as const)
      for (const model of ['e', 'two']) {
        const { status, text } = await stage.post(to, { model, ...fields });
        expect([to, model, status]).toEqual([to, model, 400]);
        expect(text).toContain('unsupported_model');
      }
    for (const model of ['chat', 'claude', 'sim'])
      expect([model, ...(await codes({ model }))]).toEqual([model, 400, 'unsupported_model', 'model', true]);
  });

  test('is not there for other organizations, nor outside those of a project, nor before it is ready', async () => {
    expect((await ask({ model: 'own' })).status).toBe(200);
    const headers = bearer(stage.other.projectKey.value);
    for (const [to, fields] of [
      [path, { input: 'hi' }],
      ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }],
    ] as const) {
      const { status, body } = await post({ model: 'own', ...fields }, headers, to);
      expect([to, status, body.error.code]).toEqual([to, 404, 'model_not_found']);
    }
    stage.upstream.received = null;
    expect(await codes({ model: 'none' })).toEqual([404, 'model_not_found', 'model', true]);
    expect((await codes({ model: 'off' })).slice(0, 2)).toEqual([503, 'model_not_ready']);
    const { projectId, adminKey, projectKey } = await stage.at.make.tenant();
    const own = bearer(adminKey.value);
    const limited = { allowed_models: ['e'] };
    await stage.at.call('POST', `/v1/organization/projects/${projectId}`, { headers: own, body: limited });
    const key = bearer(projectKey.value);
    expect((await post({ model: 'e', input: 'hi' }, key)).status).toBe(200);
    expect((await post({ model: 'two', input: 'hi' }, key)).body.error.code).toBe('model_not_found');
    for (const named of [{ models: ['x'] }, { fallbacks: [{ model: 'x' }] }])
      expect((await post({ model: 'e', input: 'hi', ...named }, key)).body.error.code).toBe('unsupported_parameter');
    expect((await post({ model: 'e', input: 'hi', models: ['x'] })).status).toBe(200);
  });

  test('has a spare upstream, which is asked by its own name', async () => {
    const names: string[] = [];
    stage.upstream.respond = (response: ServerResponse) => {
      names.push(JSON.parse(stage.upstream.received!.text).model);
      says(names.length === 1 ? {} : list(1), 'application/json', names.length === 1 ? 500 : 200)(response);
    };
    expect((await ask({ model: 'two' })).body.model).toBe('two');
    expect(names).toEqual(['theirs', 'spare']);
  });

  test('needs a key that may ask models', async () => {
    const { organizationId, projectId } = stage.mine;
    const { value } = await stage.at.make.projectKey({ organizationId, projectId }, { permissions: ['models:read'] });
    expect((await post({ model: 'e', input: 'hi' }, bearer(value))).status).toBe(403);
  });
});

describe('the answer', () => {
  test('comes as it is, byte for byte, but for the names', async () => {
    const text =
      '{"object":"list", "data":[{"embedding":[1.50, -0.0],"index":0}],"id":"embd-9","model":"theirs","usage":{"prompt_tokens":3,"total_tokens":5},"more":[1e3]}';
    stage.upstream.respond = says(text);
    const { status, headers, text: came } = await post({ model: 'e', input: 'hi' });
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
    const { id } = JSON.parse(came);
    expect(id).toMatch(/^embd_/);
    expect(came).toBe(text.replace('"theirs"', '"e"').replace('embd-9', id));
    expect(headers.get('x-ratelimit-limit-tokens')).not.toBeNull();
  });

  test('may lack embeddings, and a model and usage', async () => {
    for (const answer of [list(0), { data: [] }, { ...list(1), usage: 'none' }]) {
      stage.upstream.respond = says(answer);
      expect((await ask({ input: ['a', 'b'] })).status).toBe(200);
    }
  });

  test.each<[string, (response: ServerResponse) => void, number, string]>([
    ['a list', says('[]'), 502, 'provider_error'],
    ['no list of embeddings', says({ data: {} }), 502, 'provider_error'],
    ['a chat completion', says({ choices: [] }), 502, 'provider_error'],
    ['half a document', says('{"data":['), 502, 'provider_error'],
    ['a text', says('ok', 'text/plain'), 502, 'provider_error'],
    ['a stream', says('data: {"data":[]}\n\n', 'text/event-stream'), 502, 'provider_error'],
    ['nothing', (response) => void response.destroy(), 502, 'provider_error'],
    ['another status', says(list(1), 'application/json', 201), 502, 'provider_error'],
    ['a refused key', says({ error: { message: 'sk-canary-cc03' } }, 'application/json', 401), 502, 'provider_error'],
    ['an overload', says({ error: { message: 'slow' } }, 'application/json', 429), 429, 'x'],
    ['a fault', says({ error: { message: 'bad' } }, 'application/json', 500), 502, 'provider_error'],
  ])('is an error for %s', async (_, respond, status, code) => {
    stage.upstream.respond = respond;
    const { status: came, text, body } = await ask();
    const [expected, expectedCode] = code === 'x' ? [503, 'provider_overloaded'] : [status, code];
    expect([came, body.error.code]).toEqual([expected, expectedCode]);
    expect(text).not.toContain('canary');
    expect(account()).toMatchObject({ api: 'embeddings', status: expected, input_tokens: 0, output_tokens: 0 });
  });

  test("tells the upstream's words where the request is at fault, with the place that clients know", async () => {
    const message = "This model's maximum context length is 8192 tokens, however you requested 9000 tokens.";
    stage.upstream.respond = says(
      { error: { message, type: 'invalid_request_error', code: null } },
      'application/json',
      400,
    );
    expect((await ask()).body.error).toMatchObject({ message, code: 'context_length_exceeded', param: 'input' });
  });
});

describe('the account', () => {
  test('takes from the token limits what was counted', async () => {
    const key = bearer((await stage.at.make.tenant()).projectKey.value);
    const left = async (input: unknown) =>
      Number((await post({ model: 'e', input }, key)).headers.get('x-ratelimit-remaining-tokens'));
    const first = await left('hi');
    // It is settled before its headers are made.
    expect(first - (await left([1, 2, 3]))).toBe(7);
  });

  test('has the tokens that the upstream counts, and no output', async () => {
    stage.upstream.respond = says(list(1, { prompt_tokens: 11, total_tokens: 99, completion_tokens: 50 }));
    await ask();
    expect(account()).toMatchObject({
      api: 'embeddings',
      model: 'e',
      input_tokens: 11,
      output_tokens: 0,
      usage_source: 'final',
      status: 200,
    });
  });

  test.each<[string, unknown, number]>([
    ['a text', 'abcdef', 2 + 8],
    ['texts', ['abcdef', 'ü'], 3 + 16],
    ['tokens', [1, 2, 3], 3 + 8],
    ['tokens of several texts', [[1, 2], [3]], 3 + 16],
  ])('has an estimate of %s where the upstream does not count', async (_, input, tokens) => {
    for (const usage of [null, {}, { prompt_tokens: '5' }, { prompt_tokens: 0 }, { prompt_tokens: -5 }]) {
      stage.upstream.respond = says(list(1, usage));
      expect((await ask({ input })).status).toBe(200);
      expect(account()).toMatchObject({ input_tokens: tokens, output_tokens: 0, usage_source: 'estimated' });
    }
  });

  test('counts what an upstream may read beside the input', async () => {
    const before = stage.at.accounts.begun.length;
    await ask({ messages: [{ role: 'user', content: 'x'.repeat(300) }], user: 'u'.repeat(300), dimensions: 3 });
    expect(stage.at.accounts.begun[before]!.input_tokens).toBeGreaterThan(100);
    expect(stage.at.accounts.begun[before]!.input_tokens).toBeLessThan(150);
  });

  test('believes an upstream as far as each entry fills the context', async () => {
    stage.upstream.respond = says(list(1, { prompt_tokens: 199 }));
    await ask({ model: 'short', input: ['a', 'b'] });
    expect(account()).toMatchObject({ input_tokens: 199, usage_source: 'final' });
    stage.upstream.respond = says(list(1, { prompt_tokens: 1e12 }));
    await ask({ model: 'short', input: ['a', 'b'] });
    expect(account().input_tokens).toBe(200);
  });
});

describe('policies', () => {
  let keys = 0;
  const under = async (rule: string, fields: object = {}) => {
    const tenant = await stage.at.make.tenant();
    const send = (to: string, body: object) => {
      const headers = { ...bearer(tenant.adminKey.value), 'idempotency-key': `key-number-${keys++}` };
      return stage.at.call('POST', `/v1/organization/policies${to}`, { headers, body });
    };
    const { body } = await send('', { name: 'No darkness', mode: 'enforcing', rule, ...fields });
    await send(`/${body.id}/publish`, { revision: 1 });
    const headers = bearer(tenant.projectKey.value);
    return async (more: object) => {
      const { status, body: told } = await post({ model: 'e', input: 'hi', ...more }, headers);
      return status === 200 ? 200 : told.error.code;
    };
  };

  test('see each text, and everything beside it', async () => {
    const asked = await under('request.text.contains("nightfall")');
    expect(await asked({})).toBe(200);
    expect(await asked({ input: 'at nightfall' })).toBe('policy_violation');
    expect(await asked({ input: ['a', 'at nightfall'] })).toBe('policy_violation');
    expect(await asked({ input: ['at nіght', 'fall'] })).toBe('policy_violation');
    expect(await asked({ instruct: { x: ['nightfall'] } })).toBe('policy_violation');
    expect(await asked({ input: [...Array.from({ length: 2047 }, () => 'x'.repeat(100)), 'nightfall'] })).toBe(
      'policy_violation',
    );
  });

  test('know the endpoint, and each entry as a message of a user', async () => {
    const asked = await under(
      'request.endpoint == "embeddings" && request.message_count == 2 && request.last_user_text == "b" && request.max_tokens == 0 && !request.stream && request.metadata["user_id"] == "u"',
    );
    expect(await asked({ input: ['a', 'b'], user: 'u' })).toBe('policy_violation');
    expect(await asked({ input: ['a', 'c'], user: 'u' })).toBe(200);
  });

  test('refuse tokens that nobody can read, where one enforces', async () => {
    const enforced = await under('request.text.contains("nightfall")');
    const monitored = await under('true', { mode: 'monitoring' });
    const answers = await under('true', { direction: 'response' });
    for (const input of [[1, 2], [[1, 2]]]) {
      expect(await enforced({ input })).toBe('unsupported_parameter');
      for (const asked of [monitored, answers]) expect(await asked({ input })).toBe(200);
    }
    expect(stage.upstream.received).not.toBeNull();
  });

  test('count no message where there are tokens', async () => {
    const asked = await under('request.message_count > 0', { mode: 'monitoring' });
    const before = stage.at.decided.length;
    for (const input of [[1, 2], [[1, 2]]]) await asked({ input });
    expect(stage.at.decided.length).toBe(before);
    await asked({ input: 'a' });
    expect(stage.at.decided.length).toBe(before + 1);
  });

  test('of the answer do not judge embeddings, which have no text', async () => {
    const asked = await under('true', { direction: 'response' });
    expect(await asked({})).toBe(200);
  });
});
