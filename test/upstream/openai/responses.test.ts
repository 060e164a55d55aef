import type { IncomingHttpHeaders } from 'node:http';
import fc from 'fast-check';
import OpenAI from 'openai';
import { afterEach, describe, expect, test } from 'vitest';
import type { Answer, GenerateRequest, ToolUseBlock, Upstream } from '../../../src/data/upstream/port.ts';
import { apiKey, type Mock, serve, upstreamAt } from '../mock.ts';
import { assemble, options, request, user } from '../requests.ts';
import { bodyOf, both, json, stream } from './mock.ts';
import {
  call,
  completed,
  created,
  event,
  message,
  reasoning,
  recorded,
  recordedAnswer,
  recordedResponse,
  response,
  said,
  summary,
} from './responses-mock.ts';

/** A model behind a server that answers on responses alone: what it is asked, and what becomes of what it says. */

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const start = async (mocked: Promise<Mock>, more: object = {}): Promise<{ mock: Mock; upstream: Upstream }> => {
  const mock = await mocked;
  const upstream = upstreamAt(mock.url, { kind: 'openai', apis: ['responses'] }, more);
  cleanups.push(
    () => mock.close(),
    () => upstream.close(),
  );
  return { mock, upstream };
};
const answering = async (whole: unknown, events: readonly string[]): Promise<Upstream> =>
  (await start(serve(both(whole, events)))).upstream;

/** As a whole answer and as a stream. */
const bothWays = async (upstream: Upstream): Promise<readonly [Answer, Answer]> => [
  await upstream.answer(request(), options()),
  await assemble(upstream.stream(request(), options())),
];
/** The same answer in both ways, told with no deltas. */
const told = async (output: readonly object[], fields: object = {}, end = 'response.completed') => {
  const items = output.map((item, output_index) => event('response.output_item.done', { output_index, item }));
  const last = event(end, { response: response(output, fields) });
  const [whole, streamed] = await bothWays(
    await answering(response(output, fields), [created, ...items, last, 'data: garbage\n\n']),
  );
  expect(streamed).toEqual(whole);
  return whole;
};
const refused = (code: string) => expect.objectContaining({ name: 'UpstreamError', code });
const fails = async (whole: unknown, events: readonly string[], code: string): Promise<void> => {
  const upstream = await answering(whole, events);
  await expect(upstream.answer(request(), options())).rejects.toEqual(refused(code));
  await expect(assemble(upstream.stream(request(), options()))).rejects.toEqual(refused(code));
};

describe('request', () => {
  test('goes to responses with the key, stores nothing, and asks for the reasoning', async () => {
    const seen: { url: string; headers: IncomingHttpHeaders; body: unknown }[] = [];
    const listening = serve((incoming, out) => {
      void bodyOf(incoming).then((text) => {
        const body = JSON.parse(text);
        seen.push({ url: `${incoming.method} ${incoming.url}`, headers: incoming.headers, body });
        if (body.stream) stream(out, recorded);
        else json(out, recordedResponse);
      });
    });
    const { upstream, mock } = await start(listening);
    await upstream.answer(request({ system: 'Be brief' }), options());
    const plain = upstreamAt(mock.url, { kind: 'openai', apis: ['responses'] }, { thinks: false } as object);
    await assemble(plain.stream(request(), options()));
    await plain.close();
    expect(seen.map(({ url }) => url)).toEqual(['POST /v1/responses', 'POST /v1/responses']);
    expect(seen[0]!.headers).toMatchObject({ authorization: `Bearer ${apiKey}`, 'x-client-request-id': 'req_test' });
    const input = [user('Where does the weir begin?')];
    const rest = { model: 'sim', max_output_tokens: 1000, input, store: false };
    expect(seen.map(({ body }) => body)).toEqual([
      { ...rest, instructions: 'Be brief', include: ['reasoning.encrypted_content'], stream: false },
      { ...rest, stream: true },
    ]);
  });

  test('cannot be counted, and is written by a thread as it is sent', async () => {
    const upstream = await answering(recordedResponse, recorded);
    expect(upstream.countTokens).toBeUndefined();
    expect(upstream.written!(request(), 'count')).toEqual([null]);
    const [written] = upstream.written!(request(), 'answer') as [{ body: Uint8Array }];
    expect(JSON.parse(Buffer.from(written.body).toString())).toMatchObject({ store: false, stream: false });
  });
});

