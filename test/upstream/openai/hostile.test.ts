import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { type Answer, UpstreamError } from '../../../src/data/upstream/port.ts';
import { serve, upstreamAt } from '../mock.ts';
import { assemble, options, request } from '../requests.ts';
import { both, chunk, completion, done, json, recorded, recordedCompletion, stream } from './mock.ts';

/** Servers that break the API: whatever they send, the client gets whole blocks or one clear failure. The wire is tested in ../hostile.test.ts. */

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const upstreamTo = async (listener: Parameters<typeof serve>[0]) => {
  const mock = await serve(listener);
  const upstream = upstreamAt(mock.url, { kind: 'openai' });
  cleanups.push(
    () => mock.close(),
    () => upstream.close(),
  );
  return upstream;
};

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
    return 'no error';
  } catch (error) {
    return error instanceof UpstreamError ? error.code : `not an UpstreamError: ${String(error)}`;
  }
};

const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const call = (fields: object, index = 0) =>
  chunk({ tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: '' }, ...fields }] });
const finished = chunk({}, { finish_reason: 'stop' }) + done;

describe('a hostile stream', () => {
  test.each<[string, string | Buffer]>([
    ['nothing', ''],
    ['only comments', ': a\n\n: b\n\n'],
    ['garbage', Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 197) % 256))],
    ['bad UTF-8', Buffer.from('646174613a20ffc0800a0a', 'hex')],
    ['truncated JSON', 'data: {"choices":[{"delta":{"con\n\n'],
    ['JSON that is no object', 'data: [1]\n\n'],
    ['no choices', 'data: {"object":"chat.completion.chunk"}\n\n'],
    ['choices that are no list', 'data: {"choices":{"0":{}}}\n\n'],
    ['a choice that is no object', 'data: {"choices":[3]}\n\n'],
    ['a delta that is no object', chunk(null, { choices: [{ delta: 'x' }] })],
    ['content that is a number', chunk({ content: 3 }) + finished],
    ['reasoning that is an object', chunk({ reasoning_content: {} }) + finished],
    ['a part that is a string', chunk({ content: ['x'] }) + finished],
    ['calls that are no list', chunk({ tool_calls: {} }) + finished],
    ['a call that is null', chunk({ tool_calls: [null] }) + finished],
    ['a call without a function', chunk({ tool_calls: [{ index: 0, id: 'c' }] }) + finished],
    ['arguments that are no JSON', call({ function: { name: 'f', arguments: '{"a":' } }) + finished],
    ['arguments that are a list', call({ function: { name: 'f', arguments: '[1]' } }) + finished],
    ['two arguments', call({ function: { name: 'f', arguments: '{},{}' } }) + finished],
    ['a call without a name', call({ function: { arguments: '{}' } }) + finished],
    ['a strange name', call({ function: { name: '../../x' } }) + finished],
    ['line ends in an id', call({ id: 'c\r\nset-cookie: a' }) + finished],
    ['an id that is a number', call({ id: 7 }) + finished],
    [
      'more of a call that has ended',
      call({ function: { name: 'f', arguments: '{}' } }) +
        call({}, 1) +
        call({ function: { arguments: '{}' } }) +
        finished,
    ],
    [
      'arguments that begin with their end',
      call({ function: { name: 'f', arguments: '}' } }) +
        call({}, 1) +
        call({ function: { arguments: '{}' } }) +
        finished,
    ],
    [
      'the second choice alone',
      chunk(null, { choices: [{ index: 1, delta: { content: 'x' }, finish_reason: 'stop' }] }) + done,
    ],
    ['a done without a reason', chunk({ content: 'x' }) + done],
    ['an early end', recorded.slice(0, -3).join('')],
    ['an end in the last event', chunk({ content: 'x' }) + finished.slice(0, 40)],
  ])('%s is provider_error', async (_, body) => {
    const upstream = await upstreamTo((incoming, response) => {
      incoming.resume();
      stream(response, [body]);
    });
    expect(await codeOf(assemble(upstream.stream(request(), options())))).toBe('provider_error');
  });

  test.each<[string, string]>([
    ['what follows the end', `${chunk({ content: 'x' })}${finished}data: garbage\n\n`],
    ['other choices', chunk(null, { choices: [{ delta: { content: 'x' } }, { delta: 7 }] }) + finished],
    [
      'choices that nobody asked for',
      chunk({ content: 'y' }, { index: 1 }) +
        chunk({ content: 'x' }) +
        chunk({}, { index: 1, finish_reason: 'length' }) +
        chunk(null, {
          choices: [
            { index: 1, delta: { content: 'y' } },
            { index: 0, delta: {}, finish_reason: 'stop' },
          ],
        }) +
        done,
    ],
    ['choices of null deltas', chunk({ content: 'x' }) + chunk(null, { choices: [{ delta: null }] }) + finished],
    ['unknown fields', `${chunk({ content: 'x', audio: {}, function_call: null })}${finished}`],
    ['a filter’s report', chunk(null, { prompt_filter_results: [] }) + chunk({ content: 'x' }) + finished],
  ])('%s changes nothing', async (_, body) => {
    const upstream = await upstreamTo(both(undefined, [body]));
    expect((await assemble(upstream.stream(request(), options()))).content).toEqual([{ type: 'text', text: 'x' }]);
  });
});

