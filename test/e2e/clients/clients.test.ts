import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { eventually, freshDir, type Server, startServer } from '../server.ts';
import * as claudeCode from './claude-code.ts';
import { clients, refusedByStrict, type Scenario } from './clients.ts';
import { type Played, play } from './play.ts';
import { startProvider } from './provider.ts';

/** Real clients against a running gateway: with a strict model, and with one that passes what they send to its provider. */

vi.setConfig({ testTimeout: 60_000, hookTimeout: 600_000 });

const models = { strict: 'weir-sim-thinking-1', passing: 'claude-sonnet-4-6' };
let provider: Awaited<ReturnType<typeof startProvider>>;
let server: Server;
beforeAll(async () => {
  provider = await startProvider();
  const file = `${freshDir()}.models.json`;
  const input_modalities = ['text', 'image', 'file'];
  const size = { context_length: 200_000, max_output_length: 64_000 };
  const remote = { kind: 'anthropic', base_url: provider.url, api_key_env: 'PROVIDER_KEY', private_network: true };
  const declared = [
    // Slow enough to be left in the middle of an answer.
    { id: models.strict, ...size, input_modalities, upstream: { kind: 'simulated', token_ms: 1 } },
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

/** What every client is to say of an answer, whatever its own form for it. */
const results: Readonly<Record<keyof typeof models, Readonly<Record<Scenario, unknown>>>> = {
  strict: {
    text: { text: expect.stringMatching(/^You said "Hello there"/), input: positive, output: positive },
    stream: { text: expect.stringMatching(/^You said "Hello there".* end\.$/), pieces: positive },
    ...allTools({ called: [{ city: text }], text: expect.stringMatching(/^The tool said "Sunny in \w/) }),
    threads: { text, next: expect.stringMatching(/^You said "Go on"/), held: 4 },
    thinking: { thinking: text, text, next: expect.stringMatching(/^You said "Go on"/) },
    structured: { name: text, age: expect.any(Number) },
    media: { text: expect.stringMatching(/^You said "Look"/) },
    cache: { cached: 0 },
    citations: null,
    search: null,
    messages_api: { text },
    count: { tokens: positive },
    models: { id: models.strict, type: 'model' },
    cancel: { cancelled: true },
    retry: { text },
    refusals: { key: 401, model: 404, invalid: null },
  },
  passing: {
    text: { text: 'Hello from the provider.', input: 21, output: 10 },
    stream: { text: 'Hello from the provider.', pieces: 2 },
    ...allTools({ called: [{ city: 'Lisbon' }], text: 'The tool said: Sunny in Lisbon' }),
    threads: { text: 'Hello from the provider.', next: 'Hello from the provider.', held: 4 },
    thinking: {
      thinking: 'Gates, then água 😀.',
      text: 'Hello from the provider.',
      next: 'Hello from the provider.',
    },
    structured: { name: 'Ada', age: 36 },
    media: { text: 'Hello from the provider.' },
    cache: { cached: 100 },
    citations: { cited: ['On weirs'] },
    search: { found: expect.arrayContaining(['https://weirs.example/']) },
    messages_api: { text: 'Hello from the provider.' },
    count: { tokens: 21 },
    models: { id: models.passing, type: 'model' },
    cancel: { cancelled: true },
    retry: { text: 'Hello from the provider.' },
    refusals: { key: 401, model: 404, invalid: expect.stringContaining('The provider says why.') },
  },
};

function allTools(result: object) {
  return { tools: result, streamed_tools: result, runner: result, streamed_runner: result };
}

describe.each(clients)('$name', (client) => {
  let played: Played | { readonly missing: string };
  let left = 0;
  beforeAll(async () => {
    left = provider.left();
    const { baseUrl, first } = server;
    played = await play(client, { baseUrl, key: first.project_api_key, models });
  });

  describe.each(['strict', 'passing'] as const)('with a %s model', (mode) => {
    test.for(client.plays)('%s', (scenario, { skip }) => {
      if ('missing' in played) return skip(`${client.name} cannot be had here: ${played.missing}`);
      const outcome = played.of(mode, scenario);
      const named = refusedByStrict[scenario];
      if (mode === 'strict' && named !== undefined) {
        expect(outcome).toMatchObject({ refused: { status: 422, message: expect.stringContaining(named) } });
      } else {
        expect(outcome).toMatchObject({ result: results[mode][scenario] });
      }
    });
  });

  test('a stream that it leaves ends at the provider too', async ({ skip }) => {
    if ('missing' in played) return skip(`${client.name} cannot be had here: ${played.missing}`);
    await eventually(() => Promise.resolve(provider.left() === left + 1 || undefined));
  });
});

describe.each(['strict', 'passing'] as const)('Claude Code, as recorded, with a %s model', (mode) => {
  const names = Object.keys(claudeCode.requests) as (keyof typeof claudeCode.requests)[];

  test.each(names)('%s', async (name) => {
    const request = { model: models[mode], ...claudeCode.requests[name] };
    provider.take();
    const headers = { ...claudeCode.headers, 'x-api-key': server.first.project_api_key };
    const url = `${server.baseUrl}${claudeCode.path}`;
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(request) });
    const said = await response.text();
    const named = mode === 'strict' ? claudeCode.refusedRequests[name] : undefined;
    expect(response.status, said).toBe(named === undefined ? 200 : 422);
    if (named === undefined) {
      expect(said).toMatch(/^event: message_start\n/);
      expect(said).toMatch(/event: message_stop\ndata: .*\n\n$/);
      expect(said).not.toContain('event: error');
      // It asks for thinking without its text.
      if (mode === 'strict')
        expect(said.match(/"type":"(?:thinking|signature)_delta"/g)).toEqual(['"type":"signature_delta"']);
    } else expect(JSON.parse(said).error.message).toContain(named);
    const [received] = provider.take();
    if (mode === 'strict') return expect(received).toBeUndefined();
    expect(received!.body).toEqual(request);
    for (const header of ['anthropic-beta', 'anthropic-version']) {
      expect(received!.headers[header]).toBe(claudeCode.headers[header]);
    }
    // What names the user's session is not the provider's to know.
    expect(Object.keys(received!.headers).filter((header) => header.startsWith('x-claude'))).toEqual([]);
  });
});

test('the gateway has failed at none of it', () => {
  expect(server.log().filter(({ level }) => level >= 50)).toEqual([]);
});
