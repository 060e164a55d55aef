import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { freshDir, type Server, startServer } from '../server.ts';
import type { Scenario } from './clients.ts';
import { openaiClients, openaiPackages } from './openai-clients.ts';
import { startOpenAIProvider } from './openai-provider.ts';
import { type Played, play } from './play.ts';
import { startProvider } from './provider.ts';

/**
 * Clients of chat completions and responses against a running gateway: with a simulated model; with one whose provider speaks the
 * messages API, so that all is translated there and back; with one whose provider gets what they send; and with a second Weir behind
 * the first, whose model is a translated one.
 */

vi.setConfig({ testTimeout: 60_000, hookTimeout: 600_000 });

const models = { simulated: 'weir-sim', translated: 'claude', passing: 'gpt', behind: 'weir' };
type Mode = keyof typeof models;

const key = 'sk-canary-3b1e';
const size = {
  context_length: 200_000,
  max_output_length: 64_000,
  input_modalities: ['text', 'image', 'file'],
  supported_features: ['tools', 'structured_outputs', 'reasoning'],
};
const remote = (kind: string, base_url: string, more = {}) => ({
  kind,
  base_url,
  api_key_env: 'PROVIDER_KEY',
  private_network: true,
  ...more,
});
const openai = { apis: ['chat', 'responses'] };
/** A gateway with these models. */
const start = (upstreams: Readonly<Record<string, object>>, env: Readonly<Record<string, string>>): Promise<Server> => {
  const declared = Object.entries(upstreams).map(([id, upstream]) => ({ id, ...size, upstream }));
  const file = `${freshDir()}.models.json`;
  writeFileSync(file, JSON.stringify({ models: declared }));
  return startServer({ env: { MODELS_FILE: file, PROVIDER_KEY: key, ...env } });
};

let anthropicLike: Awaited<ReturnType<typeof startProvider>>;
let openaiLike: Awaited<ReturnType<typeof startOpenAIProvider>>;
let behind: Server;
let server: Server;
beforeAll(async () => {
  [anthropicLike, openaiLike] = await Promise.all([startProvider(), startOpenAIProvider()]);
  const translated = remote('anthropic', anthropicLike.url);
  behind = await start({ claude: translated }, {});
  const upstreams = {
    // Slow enough to be left in the middle of an answer.
    [models.simulated]: { kind: 'simulated', token_ms: 1, thinking_tokens: 40 },
    [models.translated]: translated,
    [models.passing]: remote('openai', openaiLike.url, openai),
    [models.behind]: remote('openai', behind.baseUrl, { ...openai, model: 'claude', api_key_env: 'WEIR_KEY' }),
  };
  server = await start(upstreams, { WEIR_KEY: behind.first.project_api_key });
});
afterAll(async () => {
  await server?.stop();
  await behind?.stop();
  await anthropicLike?.close();
  await openaiLike?.close();
});

const text = expect.stringMatching(/./);
const positive = expect.toSatisfy((count) => count > 0);
const allTools = (result: object) => ({ tools: result, streamed_tools: result, runner: result });
const provided = 'Hello from the provider.';

type Results = Readonly<Partial<Record<Scenario, unknown>>>;

/** What every client is to say of an answer, whatever its own form for it. */
const simulated: Results = {
  text: { text: expect.stringMatching(/^You said "Hello there"/), input: positive, output: positive },
  stream: { text: expect.stringMatching(/^You said "Hello there".* end\.$/), pieces: positive },
  ...allTools({ called: [{ city: text }], text: expect.stringMatching(/^The tool said "Sunny in \w/) }),
  thinking: { thinking: expect.stringMatching(/Hello there/), text, next: expect.stringMatching(/^You said "Go on"/) },
  structured: { name: text, age: expect.any(Number) },
  media: { text: expect.stringMatching(/^You said "Look"/) },
  cancel: { cancelled: true },
  retry: { text },
  refusals: { key: 401, model: 404, invalid: null },
};

/** The same of an answer of either provider. */
const ofProvider: Results = {
  text: { text: provided, input: 21, output: 10 },
  stream: { text: provided, pieces: 2 },
  ...allTools({ called: [{ city: 'Lisbon' }], text: 'The tool said: Sunny in Lisbon' }),
  thinking: { thinking: 'Gates, then água 😀.', text: provided, next: provided },
  structured: { name: 'Ada', age: 36 },
  media: { text: provided },
  cancel: { cancelled: true },
  retry: { text: provided },
  refusals: { key: 401, model: 404, invalid: expect.stringContaining('The provider says why.') },
};

const modes = Object.keys(models) as Mode[];
const resultOf = (mode: Mode, scenario: Scenario): unknown => {
  if (scenario === 'models') return { id: models[mode], type: 'model', listed: true };
  return (mode === 'simulated' ? simulated : ofProvider)[scenario];
};

describe.each(openaiClients)('$name, $api', (client) => {
  let played: Played | { readonly missing: string };
  beforeAll(async () => {
    const { baseUrl, first } = server;
    const npm = { name: 'openai-clients', packages: openaiPackages };
    played = await play(client, { baseUrl, key: first.project_api_key, models }, npm);
  });

  describe.each(modes)('with a model that is %s', (mode) => {
    test.for(client.plays)('%s', (scenario, { skip }) => {
      if ('missing' in played) return skip(`${client.name} cannot be had here: ${played.missing}`);
      expect(played.of(mode, scenario)).toMatchObject({ result: resultOf(mode, scenario) });
    });
  });
});

test.each([
  ['messages', () => anthropicLike, 'x-api-key', key],
  ['chat completions and responses', () => openaiLike, 'authorization', `Bearer ${key}`],
] as const)(
  'the provider of %s has got its own key and no other, and left streams have ended there',
  async (_, of, header, value) => {
    const provider = of();
    const received = provider.take();
    for (const { headers } of received) expect(headers[header]).toBe(value);
    await expect
      .poll(provider.left)
      .toBe(received.filter(({ body }) => JSON.stringify(body).includes('"Slow"')).length);
  },
);

test('neither gateway has failed at any of it', () => {
  for (const { log } of [server, behind]) expect(log().filter(({ level }) => level >= 50)).toEqual([]);
});
