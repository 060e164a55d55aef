import { describe, expect, test } from 'vitest';
import { chatRoute } from '../../../src/data/api/chat/chat.ts';
import { fixedClock } from '../../support/fixed-clock.ts';
import { send } from '../call.ts';
import { hosted, model } from '../hosted.ts';
import { ScriptedUpstream } from '../scripted-upstream.ts';

/** Nothing of a chat request is dropped, however deep it stands: honoured, harmless by decision, or refused by its name (contract G.6, G.1). */

const routed = () => {
  const upstream = new ScriptedUpstream();
  return {
    upstream,
    route: chatRoute({
      models: hosted(upstream, model({ context_length: 10_000_000 })),
      clock: fixedClock(1_000),
      answerId: () => 'chatcmpl-1',
    }),
  };
};

const user = { role: 'user', content: 'Hello' };
const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
const result = { role: 'tool', tool_call_id: 'a', content: 'x' };
const body = (fields: object) => ({ model: 'm', messages: [user], ...fields });
const said = (message: object, after: readonly object[] = []) => body({ messages: [user, message, ...after] });

describe('is refused by its name', () => {
  test.each<[param: string, request: object]>([
    ['messages.1.audio', said({ role: 'assistant', content: 'x', audio: { id: 'audio_1' } })],
    ['messages.1.function_call', said({ role: 'assistant', function_call: { name: 'f', arguments: '{}' } })],
    ['messages.1.tool_calls.0.extra', said({ role: 'assistant', tool_calls: [{ ...call, extra: 1 }] }, [result])],
    [
      'messages.1.tool_calls.0.function.strict',
      said({ role: 'assistant', tool_calls: [{ ...call, function: { ...call.function, strict: true } }] }, [result]),
    ],
    ['messages.2.is_error', said({ role: 'assistant', tool_calls: [call] }, [{ ...result, is_error: true }])],
    [
      'messages.0.content.0.citations',
      body({ messages: [{ role: 'user', content: [{ type: 'text', text: 'x', citations: [] }] }] }),
    ],
    [
      'messages.0.content.0.image_url.format',
      body({
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.example', format: 'x' } }] },
        ],
      }),
    ],
    ['tools.0.defer', body({ tools: [{ type: 'function', function: { name: 'f' }, defer: true }] })],
    ['tools.0.function.cache', body({ tools: [{ type: 'function', function: { name: 'f', cache: 1 } }] })],
    [
      'tool_choice.function.mode',
      body({
        tools: [{ type: 'function', function: { name: 'f' } }],
        tool_choice: { type: 'function', function: { name: 'f', mode: 'x' } },
      }),
    ],
    ['tool_choice.type', body({ tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } } })],
    ['response_format.strict', body({ response_format: { type: 'json_object', strict: true } })],
    [
      'response_format.json_schema.mode',
      body({ response_format: { type: 'json_schema', json_schema: { name: 'n', schema: {}, mode: 'x' } } }),
    ],
    ['stream_options.chunk_size', body({ stream: true, stream_options: { chunk_size: 2 } })],
    ['stream_options.include_obfuscation', body({ stream: true, stream_options: { include_obfuscation: true } })],
    ['function_call', body({ function_call: 'auto' })],
    ['functions', body({ functions: [{ name: 'f' }] })],
    ['prediction', body({ prediction: { type: 'content', content: 'x' } })],
    ['modalities.0', body({ modalities: ['audio'] })],
    ['verbosity', body({ verbosity: 'high' })],
    ['top_logprobs', body({ top_logprobs: 3 })],
    ['logit_bias', body({ logit_bias: { 1: 2 } })],
    ['moderation', body({ moderation: { model: 'x' } })],
  ])('%s', async (param, request) => {
    const { route, upstream } = routed();
    const got = await send(route, request);
    expect(got).toMatchObject({ status: 400, body: { error: { code: 'unsupported_parameter', param } } });
    expect(upstream.requests).toEqual([]);
  });
});

describe('is taken, since it changes nothing', () => {
  test.each<[what: string, request: object]>([
    [
      'an answer as it came',
      said({
        role: 'assistant',
        content: 'x',
        refusal: null,
        annotations: [],
        audio: null,
        function_call: null,
        tool_calls: null,
      }),
    ],
    [
      'an answer that an SDK has parsed',
      said(
        {
          role: 'assistant',
          content: null,
          refusal: null,
          parsed: { a: 1 },
          tool_calls: [{ ...call, function: { ...call.function, parsed_arguments: {} } }],
        },
        [result],
      ),
    ],
    [
      'a call put together from a stream',
      said({ role: 'assistant', content: '', tool_calls: [{ ...call, index: 0 }] }, [result]),
    ],
    ['hints of caching', body({ prompt_cache_key: 'k', prompt_cache_retention: '24h' })],
    ['an id of the user', body({ safety_identifier: 'u', user: 'v' })],
    ['the usual verbosity', body({ verbosity: 'medium' })],
  ])('%s', async (_, request) => {
    const { route, upstream } = routed();
    expect(await send(route, request)).toMatchObject({ status: 200 });
    expect(upstream.requests).toHaveLength(1);
  });

  test('the id of the user is the newer of two', async () => {
    const { route, upstream } = routed();
    await send(route, body({ safety_identifier: 'u', user: 'v' }));
    expect(upstream.requests[0]).toMatchObject({ metadata: { user_id: 'u' } });
    const long = await send(route, body({ safety_identifier: 'u'.repeat(257) }));
    expect(long.body.error).toMatchObject({ param: 'safety_identifier' });
  });
});

describe('the arguments of calls count among the values of a request', () => {
  /** So many calls, each with a list of so many numbers. */
  const calls = (count: number, length: number) => {
    const tool_calls = Array.from({ length: count }, (_, index) => ({
      ...call,
      id: `c${index}`,
      function: { name: 'f', arguments: `{"a":[${'1,'.repeat(length - 1)}1]}` },
    }));
    const results = tool_calls.map(({ id }) => ({ ...result, tool_call_id: id }));
    return said({ role: 'assistant', tool_calls }, results);
  };

  test('all together', async () => {
    const { route, upstream } = routed();
    expect((await send(route, calls(3, 600_000))).status).toBe(200);
    const got = await send(route, calls(3, 700_000));
    expect(got).toMatchObject({
      status: 400,
      body: { error: { code: 'request_too_complex', param: 'messages.1.tool_calls.2.function.arguments' } },
    });
    expect(got.body.error.message).toContain('more than 2000000 values');
    expect(upstream.requests).toHaveLength(1);
  });

  test.each([
    ['{"a":1,"a":2}', 'names a member twice'],
    [`{"a":${'['.repeat(63)}${']'.repeat(63)}}`, 'nested deeper than 64 levels'],
    ['{"a":', 'not valid JSON'],
    ['[1]', 'Must be a JSON object'],
  ])('what is wrong with them is said: %s', async (args, message) => {
    const { route } = routed();
    const got = await send(
      route,
      said({ role: 'assistant', tool_calls: [{ ...call, function: { name: 'f', arguments: args } }] }, [result]),
    );
    expect(got.body.error.message).toContain(message);
    expect(got.body.error.message).not.toContain('request body');
  });
});
