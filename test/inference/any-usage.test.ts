// Lane: middle: it runs at length
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { entriesOf, lineOf } from '../../src/data/account/journal/entry.ts';
import { chargeLines, microDollarsOf, type Pricing, priceOf } from '../../src/domain/usage/charge.ts';
import { settlementsOf, usageSettled } from '../../src/domain/usage/usage-events.ts';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { free } from '../support/accounts.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { modelFor, paths, type Said, speakingUpstream } from './speaking-upstream.ts';

/** Whatever an upstream says that it has counted, an account is one that can be, and anybody can work it out again. */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const usual = {
  prompt: '0.000003',
  completion: '0.000015123456',
  input_cache_read: '0.0000003',
  input_cache_write: '0.00000375',
};
const further = {
  input_cache_write_long: '0.000006',
  input_audio: '0.00004',
  output_audio: '0.00008',
  web_search: '0.01',
  file_search: '0.0025',
};
const tier = { ...free, ...usual, prompt: '0.0000015', request: '0.001' };
const pricing = { ...usual, ...further, service_tiers: { flex: tier, priority: { ...tier, ...further } } };

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let provider: Awaited<ReturnType<typeof speakingUpstream>>;
let key: string;
let said: Said;

beforeAll(async () => {
  provider = await speakingUpstream(() => said, { pricing: { ...usual, ...further } });
  at = await wholeGateway({ models: provider.models, pricing });
  key = (await at.make.tenant()).projectKey.value;
  server = await at.listen();
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
  await provider.close();
});

const anyCount = fc.oneof(
  { weight: 8, arbitrary: fc.nat(3_000) },
  { weight: 1, arbitrary: fc.constantFrom(-1, 0.5, 1e9, 1e300, 2 ** 53, null, '7', true, [], {}) },
);
const some = (...names: readonly string[]) =>
  fc
    .dictionary(fc.constantFrom(...names), anyCount, { maxKeys: names.length })
    .chain((counts) => fc.constantFrom<unknown>(counts, counts, counts, null, 7, [counts]));
const anyTier = fc.constantFrom<unknown>('flex', 'priority', 'default', 'other', 'a"b', '__proto__', 7, null, {});
const ofInput = some('cached_tokens', 'cache_write_tokens', 'audio_tokens');
const ofOutput = some('reasoning_tokens', 'audio_tokens');

const anyUsage: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  '/v1/messages': fc.record(
    {
      input_tokens: anyCount,
      output_tokens: anyCount,
      cache_creation_input_tokens: anyCount,
      cache_read_input_tokens: anyCount,
      cache_creation: some('ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens'),
      server_tool_use: some('web_search_requests'),
      service_tier: anyTier,
      speed: anyTier,
      iterations: fc.constantFrom<unknown>(null, [{ type: 'message' }], [{ type: 'compaction', input_tokens: 9 }], 7),
    },
    { requiredKeys: [] },
  ),
  '/v1/chat/completions': fc.record(
    {
      prompt_tokens: anyCount,
      completion_tokens: anyCount,
      total_tokens: anyCount,
      prompt_tokens_details: ofInput,
      completion_tokens_details: ofOutput,
    },
    { requiredKeys: [] },
  ),
  '/v1/responses': fc.record(
    {
      input_tokens: anyCount,
      output_tokens: anyCount,
      total_tokens: anyCount,
      input_tokens_details: ofInput,
      output_tokens_details: ofOutput,
    },
    { requiredKeys: [] },
  ),
};
const anyItem = fc.constantFrom(
  { id: 'a', type: 'web_search_call', status: 'completed', action: { type: 'search' } },
  { id: 'b', type: 'web_search_call', status: 'completed', action: { type: 'open_page' } },
  { id: 'c', type: 'file_search_call', status: 'failed' },
  { id: 'd', type: 'file_search_call', status: 'completed', queries: [] },
);

