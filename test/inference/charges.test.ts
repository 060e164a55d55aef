import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { modelFor, paths, type Said, speakingUpstream } from './speaking-upstream.ts';

/** What is charged for requests that pass, whatever their upstream says it has counted (contract M.2). */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let provider: Awaited<ReturnType<typeof speakingUpstream>>;
let key: string;
let said: Said;

beforeAll(async () => {
  provider = await speakingUpstream(() => said);
  at = await wholeGateway({ models: provider.models, pricing: { prompt: '0.000001', completion: '0.00001' } });
  key = (await at.make.tenant()).projectKey.value;
  server = await at.listen();
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
  await provider.close();
});

const asking = (path: string, stream: boolean, model = modelFor(path), most: number | null = 100) => ({
  model,
  stream,
  ...(path === '/v1/responses' ? { input: 'hi' } : { messages: [{ role: 'user', content: 'hi' }] }),
  ...(most !== null && { [path === '/v1/responses' ? 'max_output_tokens' : 'max_tokens']: most }),
});
/** ⌈2 / 3⌉ + 8. */
const estimate = 9;

/** The account of one request: tokens read, cached and written, and who counted. */
const charged = async (path: string, body: object | string) => {
  const before = at.accounts.settled.length;
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  expect([answer.status, (await answer.text()).length > 0]).toEqual([200, true]);
  const settled = at.accounts.settled.slice(before);
  expect(settled).toHaveLength(1);
  const [{ input_tokens, cache_read_input_tokens, output_tokens, usage_source }] = settled as [
    (typeof settled)[number],
  ];
  return [input_tokens, cache_read_input_tokens, output_tokens, usage_source];
};

/** A `usage` in the words of an API. */
const counting = (path: string, input: unknown, output: unknown, cached?: unknown): object => {
  if (path === '/v1/messages') return { input_tokens: input, output_tokens: output, cache_read_input_tokens: cached };
  if (path === '/v1/responses')
    return { input_tokens: input, output_tokens: output, input_tokens_details: { cached_tokens: cached } };
  return { prompt_tokens: input, completion_tokens: output, prompt_tokens_details: { cached_tokens: cached } };
};

const ways = paths.flatMap((path) => [false, true].map((stream) => [path, stream] as const));
const text = 'x'.repeat(30);

