import { request as ask, type OutgoingHttpHeaders } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { expectRefusedInput } from '../support/refused-input.ts';
import { bearer } from '../support/whole-gateway.ts';
import { passingStage, says } from './passing-stage.ts';

/** Models whose upstream speaks the client's API, from a client over the gateway to the upstream and back (contract L.1). */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const apiKey = 'sk-canary-77ab';
let stage: Awaited<ReturnType<typeof passingStage>>;
let upstream: typeof stage.upstream;
let mine: typeof stage.mine;
let other: typeof stage.other;

const answerText = (id: string, model: string, content = '[]') =>
  `{"id":"${id}", "type":"message","role":"assistant","content":${content},"model" : "${model}","stop_reason":"pause_turn",` +
  `"stop_sequence":null,"usage":{"input_tokens":21,"output_tokens":10,"server_tool_use":{"web_search_requests":1}}}`;

beforeAll(async () => {
  stage = await passingStage(apiKey, (remote, owner) => {
    const upstream = { kind: 'anthropic', ...remote };
    return [
      { id: 'passing', upstream },
      { id: 'dedicated', upstream, dedicated_to: owner },
    ];
  });
  ({ upstream, mine, other } = stage);
});
afterAll(() => stage.close());
beforeEach(() => {
  upstream.received = null;
  upstream.respond = says(answerText('msg_theirs', 'theirs'));
});

interface Sent {
  readonly path?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
const post = (body: string | object, { path = '/v1/messages', key, headers }: Sent = {}) =>
  stage.post(path, body, { ...(key !== undefined && bearer(key)), ...headers });
const say = (fields: object = {}, model = 'passing') => ({
  model,
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hello' }],
  ...fields,
});

const numbers = fc.constantFrom(
  '9007199254740993',
  '1.0',
  '-0',
  '1e-400',
  '1E+2',
  '0.10',
  '123456789012345678901234567890',
);
const strings = fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text));
/** Text of any JSON value, with blanks and escapes as nobody writes them. */
const values = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    numbers,
    strings,
    fc.constantFrom('null', 'true', '"\\u0041\\/"', '""', '{}', '[ ]'),
    fc.array(tie('value')).map((items) => `[${items.join(' ,')}]`),
    fc.uniqueArray(fc.tuple(strings, tie('value')), { selector: ([name]) => name }).map((members) => {
      const fields = members.map(([name, value]) => `${name}\t: ${value}`);
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
          `"tools":[{"type":"web_search_20250305","name":"web_search","x":${two}}]`,
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

  test('has the headers of the API, and the key of the gateway alone', async () => {
    const headers = {
      'anthropic-beta': 'a-2025,b',
      'anthropic-version': '2024-01-01',
      cookie: 'c=1',
      'x-api-key': 'mine',
    };
    await post(say(), { headers });
    expect(upstream.received!.headers).toMatchObject({
      'anthropic-beta': 'a-2025,b',
      'anthropic-version': '2024-01-01',
      'x-api-key': apiKey,
    });
    expect(upstream.received!.headers).not.toHaveProperty('cookie');
    expect(upstream.received!.headers).not.toHaveProperty('authorization');
    await post(say());
    expect(upstream.received!.headers).toMatchObject({ 'anthropic-version': '2023-06-01' });
    expect(upstream.received!.headers).not.toHaveProperty('anthropic-beta');
  });

  test.each<[string, object]>([
    ['more tools than 128', { tools: Array.from({ length: 200 }, (_, at) => ({ name: `t${at}`, input_schema: {} })) }],
    ['tools that a server runs', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['unknown blocks', { messages: [{ role: 'user', content: [{ type: 'search_result', source: 'x' }] }] }],
    ['other edits of the context', { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }],
    ['a temperature beyond what any model takes', { temperature: 7 }],
    ['a longer answer than the model gives', { max_tokens: 999_990 }],
    ['servers of tools', { mcp_servers: [{ type: 'url', url: 'https://a.example', name: 'a' }] }],
    ['a place', { inference_geo: 'eu', service_tier: 'anything', speed: 'fast' }],
    [
      'a name that looks like state in the caller’s own data',
      {
        messages: [
          { role: 'user', content: 'x' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'n', input: { file_id: 'file_1' } }] },
        ],
      },
    ],
    [
      'a name that looks like state in a schema',
      {
        tools: [{ name: 'n', input_schema: { properties: { file_id: {} } }, input_examples: [{ file_id: 'file_1' }] }],
        output_config: { format: { type: 'json_schema', schema: { properties: { file_id: {} } } } },
        metadata: { file_id: 'file_1' },
      },
    ],
    ['null for what would be state', { container: null, thread: null, file_id: null }],
  ])('may have %s: the upstream is the judge', async (_, fields) => {
    const { status, text } = await post(say(fields));
    expect(status, text).toBe(200);
    expect(JSON.parse(upstream.received!.text)).toEqual({ ...say(fields), model: 'theirs' });
  });

  test('a list of betas may come in several lines', async () => {
    const { port } = stage;
    const headers: OutgoingHttpHeaders = {
      ...bearer(mine.projectKey.value),
      'content-type': 'application/json',
      'anthropic-beta': ['a-2025', 'b-2025,c-2025'],
    };
    await new Promise<void>((resolve, reject) => {
      const asking = ask({ port, method: 'POST', path: '/v1/messages', headers }, (response) => {
        response.resume().on('end', resolve);
      });
      asking.on('error', reject).end(JSON.stringify(say()));
    });
    expect(upstream.received!.headers['anthropic-beta']).toBe('a-2025,b-2025,c-2025');
  });

  test.each(['/v1/messages', '/v1/messages/count_tokens'])(
    'to %s with a header that cannot be sent is the client’s fault',
    async (path) => {
      const { status, text } = await post(say(), {
        path,
        headers: { 'anthropic-beta': Buffer.from('a✓b').toString('latin1') },
      });
      expect([status, JSON.parse(text).error]).toMatchObject([
        400,
        { code: 'invalid_request', param: 'header.anthropic-beta' },
      ]);
      expect(upstream.received).toBeNull();
    },
  );

  test.each<[string, object, string]>([
    ['max_tokens', { max_tokens: 0 }, 'validation_failed max_tokens'],
    ['max_tokens', { max_tokens: 999_991 }, 'validation_failed max_tokens'],
    ['messages', { messages: [] }, 'validation_failed messages'],
    ['messages', { messages: [{ role: 'user', content: 7 }] }, 'validation_failed messages.0.content'],
    ['stream', { stream: 'yes' }, 'validation_failed stream'],
    ['stop_sequences', { stop_sequences: [1] }, 'validation_failed stop_sequences.0'],
    ['tools', { tools: ['x'] }, 'validation_failed tools.0'],
    ['tool_choice', { tool_choice: { name: 1 } }, 'validation_failed tool_choice.name'],
    ['thinking', { thinking: { budget_tokens: 1_000_000 } }, 'validation_failed thinking.budget_tokens'],
    [
      'output_config',
      { output_config: { format: { type: 'json_schema', schema: 1 } } },
      'validation_failed output_config.format.schema',
    ],
    ['policy_ids', { policy_ids: ['pol_none'] }, 'policy_not_found policy_ids.0'],
  ])('is held to what the specification says of %s', async (_, fields, expected) => {
    const { text } = await post(say(fields));
    const answer = JSON.parse(text);
    expect(`${answer.error.code} ${answer.error.param}`).toBe(expected);
    expectRefusedInput(say(fields), answer);
    expect(upstream.received).toBeNull();
  });
});

