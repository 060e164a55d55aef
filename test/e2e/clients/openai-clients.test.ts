import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { freshDir, type Server, startServer } from '../server.ts';
import type { Scenario } from './clients.ts';
import { openaiClients, openaiPackages } from './openai-clients.ts';
import { type Mode, type Played, play } from './play.ts';
import { type Provider, startProvider } from './provider.ts';

/**
 * Clients of chat completions and responses against a running gateway: with a simulated model, and with one whose provider speaks
 * the messages API, so that all is translated there and back.
 */

vi.setConfig({ testTimeout: 60_000, hookTimeout: 400_000 });

const models = { strict: 'weir-sim', passing: 'claude' };
let provider: Provider;
let server: Server;
beforeAll(async () => {
  provider = await startProvider();
  const file = `${freshDir()}.models.json`;
  const remote = { kind: 'anthropic', base_url: provider.url, api_key_env: 'PROVIDER_KEY', private_network: true };
  const size = {
    context_length: 200_000,
    max_output_length: 64_000,
    input_modalities: ['text', 'image', 'file'],
    supported_features: ['tools', 'structured_outputs', 'reasoning'],
  };
  const declared = [
    // Slow enough to be left in the middle of an answer.
    { id: models.strict, ...size, upstream: { kind: 'simulated', token_ms: 1, thinking_tokens: 40 } },
    { id: models.passing, ...size, upstream: remote },
  ];
  writeFileSync(file, JSON.stringify({ models: declared }));
  server = await startServer({ env: { MODELS_FILE: file, PROVIDER_KEY: 'sk-canary-3b1e' } });
});
afterAll(async () => {
  await server?.stop();
  await provider?.close();
});

const text = expect.stringMatching(/./);
const positive = expect.toSatisfy((count) => count > 0);
const allTools = (result: object) => ({ tools: result, streamed_tools: result, runner: result });
const provided = 'Hello from the provider.';

/** What every client is to say of an answer, whatever its own form for it. */
const results: Readonly<Record<Mode, Readonly<Partial<Record<Scenario, unknown>>>>> = {
  strict: {
    text: { text: expect.stringMatching(/^You said "Hello there"/), input: positive, output: positive },
    stream: { text: expect.stringMatching(/^You said "Hello there".* end\.$/), pieces: positive },
    ...allTools({ called: [{ city: text }], text: expect.stringMatching(/^The tool said "Sunny in \w/) }),
    thinking: {
      thinking: expect.stringMatching(/Hello there/),
      text,
      next: expect.stringMatching(/^You said "Go on"/),
    },
    structured: { name: text, age: expect.any(Number) },
    media: { text: expect.stringMatching(/^You said "Look"/) },
    models: { id: models.strict, type: 'model', listed: true },
    cancel: { cancelled: true },
    retry: { text },
    refusals: { key: 401, model: 404, invalid: null },
  },
  passing: {
    text: { text: provided, input: 21, output: 10 },
    stream: { text: provided, pieces: 2 },
    ...allTools({ called: [{ city: 'Lisbon' }], text: 'The tool said: Sunny in Lisbon' }),
    thinking: { thinking: 'Gates, then água 😀.', text: provided, next: provided },
    structured: { name: 'Ada', age: 36 },
    media: { text: provided },
    models: { id: models.passing, type: 'model', listed: true },
    cancel: { cancelled: true },
    retry: { text: provided },
    refusals: { key: 401, model: 404, invalid: expect.stringContaining('The provider says why.') },
  },
};

describe.each(openaiClients)('$name, $api', (client) => {
  let played: Played | { readonly missing: string };
  beforeAll(async () => {
    const { baseUrl, first } = server;
    const npm = { name: 'openai-clients', packages: openaiPackages };
    played = await play(client, { baseUrl, key: first.project_api_key, ...models }, npm);
  });

  describe.each([
    ['simulated', 'strict'],
    ['translated', 'passing'],
  ] as const)('with a model that is %s', (_, mode) => {
    test.for(client.plays)('%s', (scenario, { skip }) => {
      if ('missing' in played) return skip(`${client.name} cannot be had here: ${played.missing}`);
      expect(played.of(mode, scenario)).toMatchObject({ result: results[mode][scenario] });
    });
  });
});

test('the provider has got its own key and no other, and left streams have ended there', async () => {
  const received = provider.take();
  for (const { headers } of received) expect(headers['x-api-key']).toBe('sk-canary-3b1e');
  await expect
    .poll(provider.left)
    .toBe(received.length === 0 ? 0 : received.filter(({ body }) => JSON.stringify(body).includes('"Slow"')).length);
});

test('the gateway has failed at none of it', () => {
  expect(server.log().filter(({ level }) => level >= 50)).toEqual([]);
});
