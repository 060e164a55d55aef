import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { connect } from '../../../src/data/upstream/connect.ts';
import { loadModels } from '../../../src/data/upstream/models/models.ts';
import type { HttpServer } from '../../../src/http/listen/server.ts';
import { bearer, wholeGateway } from '../../support/whole-gateway.ts';

/** A gateway that asks another one in chat completions answers as that one does, byte for byte, but for ids and times. */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const model = 'weir-sim-1';
const gateways: { at: Awaited<ReturnType<typeof wholeGateway>>; server: HttpServer; key: string }[] = [];

const start = async (options: Parameters<typeof wholeGateway>[0] = {}) => {
  const at = await wholeGateway(options);
  const { projectKey } = await at.make.tenant();
  const running = { at, server: await at.listen(), key: projectKey.value };
  gateways.push(running);
  return running;
};

beforeAll(async () => {
  const far = await start();
  const upstream = {
    kind: 'openai',
    base_url: `http://127.0.0.1:${far.server.port}`,
    api_key_env: 'KEY',
    private_network: true,
  };
  const models = [{ id: model, context_length: 1_000_000, max_output_length: 64_000, upstream }];
  await start({ models: connect(loadModels(JSON.stringify({ models }), { KEY: far.key }), { clock: systemClock }) });
});
afterAll(async () => {
  for (const { at, server } of gateways.reverse()) {
    await server.drain(0);
    await at.close();
  }
});

/** Of each of them. */
const askBoth = (body: unknown) =>
  Promise.all(
    gateways.map(async ({ server, key }) => {
      const response = await fetch(`http://127.0.0.1:${server.port}/v1/chat/completions`, {
        method: 'POST',
        headers: { ...bearer(key), 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
      const text = await response.text();
      return {
        status: response.status,
        type: response.headers.get('content-type'),
        text: text.replaceAll(/(chatcmpl-|req_)[0-9a-z]+/g, '$1id').replaceAll(/"created":\d+/g, '"created":0'),
      };
    }),
  );

const say = (fields: object = {}) => ({
  model,
  messages: [{ role: 'user', content: 'Where does the weir begin? água 😀' }],
  ...fields,
});
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [{ type: 'function', function: { name: 'weather', parameters } }];

const bodies: Readonly<Record<string, object>> = {
  'a question': say(),
  'a few tokens': say({ max_completion_tokens: 3 }),
  'a tool': say({ tools, tool_choice: 'required' }),
  'its result': say({
    tools,
    messages: [
      { role: 'user', content: 'Rain?' },
      { role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'weather', arguments: '{"city":"Porto"}' } }] },
      { role: 'tool', tool_call_id: 'c', content: '1.0' },
    ],
  }),
  'a schema': say({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema: parameters } } }),
  'a seed': say({ seed: 7, user: 'me' }),
};

describe.each(Object.entries(bodies))('%s', (_, body) => {
  test.each([{}, { stream: true }, { stream: true, stream_options: { include_usage: true } }])(
    'is answered alike with %j',
    async (fields) => {
      const [one, two] = await askBoth({ ...body, ...fields });
      expect(one!.status, one!.text).toBe(200);
      expect(two).toEqual(one);
    },
  );
});

const wrong: Readonly<Record<string, string | object>> = {
  'no JSON': '{"model"',
  'no messages': { model },
  'no token': say({ max_tokens: 0 }),
  'a million tokens': say({ max_completion_tokens: 1_000_000 }),
  'another model': { ...say(), model: 'none' },
  'a policy': say({ policy_ids: ['pol_1'] }),
  'an unknown field': say({ zzz: 1 }),
  'two maxima': say({ max_tokens: 1, max_completion_tokens: 2 }),
  'a temperature of 3': say({ temperature: 3 }),
  'two answers': say({ n: 2 }),
  'a wrong image': say({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] }),
  'a tool twice': say({ tools: [...tools, ...tools] }),
  'arguments that are none': say({
    messages: [{ role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'f', arguments: '[' } }] }],
  }),
};

test.each(Object.entries(wrong))('%s is refused alike', async (_, body) => {
  const [one, two] = await askBoth(body);
  expect(one!.status).toBeGreaterThanOrEqual(400);
  expect(two).toEqual(one);
});
