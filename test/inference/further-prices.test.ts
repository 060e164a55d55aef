import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { bearer, context, wholeGateway } from '../support/whole-gateway.ts';
import { modelFor, paths, type Said, speakingUpstream } from './speaking-upstream.ts';

/** What upstreams bill at other prices than those of the four kinds of tokens, or beside tokens (contract M.4). */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const usual = { prompt: '0.000001', completion: '0.00001', input_cache_write: '0.00000125' };
const further = {
  input_cache_write_long: '0.000002',
  input_audio: '0.00003',
  output_audio: '0.00006',
  web_search: '0.01',
  file_search: '0.0025',
  image: '0.001',
};
const rest = { input_cache_read: '0', image: '0', request: '0' };
const service_tiers = { priority: { ...usual, ...rest, prompt: '0.000002' } };

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let provider: Awaited<ReturnType<typeof speakingUpstream>>;
let key: string;
let said: Said;

/** @param amount in micro-dollars */
const grant = async (organizationId: string, amount: number): Promise<void> => {
  const entry = { amount, reference: 'grant' };
  await at.settled(await at.admin.aggregates.organization.dispatch(organizationId, 'grant', entry, context));
};

beforeAll(async () => {
  provider = await speakingUpstream(() => said, {
    pricing: { ...usual, ...further },
    access: { required_checks: ['credits'] },
  });
  at = await wholeGateway({ models: provider.models, pricing: { ...usual, ...further, service_tiers } });
  const tenant = await at.make.tenant();
  key = tenant.projectKey.value;
  await grant(tenant.organizationId, 1_000_000_000_000);
  server = await at.listen();
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
  await provider.close();
});

const asking = (path: string, stream: boolean, more: object = {}, model = modelFor(path)) => ({
  model,
  stream,
  ...(path === '/v1/responses' ? { input: 'hi' } : { messages: [{ role: 'user', content: 'hi' }] }),
  [path === '/v1/responses' ? 'max_output_tokens' : 'max_tokens']: 100,
  ...more,
});

const send = (path: string, body: object) =>
  fetch(`http://127.0.0.1:${server.port}${path}`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** What is on the account of one request, and what it costs. */
const charged = async (path: string, body: object) => {
  const before = at.accounts.settled.length;
  const answer = await send(path, body);
  expect([answer.status, (await answer.text()).length > 0]).toEqual([200, true]);
  const settled = at.accounts.settled.slice(before);
  expect(settled).toHaveLength(1);
  const { details, usage_source, micro_dollars } = settled[0]!;
  return [details, usage_source, micro_dollars];
};

const text = 'x'.repeat(30);
const searching = { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] };

