import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { testWindows } from '../support/test-windows.ts';
import { bearer, type WholeOptions, wholeGateway } from '../support/whole-gateway.ts';

/** A gateway whose model is another gateway's answers as that one does, byte for byte, but for ids, the model and headers. */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

interface Running {
  readonly at: Awaited<ReturnType<typeof wholeGateway>>;
  readonly server: HttpServer;
  readonly url: string;
  readonly key: string;
}
let far: Running;
let near: Running;
/** With the limits of a Free key: one that answers itself, and one that asks the far one. */
let limited: readonly [Running, Running];

const start = async (options: WholeOptions = {}): Promise<Running> => {
  const at = await wholeGateway(options);
  const { projectKey } = await at.make.tenant();
  const server = await at.listen();
  return { at, server, url: `http://127.0.0.1:${server.port}`, key: projectKey.value };
};

const model = 'weir-sim-thinking-1';

beforeAll(async () => {
  far = await start();
  const upstream = { kind: 'anthropic', base_url: far.url, api_key_env: 'KEY', private_network: true };
  const models = [{ id: model, context_length: 1_000_000, max_output_length: 128_000, upstream }];
  const connected = connect(loadModels(JSON.stringify({ models }), { KEY: far.key }), { clock: systemClock });
  near = await start({ models: connected });
  limited = [await start({ windows: testWindows() }), await start({ windows: testWindows(), models: connected })];
});
afterAll(async () => {
  for (const { at, server } of [near, far, ...limited]) {
    await server.drain(0);
    await at.close();
  }
});

/** With `anthropic-version`, which the near one always sends. */
const ask = async ({ url, key }: Running, path: string, body: unknown) => {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    wait: response.headers.get('retry-after'),
    text: text.replaceAll(/(msg|req)_[0-9a-z]{26}/g, '$1_id'),
  };
};

const say = (fields: object = {}) => ({
  model,
  max_tokens: 2000,
  messages: [{ role: 'user', content: 'Where does the weir begin?' }],
  ...fields,
});
const weather = {
  name: 'weather',
  description: 'The weather of a city',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

const bodies: Readonly<Record<string, object>> = {
  'a question': say(),
  thinking: say({ thinking: { type: 'enabled', budget_tokens: 1024 } }),
  'a tool': say({ tools: [weather], tool_choice: { type: 'any' } }),
  'its result': say({
    tools: [weather],
    messages: [
      { role: 'user', content: 'Rain?' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Porto' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'água 😀' }] },
    ],
  }),
  'a schema': say({ output_config: { format: { type: 'json_schema', schema: weather.input_schema } } }),
  'a few tokens': say({ max_tokens: 3 }),
};

describe.each(Object.entries(bodies))('%s', (_, body) => {
  test.each([false, true])('is answered alike (streamed: %s)', async (stream) => {
    const request = { ...body, stream };
    const [one, two] = [await ask(far, '/v1/messages', request), await ask(near, '/v1/messages', request)];
    expect(one.status).toBe(200);
    expect(two).toEqual(one);
  });

  test('is counted alike', async () => {
    const { max_tokens, ...counted } = body as { max_tokens: number };
    const path = '/v1/messages/count_tokens';
    const [one, two] = [await ask(far, path, counted), await ask(near, path, counted)];
    expect(one.status).toBe(200);
    expect(two).toEqual(one);
  });
});

const wrong: Readonly<Record<string, string | object>> = {
  'no JSON': '{"model"',
  'no messages': { model, max_tokens: 10 },
  'max_tokens of 0': say({ max_tokens: 0 }),
  'max_tokens of a million': say({ max_tokens: 1_000_000 }),
  'another model': { ...say(), model: 'none' },
  'a policy': say({ policy_ids: ['pol_1'] }),
  'an unknown field': say({ zzz: 1 }),
  'a temperature of 3': say({ temperature: 3 }),
  'a wrong image': say({
    messages: [
      { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: '*' } }] },
    ],
  }),
  'a tool twice': say({ tools: [weather, weather] }),
  'a mode of thinking': say({ thinking: { type: 'enabled', budget_tokens: 5000 } }),
};

test.each(Object.entries(wrong))('%s is refused alike', async (_, body) => {
  const [one, two] = [await ask(far, '/v1/messages', body), await ask(near, '/v1/messages', body)];
  expect(one.status).toBeGreaterThanOrEqual(400);
  expect(two).toEqual(one);
});

test('a limit is told alike', async () => {
  const body = say({ max_tokens: 1 });
  const answers: Awaited<ReturnType<typeof ask>>[][] = [];
  do {
    answers.push([await ask(limited[0], '/v1/messages', body), await ask(limited[1], '/v1/messages', body)]);
  } while (answers.at(-1)!.every(({ status }) => status === 200) && answers.length < 200);
  for (const [one, two] of answers.slice(0, -1)) expect(two).toEqual(one);
  const last = answers.at(-1)!;
  expect(last.map(({ status }) => status)).toEqual([429, 429]);
  // A second may pass between the two.
  const texts = last.map(({ text, wait }) =>
    text.replace(`in ${wait} second`, 'in a moment').replace('moments', 'moment'),
  );
  expect(texts[0]).toContain('Try again in a moment.');
  expect(texts[1]).toBe(texts[0]);
});