describe('answer', () => {
  test('has all that the server says', async () => {
    const [whole, streamed] = await bothWays(await answering(recordedResponse, recorded));
    const [thinking, text, open, close] = recordedAnswer.content;
    const exact = (gate: unknown) => ({
      ...recordedAnswer,
      content: [thinking, text, { ...open, input: { gate } }, close],
    });
    expect(whole).toEqual(exact(expect.anything()));
    expect(String((whole.content[2] as ToolUseBlock).input.gate)).toBe('9007199254740993');
    expect(streamed).toEqual(exact(9007199254740992));
  });

  test('the mock speaks the language of the official SDK', async () => {
    const { mock } = await start(serve(both(recordedResponse, recorded)));
    const client = new OpenAI({ apiKey: 'k', baseURL: `${mock.url}/v1`, maxRetries: 0 });
    const asked = { model: 'm', input: 'x' };
    const whole = await client.responses.create(asked);
    const streamed = await client.responses.stream(asked).finalResponse();
    for (const { output_text, output } of [whole, streamed]) {
      expect(output_text).toBe('The weir é aqui 😀.');
      expect(output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call', 'function_call']);
    }
  });

  test('is complete, cut off, or filtered', async () => {
    const output = [message(said('x'))];
    const incomplete = (reason: string) => ({ status: 'incomplete', incomplete_details: { reason } });
    const end = 'response.incomplete';
    expect(await told(output)).toMatchObject({ stop_reason: 'end_turn', stop_sequence: null });
    expect(await told(output, incomplete('max_output_tokens'), end)).toMatchObject({ stop_reason: 'max_tokens' });
    expect(await told(output, incomplete('content_filter'), end)).toMatchObject({ stop_reason: 'end_turn' });
    const nothing = response([], incomplete('content_filter'));
    await fails(nothing, [created, event(end, { response: nothing })], 'content_refused');
    const cut = call('c', 'f', '{"a":', { status: 'incomplete' });
    const half = response([...output, cut], incomplete('max_output_tokens'));
    const [whole] = await bothWaysOr(await answering(half, [created, event(end, { response: half })]));
    expect(whole!.content).toEqual([{ type: 'text', text: 'x' }]);
  });

  /** A stream says what has come of a call that is cut off, which is no JSON. */
  const bothWaysOr = async (upstream: Upstream): Promise<readonly (Answer | null)[]> => [
    await upstream.answer(request(), options()),
    await assemble(upstream.stream(request(), options())).catch(() => null),
  ];

  test('has reasoning however a server tells it', async () => {
    const thinkingOf = async (...items: readonly object[]) => (await told([...items, message(said('x'))])).content[0];
    const think = (thinking: string, signature: string) => ({ type: 'thinking', thinking, signature });
    const content = [{ type: 'reasoning_text', text: 'Hm.' }];
    expect(await thinkingOf(reasoning({ encrypted_content: 'e' }))).toEqual(think('', 'rs1:rs_01:e'));
    expect(await thinkingOf(reasoning({ id: undefined, encrypted_content: 'e' }))).toEqual(think('', 'rs1::e'));
    expect(await thinkingOf(reasoning({ id: 'a:b', encrypted_content: 'e' }))).toEqual(think('', 'rs1::e'));
    expect(await thinkingOf(reasoning({ content }))).toEqual(think('Hm.', 'rs1:rs_01:'));
    expect(await thinkingOf(reasoning(summary('Hm.')))).toEqual(think('Hm.', ''));
    // Nothing to show, and nothing to send back.
    expect(await thinkingOf(reasoning())).toEqual({ type: 'text', text: 'x' });
  });

  test('a refusal is text, and what the server does itself is left out', async () => {
    const search = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search' } };
    const { content, usage } = await told([search, message(said('a'), { type: 'refusal', refusal: 'No.' })]);
    expect(content).toEqual([{ type: 'text', text: 'aNo.' }]);
    expect(usage.details).toEqual({ web_search: 1 });
    const [, streamed] = await bothWays(
      await answering(response([]), [
        created,
        event('response.refusal.delta', { output_index: 0, delta: 'No.' }),
        completed(),
      ]),
    );
    expect(streamed.content).toEqual([{ type: 'text', text: 'No.' }]);
  });

  test('uncounted output is estimated', async () => {
    const answer = await told([message(said('x'.repeat(300)))], { usage: null });
    expect(answer.usage).toMatchObject({ output_tokens: 100, isPartial: true });
  });

  test.each<[string, readonly string[]]>([
    ['deltas alone', [event('response.output_text.delta', { item_id: 'a', delta: 'x' }), completed()]],
    ['the end alone', [completed([message(said('x'))])]],
    ['no created', [event('response.output_item.done', { output_index: 0, item: message(said('x')) }), completed()]],
    [
      'one index for all items',
      [
        created,
        event('response.output_item.added', { output_index: 0, item: reasoning() }),
        event('response.output_item.done', { output_index: 0, item: reasoning() }),
        event('response.output_item.added', { output_index: 0, item: message() }),
        event('response.output_text.delta', { output_index: 0, delta: 'x' }),
        event('response.output_item.done', { output_index: 0, item: message(said('x')) }),
        completed(),
      ],
    ],
    [
      'ids that change',
      [
        event('response.output_item.added', { output_index: 0, item: message() }),
        event('response.output_text.delta', { output_index: 0, item_id: 'a', delta: 'x' }),
        event('response.output_item.done', { output_index: 0, item: { ...message(said('x')), id: 'b' } }),
        completed(),
      ],
    ],
    ['a mark at the end', [created, completed([message(said('x'))]), 'data: [DONE]\n\n']],
    ['events of no known kind', [created, event('response.new_thing', { x: 1 }), completed([message(said('x'))])]],
  ])('%s is enough', async (_, events) => {
    const upstream = await answering(null, events);
    expect((await assemble(upstream.stream(request(), options()))).content).toEqual([{ type: 'text', text: 'x' }]);
  });

  test('one of two texts of a thought is told', async () => {
    const upstream = await answering(null, [
      event('response.reasoning_text.delta', { output_index: 0, delta: 'Hm.' }),
      event('response.reasoning_summary_text.delta', { output_index: 0, delta: 'Hm.' }),
      event('response.output_item.done', { output_index: 0, item: reasoning({ encrypted_content: 'e' }) }),
      completed(),
    ]);
    const { content } = await assemble(upstream.stream(request(), options()));
    expect(content).toEqual([{ type: 'thinking', thinking: 'Hm.', signature: 'rs1:rs_01:e' }]);
  });

  const streamedContent = async (...events: readonly string[]) => {
    const upstream = await answering(null, [created, ...events, completed()]);
    return (await assemble(upstream.stream(request(), options()))).content;
  };
  const delta = (type: string, text: string, fields: object = {}) =>
    event(`response.${type}.delta`, { delta: text, ...fields });

  test('a thought is no text, and a text no thought, where events tell no item', async () => {
    expect(
      await streamedContent(delta('reasoning_text', 'Hm.'), delta('output_text', 'x'), delta('reasoning_text', 'So.')),
    ).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature: '' },
      { type: 'text', text: 'x' },
      { type: 'thinking', thinking: 'So.', signature: '' },
    ]);
  });

  test('what the next turn needs of a thought is told where its text has ended before', async () => {
    const item = reasoning({ ...summary('Hm.'), encrypted_content: 'e' });
    expect(
      await streamedContent(
        delta('reasoning_summary_text', 'Hm.', { output_index: 0 }),
        delta('output_text', 'x', { output_index: 1 }),
        event('response.output_item.done', { output_index: 0, item }),
      ),
    ).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature: '' },
      { type: 'text', text: 'x' },
      { type: 'thinking', thinking: '', signature: 'rs1:rs_01:e' },
    ]);
  });

  test.each(['', null])('a call that is announced with the name %j has its name in the end', async (name) => {
    const [announced, whole] = [call('c1', '', '', { name }), call('c1', 'bash', '{"at":1}')];
    expect(
      await streamedContent(
        event('response.output_item.added', { output_index: 0, item: announced }),
        event('response.output_item.done', { output_index: 0, item: whole }),
      ),
    ).toEqual([{ type: 'tool_use', id: 'c1', name: 'bash', input: { at: 1 } }]);
  });

  test.each([[{}], [[]], [''], [0], [false]])('an error of %j is none', async (error) => {
    expect((await told([message(said('x'))], { error })).content).toEqual([{ type: 'text', text: 'x' }]);
  });

  test('the pieces in which a stream comes change nothing', async () => {
    const bytes = Buffer.from(recorded.join(''));
    let cuts: readonly number[] = [];
    const { upstream } = await start(
      serve((incoming, out) => {
        incoming.resume();
        const edges = [0, ...[...cuts].sort((one, other) => one - other), bytes.length];
        stream(
          out,
          edges.slice(1).map((end, index) => bytes.subarray(edges[index], end)),
        );
      }),
    );
    const whole = await assemble(upstream.stream(request(), options()));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 12 }), async (places) => {
        cuts = places;
        expect(await assemble(upstream.stream(request(), options()))).toEqual(whole);
      }),
      { numRuns: 40 },
    );
  });
});