const image = { type: 'image', source: { type: 'file', file_id: 'file_1' } };
const states: readonly (readonly [string, object, string])[] = [
  ['a container', { container: 'container_1' }, '422 unsupported_parameter container'],
  ['a thread', { thread: { id: 'thread_1' } }, '400 thread_unsupported_request thread'],
  [
    'a file',
    { messages: [{ role: 'user', content: [image] }] },
    '422 unsupported_parameter messages.0.content.0.source.file_id',
  ],
  [
    'a file in the result of a tool',
    { messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [image] }] }] },
    '422 unsupported_parameter messages.0.content.0.content.0.source.file_id',
  ],
  [
    'a file in a block that nobody knows',
    { messages: [{ role: 'user', content: [{ type: 'container_upload', file_id: 'file_1' }] }] },
    '422 unsupported_parameter messages.0.content.0.file_id',
  ],
  ['a file in the system prompt', { system: [image] }, '422 unsupported_parameter system.0.source.file_id'],
  ['a file in other letters', { system: [{ FILE_id: 'f' }] }, '422 unsupported_parameter system.0.FILE_id'],
  ['a file of the request', { file_id: 'file_1' }, '422 unsupported_parameter file_id'],
  [
    'a file of a message',
    { messages: [{ role: 'user', content: 'x', attachments: [{ file_id: 'file_1' }] }] },
    '422 unsupported_parameter messages.0.attachments.0.file_id',
  ],
  [
    'a file of a tool',
    { tools: [{ type: 'search', files: [{ file_id: 'file_1' }] }] },
    '422 unsupported_parameter tools.0.files.0.file_id',
  ],
];