describe.each([false, true])('messages, streamed: %s', (stream) => {
  const ask = (usage: unknown, more: object = {}, model?: string) => {
    said = { text, usage };
    return charged('/v1/messages', asking('/v1/messages', stream, more, model));
  };
  const tokens = { input_tokens: 100, output_tokens: 10 };

  test('input into a cache of an hour', async () => {
    const cache_creation = { ephemeral_5m_input_tokens: 60, ephemeral_1h_input_tokens: 40 };
    const usage = { ...tokens, cache_creation_input_tokens: 100, cache_creation };
    expect(await ask(usage)).toEqual([{ input_cache_write_long: 40 }, 'final', 100 + 75 + 80 + 100]);
    const broken = { ...usage, cache_creation: { ephemeral_1h_input_tokens: 400 } };
    expect(await ask(broken)).toEqual([{ input_cache_write_long: 100 }, 'final', 100 + 200 + 100]);
    for (const none of [null, 7, {}, { ephemeral_1h_input_tokens: 0 }]) {
      expect(await ask({ ...usage, cache_creation: none })).toEqual([undefined, 'final', 100 + 125 + 100]);
    }
  });

  test('what was done besides the turns of the model', async () => {
    const compaction = {
      type: 'compaction',
      input_tokens: 10,
      output_tokens: 1,
      cache_creation_input_tokens: 20,
      cache_creation: { ephemeral_1h_input_tokens: 20 },
    };
    const usage = { ...tokens, service_tier: 'batch', iterations: [{ type: 'message' }, compaction] };
    expect(await ask(usage)).toEqual([{ service_tier: 'batch', input_cache_write_long: 20 }, 'final', 110 + 40 + 110]);
  });

  test('a service tier that has prices, and one that has none', async () => {
    expect(await ask({ ...tokens, service_tier: 'priority' })).toEqual([{ service_tier: 'priority' }, 'final', 300]);
    expect(await ask({ ...tokens, service_tier: 'batch' })).toEqual([{ service_tier: 'batch' }, 'final', 200]);
    expect(await ask({ ...tokens, service_tier: 'standard', speed: 'fast' })).toEqual([
      { service_tier: 'fast' },
      'final',
      200,
    ]);
    for (const name of ['standard', 'default', null, 7, 'x'.repeat(40), 'a"b', 'ä']) {
      expect(await ask({ ...tokens, service_tier: name })).toEqual([undefined, 'final', 200]);
    }
  });

  test('searches, as many as were allowed', async () => {
    const usage = { ...tokens, server_tool_use: { web_search_requests: 2, web_fetch_requests: 1 } };
    expect(await ask(usage, searching)).toEqual([{ web_search: 2 }, 'final', 200 + 20_000]);
    const many = { ...tokens, server_tool_use: { web_search_requests: 1e9 } };
    expect(await ask(many, searching)).toEqual([{ web_search: 3 }, 'final', 200 + 30_000]);
    expect(await ask(many)).toEqual([undefined, 'final', 200]);
    const broken = { ...tokens, server_tool_use: { web_search_requests: -2 } };
    expect(await ask(broken, searching)).toEqual([undefined, 'final', 200]);
  });

  test('fields of other APIs bound and price nothing', async () => {
    const usage = { ...tokens, server_tool_use: { web_search_requests: 2 } };
    const image = { role: 'user', content: [{ type: 'input_image', image_url: 'https://x.example/a.png' }] };
    const foreign = { max_tool_calls: 0, input: [image, { tools: [{ type: 'web_search' }] }] };
    expect(await ask(usage, { ...searching, ...foreign })).toEqual([{ web_search: 2 }, 'final', 200 + 20_000]);
    expect(await ask(usage, foreign)).toEqual([undefined, 'final', 200]);
  });

  test('a search that nobody has asked for takes nothing from the counts', async () => {
    // Of a text that would be estimated at ten.
    const usage = { input_tokens: 100, output_tokens: 5, server_tool_use: { web_search_requests: 1 } };
    for (const model of ['messages', 'own']) {
      expect(await ask(usage, {}, model)).toEqual([undefined, 'final', 150]);
    }
  });
});

describe.each([false, true])('chat completions, streamed: %s', (stream) => {
  const path = '/v1/chat/completions';
  const usage = { prompt_tokens: 100, completion_tokens: 10 };
  const ask = (more: object, beside: Said['beside'] = {}, model?: string) => {
    said = { text, usage: { ...usage, ...more }, beside };
    return charged(path, asking(path, stream, {}, model));
  };

  test.each(['others', 'translated'])('audio, caches and service tiers of the model %s', async (model) => {
    const cached = { prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 40 } };
    expect(await ask(cached, {}, model)).toEqual([undefined, 'final', 40 + 50 + 100]);
    const audio = { prompt_tokens_details: { audio_tokens: 50 }, completion_tokens_details: { audio_tokens: 4 } };
    const heard = { input_audio: 50, output_audio: 4 };
    expect(await ask(audio, {}, model)).toEqual([heard, 'final', 50 + 1_500 + 60 + 240]);
    const tier = { service_tier: 'priority' };
    expect(await ask({}, tier, model)).toEqual([tier, 'final', 300]);
    expect(await ask({}, { service_tier: 'default' }, model)).toEqual([undefined, 'final', 200]);
    const most = { prompt_tokens_details: { cached_tokens: 80, cache_write_tokens: 40, audio_tokens: 500 } };
    expect(await ask(most, {}, model)).toEqual([undefined, 'partial', 25 + 100]);
  });
});