describe('reasoning on the next turn', () => {
  const itemsOf = async (...thoughts: readonly { thinking: string; signature: string }[]) => {
    let body = '';
    const { upstream } = await start(
      serve((incoming, out) => {
        void bodyOf(incoming).then((text) => {
          body = text;
          json(out, recordedResponse);
        });
      }),
    );
    const content = thoughts.map((thought) => ({ type: 'thinking', ...thought }));
    const messages = [user('x'), { role: 'assistant' as const, content: [...content, { type: 'text', text: 'a' }] }];
    const asked = request({ messages: [...messages, user('y')] });
    expect(upstream.inexpressible!(asked)).toBeNull();
    await upstream.answer(asked, options());
    return (JSON.parse(body).input as readonly object[]).slice(1, -2);
  };

  test('is the item that has come', async () => {
    const given = [
      reasoning({ ...summary('Hm.'), encrypted_content: 'e+/=:x' }),
      reasoning({ encrypted_content: 'e' }),
      reasoning({ content: [{ type: 'reasoning_text', text: 'Hm.' }] }),
    ];
    const { content } = await told([...given, message(said('x'))]);
    expect(await itemsOf(...(content.slice(0, 3) as never[]))).toEqual(given);
  });

  test('names nothing that the server keeps', async () => {
    expect(await itemsOf({ thinking: '', signature: 'rs1:rs_of_others:' })).toEqual([]);
  });

  test('of another kind of model is its text; nothing is nothing', async () => {
    expect(await itemsOf({ thinking: 'Hm.', signature: '' }, { thinking: '', signature: '' })).toEqual([
      { type: 'reasoning', ...summary('Hm.') },
    ]);
  });

  test('shows nothing where the client wants none of it', async () => {
    const upstream = await answering(recordedResponse, recorded);
    const bodyOfThinking = (thinking: GenerateRequest['thinking']) => {
      const [written] = upstream.written!(request({ thinking }), 'answer') as [{ body: Uint8Array }];
      return JSON.parse(Buffer.from(written.body).toString());
    };
    expect(bodyOfThinking({ type: 'adaptive' }).reasoning).toEqual({ effort: 'medium', summary: 'auto' });
    expect(bodyOfThinking({ type: 'adaptive', display: 'omitted' }).reasoning).toEqual({ effort: 'medium' });
    const without = bodyOfThinking({ type: 'disabled' });
    expect([without.reasoning, without.include]).toEqual([{ effort: 'none' }, undefined]);
  });
});