describe('state that the upstream keeps for its account', () => {
  test.each(states)('%s is refused by its name', async (_, fields, expected) => {
    for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
      const { status, text } = await post(say(fields), { path });
      const { error } = JSON.parse(text);
      expect(`${status} ${error.code} ${error.param}`).toBe(expected);
      expect(error.details.error_code).toBe(error.code);
      expectRefusedInput(say(fields), JSON.parse(text));
      expect(upstream.received).toBeNull();
    }
  });

  test.each(states)('%s passes to a model that is the organization’s own', async (_, fields) => {
    expect((await post(say(fields, 'dedicated'))).status).toBe(200);
    expect(JSON.parse(upstream.received!.text)).toEqual({ ...say(fields), model: 'theirs' });
  });

  test('nobody else has that model', async () => {
    const none = await post(say({}, 'none'), { key: other.projectKey.value });
    const theirs = await post(say({}, 'dedicated'), { key: other.projectKey.value });
    expect([theirs.status, JSON.parse(theirs.text).error]).toEqual([404, JSON.parse(none.text).error]);
    // What only a passing model takes is refused as by a model that does not exist.
    const odd = (model: string) => post(say({ zzz: 1 }, model), { key: other.projectKey.value });
    expect(JSON.parse((await odd('dedicated')).text).error).toEqual(JSON.parse((await odd('none')).text).error);
    const read = await fetch(`http://127.0.0.1:${stage.port}/v1/models/dedicated`, {
      headers: bearer(other.projectKey.value),
    });
    expect(read.status).toBe(404);
  });
});

describe('the answer', () => {
  test('comes back byte for byte, but for its id and model', async () => {
    await fc.assert(
      fc.asyncProperty(values, async (value) => {
        const content = `[{"type":"unheard_of","citations":null,"of":${value}}]`;
        upstream.respond = says(answerText('msg_theirs', 'theirs', content));
        const { status, text } = await post(say(), { headers: { 'anthropic-version': '2023-06-01' } });
        expect(status, text).toBe(200);
        const { id } = JSON.parse(text);
        expect(id).toMatch(/^msg_/);
        expect(text).toBe(answerText(id, 'passing', content));
      }),
      { numRuns: 60 },
    );
  });

  test.each([
    ['no JSON', 'nonsense'],
    ['no message', '{"type":"other","id":"x","model":"y"}'],
    ['no id', '{"type":"message","model":"y"}'],
    ['no object', '[]'],
  ])('that is %s is a failure of the provider', async (_, text) => {
    upstream.respond = says(text);
    const answer = await post(say());
    expect([answer.status, JSON.parse(answer.text).error.code]).toEqual([502, 'provider_error']);
  });

  test('an error of the upstream is told in its own words, where it is about the request', async () => {
    const error = { type: 'invalid_request_error', message: 'tools.0.type: no such tool at 127.0.0.1' };
    upstream.respond = says(JSON.stringify({ type: 'error', error }), 'application/json', 400);
    const answer = await post(say());
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text).error).toMatchObject({
      type: 'invalid_request_error',
      message: 'tools.0.type: no such tool at [host]',
    });
    upstream.respond = says(
      JSON.stringify({ type: 'error', error: { type: 'request_too_large', message: 'At most 32 MB.' } }),
      'application/json',
      413,
    );
    const large = await post(say());
    expect([large.status, JSON.parse(large.text).error.message]).toEqual([413, 'At most 32 MB.']);
  });
});

describe('count_tokens', () => {
  const path = '/v1/messages/count_tokens';
  const { max_tokens, ...counted } = say();

  test('is the upstream’s own', async () => {
    upstream.respond = says('{"input_tokens":4711}');
    expect((await post(counted, { path, headers: { 'anthropic-beta': 'x' } })).text).toBe('{"input_tokens":4711}');
    expect(upstream.received).toMatchObject({ url: '/v1/messages/count_tokens', headers: { 'anthropic-beta': 'x' } });
    expect(JSON.parse(upstream.received!.text)).toEqual({ ...counted, model: 'theirs' });
  });

  test.each([
    ['it has none', says('{}', 'application/json', 404)],
    ['it has none for this method', says('{}', 'application/json', 405)],
    ['it does not implement it', says('{}', 'application/json', 501)],
    ['it says something else', says('{"input_tokens":"many"}')],
    ['it says less than nothing', says('{"input_tokens":-5}')],
  ])('is estimated where %s', async (_, how) => {
    upstream.respond = how;
    // ⌈5 / 3⌉ + 8 for one message
    expect((await post(counted, { path })).text).toBe('{"input_tokens":10}');
  });

  test('fails as the upstream fails', async () => {
    upstream.respond = says('{}', 'application/json', 529);
    expect((await post(counted, { path })).status).toBe(529);
  });
});