describe.each(ways)('%s, streamed: %s', (path, stream) => {
  const ask = () => charged(path, asking(path, stream));
  const served = {
    '/v1/messages': { type: 'web_search_20260318', name: 'web_search' },
    '/v1/responses': { type: 'web_search' },
  };

  test('is charged by what the upstream has counted', async () => {
    said = { text, usage: counting(path, 7, 11) };
    expect(await ask()).toEqual([7, 0, 11, 'final']);
  });

  test.each([[undefined], [null], ['none'], [{}]])('is charged by its text where the usage is %j', async (usage) => {
    said = { text, usage };
    expect(await ask()).toEqual([estimate, 0, 10, 'estimated']);
  });

  test('is charged by its text where the output is not counted', async () => {
    for (const output of [undefined, null, '11', -3]) {
      said = { text, usage: counting(path, 7, output) };
      expect(await ask()).toEqual([7, 0, 10, 'partial']);
    }
  });

  test('is charged by its text for no more than was asked for', async () => {
    for (const length of [800, 3_000]) {
      said = { text: 'x'.repeat(length), usage: undefined };
      expect(await ask()).toEqual([estimate, 0, 100, 'estimated']);
      // Nor with tools of the upstream, whose turns are not in what the request holds.
      if (!(path in served)) continue;
      const tools = [served[path as keyof typeof served]];
      expect(await charged(path, { ...asking(path, stream), tools })).toEqual([
        expect.any(Number),
        0,
        100,
        'estimated',
      ]);
    }
  });

  test('is charged for more than was asked for where the upstream counts more and has written more', async () => {
    said = { text: 'x'.repeat(3_000), usage: counting(path, 7, 700) };
    expect(await ask()).toEqual([7, 0, 700, 'final']);
    said = { text: 'x'.repeat(3_000), usage: counting(path, 7, 1e9) };
    expect(await ask()).toEqual([7, 0, 1_000, 'partial']);
  });

  test.each([1e300, 1e9, 2 ** 53])('a count of %d is not believed beyond what the request can take', async (count) => {
    said = { text, usage: counting(path, count, count) };
    expect(await ask()).toEqual([5_000, 0, 100, 'partial']);
    // Messages have to name a maximum.
    if (path === '/v1/messages') return;
    const [, , output, source] = await charged(path, asking(path, stream, modelFor(path), null));
    expect([output, source]).toEqual([4_500, 'partial']);
  });

  test.runIf(path in served)('tools that the upstream runs count in every turn', async () => {
    const tools = [served[path as keyof typeof served]];
    said = { text, usage: counting(path, 40_000, 900) };
    expect(await charged(path, { ...asking(path, stream), tools })).toEqual([40_000, 0, 900, 'final']);
    // One that is parsed, too.
    expect(await charged(path, { ...asking(path, stream), tools, policy_ids: [] })).toEqual([40_000, 0, 900, 'final']);
    // Tools of the client's own have the client ask again.
    const own = [path === '/v1/messages' ? { name: 'f', input_schema: {} } : { type: 'function', name: 'f' }];
    expect(await charged(path, { ...asking(path, stream), tools: own })).toEqual([5_000, 0, 100, 'partial']);
    if (path === '/v1/messages') {
      for (const [type, expected] of [
        ['compact_20260112', [40_000, 0, 900, 'final']],
        ['clear_thinking_20251015', [5_000, 0, 100, 'partial']],
      ]) {
        const managed = { ...asking(path, stream), context_management: { edits: [{ type }] } };
        expect(await charged(path, managed)).toEqual(expected);
        expect(await charged(path, { ...managed, policy_ids: [] })).toEqual(expected);
        const escaped = JSON.stringify(managed).replace('compact', '\\u0063ompact');
        expect(await charged(path, escaped)).toEqual(expected);
      }
    }
    if (path !== '/v1/responses') return;
    const input = [
      { role: 'user', content: 'hi' },
      { type: 'additional_tools', role: 'developer', tools },
    ];
    expect(await charged(path, { ...asking(path, stream), input })).toEqual([40_000, 0, 900, 'final']);
  });

  test.runIf(path === '/v1/messages')('what is done besides the turns of the model counts', async () => {
    const turn = { input_tokens: 7, output_tokens: 11, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    const iterations = [
      { ...turn, type: 'compaction', input_tokens: 4_000, cache_read_input_tokens: 300 },
      { ...turn, type: 'message' },
      { ...turn, type: 'advisor_message', model: 'r', output_tokens: 50 },
      { ...turn, type: 'fallback_message' },
    ];
    said = { text, usage: { ...counting(path, 14, 22), iterations } };
    expect(await ask()).toEqual([4_021, 300, 83, 'final']);
    said = {
      text,
      usage: { ...counting(path, 14, 22), iterations: [iterations[1], null, 'x', { type: 'new', output_tokens: -1 }] },
    };
    expect(await ask()).toEqual([14, 0, 22, 'partial']);
    said = { text, usage: { ...counting(path, 14, 22), iterations: null } };
    expect(await ask()).toEqual([14, 0, 22, 'final']);
  });

  test('tokens of thinking are in the usage record, as a part of the output', async () => {
    const details = path === '/v1/chat/completions' ? 'completion_tokens_details' : 'output_tokens_details';
    const name = path === '/v1/messages' ? 'thinking_tokens' : 'reasoning_tokens';
    const recorded = async (count: unknown) => {
      said = { text, usage: { ...counting(path, 7, 11), [details]: { [name]: count } } };
      expect(await ask()).toEqual([7, 0, 11, 'final']);
      return at.accounts.settled.at(-1)!.reasoning_tokens;
    };
    expect(await recorded(5)).toBe(5);
    expect(await recorded(1e9)).toBe(11);
    for (const none of [0, -1, '5', null]) expect(await recorded(none)).toBeUndefined();
  });

  test('fractions and negative counts are none', async () => {
    said = { text, usage: counting(path, 7.9, 11.5) };
    expect(await ask()).toEqual([7, 0, 11, 'partial']);
    said = { text, usage: counting(path, -7, 11) };
    expect(await ask()).toEqual([estimate, 0, 11, 'estimated']);
  });

  test('what was thought is charged where it is told beside the output', async () => {
    if (path === '/v1/messages') return;
    const told = (total: unknown, reasoning?: number) => {
      const details = path === '/v1/responses' ? 'output_tokens_details' : 'completion_tokens_details';
      const usage = counting(path, 7, 11);
      said = { text, usage: { ...usage, total_tokens: total, [details]: { reasoning_tokens: reasoning } } };
      return ask();
    };
    // Beside it, with and without a count of its own; in it, as it should be.
    expect(await told(38, 20)).toEqual([7, 0, 31, 'final']);
    expect(await told(38)).toEqual([7, 0, 31, 'final']);
    expect(await told(18, 5)).toEqual([7, 0, 11, 'final']);
    // What else there may be in the sum was not written.
    expect(await told(38, 5)).toEqual([7, 0, 16, 'final']);
    for (const none of [0, -5, 3, '38', null, 1e300, 38.5]) expect(await told(none)).toEqual([7, 0, 11, 'final']);
    expect(await told(1e8)).toEqual([7, 0, 100, 'partial']);
  });

  test('more of the input from the cache than there is', async () => {
    said = { text, usage: counting(path, 7, 11, 500) };
    // The API of messages counts it beside the other input.
    expect(await ask()).toEqual(path === '/v1/messages' ? [7, 500, 11, 'final'] : [0, 7, 11, 'partial']);
    said = { text, usage: counting(path, 7, 11, 1e12) };
    expect(await ask()).toEqual(path === '/v1/messages' ? [7, 4_993, 11, 'partial'] : [0, 7, 11, 'partial']);
  });
});

describe.each([false, true])('a translated request, streamed: %s', (stream) => {
  test.each([
    [{ prompt_tokens: 7, completion_tokens: 11 }, [7, 0, 11, 'final']],
    [undefined, [estimate, 0, 10, 'estimated']],
    [{ prompt_tokens: 7 }, [7, 0, 10, 'partial']],
    [{ prompt_tokens: 1e300, completion_tokens: 1e300 }, [5_000, 0, 100, 'partial']],
  ])('is charged for %j', async (usage, expected) => {
    said = { text, usage };
    expect(await charged('/v1/messages', asking('/v1/messages', stream, 'translated'))).toEqual(expected);
  });
});