describe('failure', () => {
  const failed = (code: string | null, text = 'The words of the provider.') =>
    response([], { status: 'failed', error: { code, message: text }, usage: null });

  test.each<[string, string]>([
    ['server_error', 'provider_error'],
    ['rate_limit_exceeded', 'provider_overloaded'],
    ['server_is_overloaded', 'provider_overloaded'],
    ['context_length_exceeded', 'context_length_exceeded'],
    ['invalid_prompt', 'invalid_request'],
    ['image_too_large', 'invalid_request'],
    ['content_filter', 'content_refused'],
    ['bio_policy', 'content_refused'],
    ['image_content_policy_violation', 'content_refused'],
    ['insufficient_quota', 'provider_error'],
    ['something_new', 'provider_error'],
  ])('%s is %s', async (code, expected) => {
    const error = { code, message: 'The words of the provider.', param: null };
    await fails(failed(code), [created, event('response.failed', { response: failed(code) })], expected);
    await fails(failed(code), [created, event('error', error)], expected);
    await fails(failed(code), [event('error', { error })], expected);
  });

  test('an overload has not begun, so another upstream can be asked', async () => {
    const upstream = await answering(null, [created, event('error', { code: 'server_is_overloaded', message: 'x' })]);
    await expect(assemble(upstream.stream(request(), options()))).rejects.toMatchObject({ begun: false });
  });

  test('what was counted is told', async () => {
    const usage = { input_tokens: 5, output_tokens: 2 };
    const upstream = await answering(null, [
      event('response.output_text.delta', { output_index: 0, delta: 'x' }),
      event('response.failed', { response: { ...failed('server_error'), usage } }),
    ]);
    const counted: unknown[] = [];
    const asked = { ...options(), counted: (each: unknown) => counted.push(each) };
    await expect(assemble(upstream.stream(request(), asked))).rejects.toEqual(refused('provider_error'));
    expect(counted.at(-1)).toMatchObject({ input_tokens: 5, output_tokens: 2 });
  });

  const added = (item: object) => event('response.output_item.added', { output_index: 0, item });
  const argued = (delta: unknown) => event('response.function_call_arguments.delta', { output_index: 0, delta });
  test.each<[string, string]>([
    ['nothing', ''],
    ['no JSON', 'data: {"type":"response.cre\n\n'],
    ['an early end', recorded.slice(0, -1).join('')],
    ['a done without an end', `${created}data: [DONE]\n\n`],
    ['an end without a response', event('response.completed')],
    ['an end that is none', completed([message(said('x'))], { status: 'in_progress' })],
    ['text that is a number', event('response.output_text.delta', { output_index: 0, delta: 3 }) + completed()],
    ['an item that is no object', event('response.output_item.added', { item: 'x' }) + completed()],
    ['a call without a name', added({ ...call('c', 'f', ''), name: undefined }) + completed()],
    ['a strange name', added(call('c', 'a b', '')) + completed()],
    ['arguments that are a list', added(call('c', 'f', '')) + argued('[1]') + completed()],
    ['two arguments', added(call('c', 'f', '')) + argued('{}{}') + completed()],
    ['arguments that do not end', added(call('c', 'f', '')) + argued('{"a":') + completed()],
    ['a part that is a string', completed([message('x' as never)])],
  ])('%s is provider_error', async (_, body) => {
    const upstream = await answering(null, [body]);
    await expect(assemble(upstream.stream(request(), options()))).rejects.toEqual(refused('provider_error'));
  });

  test.each<[string, unknown]>([
    ['nothing', ''],
    ['a list', []],
    ['no output', response([], { output: null })],
    ['one that goes on', response([], { status: 'queued' })],
    ['one that was left', response([], { status: 'cancelled' })],
    ['arguments that are no JSON', response([call('c', 'f', '{"a":')])],
    ['arguments that are a list', response([call('c', 'f', '[1]')])],
    ['content that is a number', response([{ ...message(), content: 3 }])],
  ])('a whole answer of %s is provider_error', async (_, body) => {
    const upstream = await answering(body, recorded);
    await expect(upstream.answer(request(), options())).rejects.toEqual(refused('provider_error'));
  });
});