/** Models that translate messages, and what their upstreams speak. */
const translated: Readonly<Record<string, string>> = { translated: '/v1/chat/completions', answers: '/v1/responses' };
const most = 100;
const context = 5_000;
const searches = 3;
const ask = async (path: string, model: string, stream: boolean): Promise<void> => {
  const isResponses = path === '/v1/responses';
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      stream,
      ...(isResponses ? { input: 'hi' } : { messages: [{ role: 'user', content: 'hi' }] }),
      ...(isResponses ? { max_output_tokens: most, max_tool_calls: searches } : { max_tokens: most }),
      ...(!(model in translated) && { tools: [{ type: 'web_search', name: 'web_search', max_uses: searches }] }),
    }),
  });
  expect([response.status, (await response.text()).length > 0]).toEqual([200, true]);
};

const ways = [
  ...paths.map((path) => [path, modelFor(path)] as const),
  ...Object.keys(translated).map((model) => ['/v1/messages', model] as const),
].flatMap((way) => [false, true].map((stream) => [...way, stream] as const));

describe.each(ways)('%s of the model %s, streamed: %s', (path, model, stream) => {
  test('has one account that can be, and that can be worked out again', async () => {
    const spoken = translated[model] ?? path;
    const turns = model in translated ? 1 : 100;
    const anySaid = fc.record({
      text: fc.nat(200).map((length) => 'x'.repeat(length + 1)),
      usage: anyUsage[spoken]!,
      beside: fc.record({ service_tier: anyTier }, { requiredKeys: [] }),
      items: fc.array(anyItem, { maxLength: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(anySaid, async (says) => {
        said = says;
        const before = at.accounts.settled.length;
        await ask(path, model, stream);
        const settled = at.accounts.settled.slice(before);
        expect(settled).toHaveLength(1);
        const [account] = settled as [(typeof settled)[0]];
        const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = account;
        const tokens = [input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens];
        const { service_tier, ...counts } = account.details ?? {};
        for (const count of [...tokens, ...Object.values(counts), account.micro_dollars]) {
          expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
        }
        expect(input_tokens + cache_creation_input_tokens + cache_read_input_tokens).toBeLessThanOrEqual(
          context * turns,
        );
        expect(output_tokens).toBeLessThanOrEqual(most * turns);
        expect(counts.input_cache_write_long ?? 0).toBeLessThanOrEqual(cache_creation_input_tokens);
        expect(counts.input_audio ?? 0).toBeLessThanOrEqual(input_tokens);
        expect(counts.output_audio ?? 0).toBeLessThanOrEqual(output_tokens);
        expect((counts.web_search ?? 0) + (counts.file_search ?? 0)).toBeLessThanOrEqual(searches);
        expect(Object.values(counts)).not.toContain(0);
        const { reasoning_tokens: thought = 1 } = account;
        expect(Number.isSafeInteger(thought) && thought! > 0).toBe(true);
        expect(account.reasoning_tokens ?? 0).toBeLessThanOrEqual(output_tokens);
        expect([undefined, 'flex', 'priority', 'other']).toContain(service_tier);
        // Through the journal, into an event, and from the price that is in the log.
        const { entries, damaged } = entriesOf(lineOf({ kind: 'settled', settlement: account }));
        expect(damaged).toBe(0);
        expect(entries).toMatchObject([{ kind: 'settled', settlement: JSON.parse(JSON.stringify(account)) }]);
        const event = JSON.parse(JSON.stringify(usageSettled([account])));
        const [logged] = settlementsOf(event) as [typeof account];
        expect(logged).toEqual(account);
        const price = priceOf(
          model,
          JSON.parse(JSON.stringify(priceOf(model, { ...free, ...pricing }).pricing)) as Pricing,
        );
        expect([price.id, microDollarsOf(price, logged)]).toEqual([account.price, account.micro_dollars]);
        const sum = chargeLines(price, logged).reduce((all, { pico }) => all + pico, 0n);
        expect(BigInt(account.micro_dollars)).toBe((sum + 500_000n) / 1_000_000n);
      }),
      { numRuns: 150 },
    );
  });
});