describe('a hostile answer', () => {
  const called = (fields: object) => completion({ tool_calls: [{ id: 'c', ...fields }] });
  test.each<[string, unknown]>([
    ['nothing', ''],
    ['no JSON', '{"choices":['],
    ['a list', []],
    ['no choices', { choices: [] }],
    ['choices of null', { choices: null }],
    ['no message', { choices: [{ text: 'x' }] }],
    ['content that is a number', completion({ content: 3 })],
    ['a call without a function', called({})],
    ['arguments that are no JSON', called({ function: { name: 'f', arguments: '{"a":' } })],
    ['arguments that are a list', called({ function: { name: 'f', arguments: '[1]' } })],
    ['arguments that are a number', called({ function: { name: 'f', arguments: '1.0' } })],
    ['two arguments', called({ function: { name: 'f', arguments: '{},{}' } })],
    ['arguments that are too deep', called({ function: { name: 'f', arguments: nested(5000) } })],
    ['arguments beyond the stack', called({ function: { name: 'f', arguments: nested(200_000) } })],
    ['a strange name', called({ function: { name: 'a b', arguments: '{}' } })],
  ])('%s is provider_error', async (_, body) => {
    const upstream = await upstreamTo((incoming, response) => {
      incoming.resume();
      json(response, body);
    });
    expect(await codeOf(upstream.answer(request(), options()))).toBe('provider_error');
  });

  test('whatever stands in the place of a part of it', async () => {
    const broken = fc.tuple(fc.nat(400), fc.constantFrom('null', '7', '"x"', '[]', '{}', '{"a":[{}]}', 'true'));
    const upstreams = { text: '' };
    const upstream = await upstreamTo((incoming, response) => {
      incoming.resume();
      json(response, upstreams.text);
    });
    await fc.assert(
      fc.asyncProperty(broken, async ([at, value]) => {
        // The value at some place of the document becomes another.
        let count = 0;
        upstreams.text = JSON.stringify(recordedCompletion, (_, each) =>
          count++ === at % 40 ? JSON.parse(value) : each,
        );
        const code = await codeOf(upstream.answer(request(), options()));
        expect(['no error', 'provider_error']).toContain(code);
      }),
      { numRuns: 300 },
    );
  });
});

test('the pieces in which a stream comes change nothing', async () => {
  const bytes = Buffer.from(recorded.join(''));
  let cuts: readonly number[] = [];
  const upstream = await upstreamTo((incoming, response) => {
    incoming.resume();
    const edges = [0, ...[...cuts].sort((one, other) => one - other), bytes.length];
    stream(
      response,
      edges.slice(1).map((end, index) => bytes.subarray(edges[index], end)),
    );
  });
  const whole: Answer = await assemble(upstream.stream(request(), options()));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 12 }), async (places) => {
      cuts = places;
      expect(await assemble(upstream.stream(request(), options()))).toEqual(whole);
    }),
    { numRuns: 60 },
  );
});