describe.each([false, true])('responses, streamed: %s', (stream) => {
  const path = '/v1/responses';
  const search = (action?: object, more: object = {}) => ({
    id: 'ws_1',
    type: 'web_search_call',
    status: 'completed',
    ...(action && { action }),
    ...more,
  });
  const file = { id: 'fs_1', type: 'file_search_call', status: 'completed', queries: ['a'] };
  const ask = (items: Said['items'], more: object, usage: object = {}, beside: Said['beside'] = {}) => {
    said = { text, usage: { input_tokens: 100, output_tokens: 10, ...usage }, items: items!, beside };
    return charged(path, asking(path, stream, more));
  };
  const tools = [{ type: 'web_search' }, { type: 'file_search' }];

  test('searches, and not what is done with what they have found', async () => {
    const items = [search({ type: 'search', query: 'a' }), search(), search({ type: 'open_page' }), file];
    expect(await ask(items, { tools })).toEqual([{ web_search: 2, file_search: 1 }, 'final', 200 + 22_500]);
    const failed = [search({ type: 'search' }, { status: 'failed' })];
    expect(await ask(failed, { tools })).toEqual([undefined, 'final', 200]);
  });

  test('no more of them than were allowed', async () => {
    const items = [search(), search(), search(), file];
    const allowed = { tools, max_tool_calls: 2 };
    expect(await ask(items, allowed)).toEqual([{ web_search: 2 }, 'final', 200 + 20_000]);
    expect(await ask(items, { tools: [{ type: 'function', name: 'web_search', parameters: {} }] })).toEqual([
      undefined,
      'final',
      200,
    ]);
  });

  test('of each tool a hundred, whatever it says: that is for another API', async () => {
    const named = [{ type: 'web_search', max_uses: 0 }];
    expect(await ask([search()], { tools: named })).toEqual([{ web_search: 1 }, 'final', 200 + 10_000]);
  });

  test('those of a tool that an item brings', async () => {
    const input = [
      { type: 'additional_tools', tools: [{ type: 'web_search' }] },
      { role: 'user', content: 'hi' },
    ];
    expect(await ask([search()], { input })).toEqual([{ web_search: 1 }, 'final', 200 + 10_000]);
  });

  test('caches and service tiers', async () => {
    const input_tokens_details = { cache_write_tokens: 40, cache_write_tokens_details: { ttl_12h_tokens: 30 } };
    expect(await ask([], {}, { input_tokens_details }, { service_tier: 'flex' })).toEqual([
      { service_tier: 'flex', input_cache_write_long: 30 },
      'final',
      // Nearest to 60 + 12.5 + 60 + 100, half upwards.
      233,
    ]);
  });
});

test('what a request may cost is held, its searches too', async () => {
  const { projectKey, organizationId } = await at.make.tenant();
  await grant(organizationId, 50_000);
  const [path, other] = [paths[0]!, key];
  key = projectKey.value;
  said = { text, usage: { input_tokens: 1, output_tokens: 1 } };
  // A hundred, where nobody says how many.
  const unnamed = { tools: [{ type: 'web_search_20250305', name: 'web_search' }] };
  expect((await send(path, asking(path, false, unnamed))).status).toBe(402);
  // The input and the output at the dearest price that there may be.
  expect((await send(path, asking(path, false, searching))).status).toBe(200);
  const dearer = { tools: [{ ...searching.tools[0], max_uses: 5 }] };
  expect((await send(path, asking(path, false, dearer))).status).toBe(402);
  key = other;
});
