import type { IncomingHttpHeaders } from 'node:http';
import fc from 'fast-check';
import OpenAI from 'openai';
import { afterEach, describe, expect, test } from 'vitest';
import type { Answer, Chunk, ToolUseBlock, Upstream } from '../../../src/data/upstream/port.ts';
import { ExactNumber } from '../../../src/json/exact-number.ts';
import { apiKey, type Mock, serve, upstreamAt } from '../mock.ts';
import { assemble, options, request, user } from '../requests.ts';
import { bodyOf, both, chunk, completion, done, json, recorded, recordedAnswer, stream } from './mock.ts';

/** A model behind a server of chat completions: what it is asked, and what becomes of what it says. */

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const start = async (mocked: Promise<Mock>, over: object = {}): Promise<{ mock: Mock; upstream: Upstream }> => {
  const mock = await mocked;
  const upstream = upstreamAt(mock.url, { kind: 'openai', ...over });
  cleanups.push(
    () => mock.close(),
    () => upstream.close(),
  );
  return { mock, upstream };
};

/** As a whole answer and as a stream. */
const bothWays = async (upstream: Upstream): Promise<readonly Answer[]> => [
  await upstream.answer(request(), options()),
  await assemble(upstream.stream(request(), options())),
];

const refused = (code: string) => expect.objectContaining({ name: 'UpstreamError', code });

describe('request', () => {
  test('goes to chat completions with the key and nothing that was not asked for', async () => {
    const seen: { url: string; headers: IncomingHttpHeaders; body: unknown }[] = [];
    const { upstream, mock } = await start(
      serve((incoming, response) => {
        void bodyOf(incoming).then((body) => {
          seen.push({ url: `${incoming.method} ${incoming.url}`, headers: incoming.headers, body: JSON.parse(body) });
          json(response, completion({ content: 'x' }));
        });
      }),
    );
    const keyless = upstreamAt(`${mock.url}/proxy/`, {
      kind: 'openai',
      api_key_env: undefined,
      max_tokens_name: 'max_completion_tokens',
    });
    await upstream.answer(request({ system: 'Be brief', temperature: undefined }), options());
    await keyless.answer(request(), options());
    await keyless.close();
    expect(seen.map(({ url }) => url)).toEqual(['POST /v1/chat/completions', 'POST /proxy/v1/chat/completions']);
    expect(seen[0]!.headers).toMatchObject({
      authorization: `Bearer ${apiKey}`,
      'x-client-request-id': 'req_test',
      accept: 'application/json',
    });
    expect(seen[1]!.headers).not.toHaveProperty('authorization');
    expect(seen[0]!.headers).not.toHaveProperty('x-api-key');
    expect(seen[0]!.headers).not.toHaveProperty('anthropic-version');
    const messages = [user('Where does the weir begin?')];
    expect(seen.map(({ body }) => body)).toEqual([
      {
        model: 'sim',
        max_tokens: 1000,
        messages: [{ role: 'system', content: 'Be brief' }, ...messages],
        stream: false,
      },
      { model: 'sim', max_completion_tokens: 1000, messages, stream: false },
    ]);
  });

  test('of a stream asks for the usage', async () => {
    let body = '';
    const { upstream } = await start(
      serve((incoming, response) => {
        void bodyOf(incoming).then((text) => {
          body = text;
          stream(response);
        });
      }),
    );
    await assemble(upstream.stream(request(), options()));
    expect(JSON.parse(body)).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });

  test('uses a connection again, after an answer and after a stream', async () => {
    const { upstream, mock } = await start(serve(both()));
    // A connection rests for a moment after an answer: until then the next request dials another.
    for (let before = -1; before !== mock.connections(); await bothWays(upstream)) before = mock.connections();
  });
});

describe('answer', () => {
  test('has all that the server says', async () => {
    const { upstream } = await start(serve(both()));
    const [whole, streamed] = await bothWays(upstream);
    const [thinking, text, open, close] = recordedAnswer.content;
    const exact = {
      ...recordedAnswer,
      content: [thinking, text, { ...open, input: { gate: expect.anything() } }, close],
    };
    expect(whole).toEqual(exact);
    const input = (whole!.content[2] as ToolUseBlock).input;
    expect(input.gate).toBeInstanceOf(ExactNumber);
    expect(String(input.gate)).toBe('9007199254740993');
    expect(streamed).toEqual({
      ...exact,
      content: [thinking, text, { ...open, input: { gate: 9007199254740992 } }, close],
    });
  });

  test('the mock speaks the language of the official SDK', async () => {
    const { mock } = await start(serve(both()));
    const client = new OpenAI({ apiKey: 'k', baseURL: `${mock.url}/v1`, maxRetries: 0 });
    const asked = { model: 'm', messages: [{ role: 'user' as const, content: 'x' }] };
    const whole = await client.chat.completions.create(asked);
    const streamed = await client.chat.completions.stream(asked).finalChatCompletion();
    for (const { choices } of [whole, streamed]) {
      expect(choices[0]!.message.content).toBe('The weir é aqui 😀.');
      expect(choices[0]!.message.tool_calls).toHaveLength(2);
      expect(choices[0]!.finish_reason).toBe('tool_calls');
    }
  });

  test.each<[string, object, Partial<Answer>]>([
    ['stop', {}, { stop_reason: 'end_turn', stop_sequence: null }],
    ['stop', { stop_reason: 'END' }, { stop_reason: 'stop_sequence', stop_sequence: 'END' }],
    ['stop', { stop_reason: 128_009 }, { stop_reason: 'end_turn', stop_sequence: null }],
    ['length', {}, { stop_reason: 'max_tokens', stop_sequence: null }],
    ['length', { stop_reason: 'END' }, { stop_reason: 'max_tokens', stop_sequence: null }],
    ['content_filter', {}, { stop_reason: 'end_turn' }],
    ['something_new', {}, { stop_reason: 'end_turn' }],
  ])('finish reason %s with %j', async (finish_reason, fields, expected) => {
    const said = { finish_reason, ...fields };
    const { upstream } = await start(
      serve(both(completion({ content: 'x' }, said), [chunk({ content: 'x' }), chunk({}, said), done])),
    );
    for (const answer of await bothWays(upstream)) expect(answer).toMatchObject(expected);
  });

  test('calls that a named choice demanded end in tool_use, whatever the server says', async () => {
    const call = { id: 'c', function: { name: 'f', arguments: '{"a":1}' } };
    const { upstream } = await start(
      serve(
        both(completion({ content: null, tool_calls: [call] }), [
          chunk({ tool_calls: [{ index: 0, ...call }] }, { finish_reason: 'stop' }),
          done,
        ]),
      ),
    );
    const content = [{ type: 'tool_use', id: 'c', name: 'f', input: { a: 1 } }];
    for (const answer of await bothWays(upstream)) expect(answer).toMatchObject({ content, stop_reason: 'tool_use' });
  });

  test('calls without ids get some, and those without an index follow each other', async () => {
    const calls = ['f', 'g'].map((name) => ({ id: '', function: { name, arguments: '{}' } }));
    const { upstream } = await start(
      serve(
        both(completion({ tool_calls: calls }), [
          chunk({ tool_calls: calls }),
          chunk({}, { finish_reason: 'tool_calls' }),
          done,
        ]),
      ),
    );
    const content = ['f', 'g'].map((name, index) => ({ type: 'tool_use', id: `call_test_${index}`, name, input: {} }));
    for (const answer of await bothWays(upstream)) expect(answer.content).toEqual(content);
  });

  test('a call that the end of the answer cut off is left out', async () => {
    const calls = ['{"a":1}', '{"a":'].map((text, index) => ({
      id: `c${index}`,
      function: { name: 'f', arguments: text },
    }));
    const { upstream } = await start(serve(both(completion({ tool_calls: calls }, { finish_reason: 'length' }))));
    expect(await upstream.answer(request(), options())).toMatchObject({
      content: [{ id: 'c0', input: { a: 1 } }],
      stop_reason: 'max_tokens',
    });
  });

  test('is the first choice, wherever it stands', async () => {
    const [first, other] = ['x', 'y'].map((content, index) => ({
      index,
      message: { content },
      delta: { content },
      finish_reason: index === 0 ? 'stop' : 'length',
    }));
    const choices = [other, first];
    const { upstream } = await start(serve(both(completion({}, {}, { choices }), [chunk(null, { choices }), done])));
    for (const answer of await bothWays(upstream)) {
      expect(answer).toMatchObject({ content: [{ type: 'text', text: 'x' }], stop_reason: 'end_turn' });
    }
  });

  test('calls of one index are two where their ids differ', async () => {
    const calls = ['a', 'b'].map((id) => ({ index: 0, id, function: { name: 'f', arguments: '{}' } }));
    const { upstream } = await start(
      serve(
        both(undefined, [
          ...calls.map((call) => chunk({ tool_calls: [call] })),
          chunk({}, { finish_reason: 'stop' }),
          done,
        ]),
      ),
    );
    const answer = await assemble(upstream.stream(request(), options()));
    expect(answer.content).toMatchObject([{ id: 'a' }, { id: 'b' }]);
  });

  test('calls that are written in turns come one after another, and none of their pieces is lost', async () => {
    const member = fc.tuple(
      fc.stringMatching(/^[a-z]{1,4}$/),
      fc.oneof(fc.string(), fc.constantFrom('}', '{"', '\\"}', ']]')),
    );
    const calls = fc.array(fc.array(member, { maxLength: 3 }), { minLength: 1, maxLength: 4 });
    let events: readonly string[] = [];
    const { upstream } = await start(
      serve((incoming, response) => {
        incoming.resume();
        stream(response, events);
      }),
    );
    await fc.assert(
      fc.asyncProperty(
        calls,
        fc.array(fc.nat(1000), { maxLength: 60 }),
        fc.integer({ min: 1, max: 5 }),
        async (asked, turns, size) => {
          const inputs = asked.map((members) => Object.fromEntries(members));
          const pieces = inputs.map((input) => JSON.stringify(input).match(new RegExp(`[^]{1,${size}}`, 'gu'))!);
          const opened = inputs.map((_, index) =>
            chunk({ tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: '' } }] }),
          );
          const written: string[] = [];
          const writes = (index: number): void => {
            const piece = pieces[index]!.shift();
            if (piece !== undefined) written.push(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }));
          };
          for (const turn of turns) writes(turn % inputs.length);
          for (const index of inputs.keys()) while (pieces[index]!.length > 0) writes(index);
          events = [
            ...opened,
            ...written,
            chunk({ content: 'Done.' }),
            chunk({}, { finish_reason: 'tool_calls' }),
            done,
          ];
          const answer = await assemble(upstream.stream(request(), options()));
          expect(answer.content).toEqual([
            ...inputs.map((input, index) => ({ type: 'tool_use', id: `c${index}`, name: 'f', input })),
            { type: 'text', text: 'Done.' },
          ]);
        },
      ),
      { numRuns: 150 },
    );
  });

  test.each<[string, object, object[]]>([
    ['a refusal', { content: null, refusal: 'No.' }, [{ type: 'text', text: 'No.' }]],
    ['parts', { content: [{ type: 'text', text: 'a' }, { type: 'x' }, { type: 'text', text: 'b' }] }, [{ text: 'ab' }]],
    ['reasoning', { reasoning: 'Hm.', content: 'x' }, [{ type: 'thinking', thinking: 'Hm.' }, { text: 'x' }]],
    ['nothing', { content: '' }, []],
  ])('of %s', async (_, message, content) => {
    const { upstream } = await start(
      serve(both(completion(message), [chunk(message), chunk({}, { finish_reason: 'stop' }), done])),
    );
    for (const answer of await bothWays(upstream)) {
      expect(answer.content).toHaveLength(content.length);
      expect(answer.content).toMatchObject(content);
    }
  });

  test('a filter that leaves nothing is content_refused', async () => {
    const said = { finish_reason: 'content_filter' };
    const counted = { usage: { prompt_tokens: 5000, completion_tokens: 77, total_tokens: 5077 } };
    const whole = completion({ content: null }, said, counted);
    const { upstream } = await start(serve(both(whole, [chunk({}, said), chunk(null, counted), done])));
    const usage = expect.objectContaining({ input_tokens: 5000, output_tokens: 77 });
    const expected = expect.objectContaining({ code: 'content_refused', usage });
    await expect(upstream.answer(request(), options())).rejects.toEqual(expected);
    await expect(assemble(upstream.stream(request(), options()))).rejects.toEqual(expected);
  });
});

describe('what says nothing is passed over', () => {
  const usage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };
  const said = (over: object) => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...over })}\n\n`;

  test.each([
    'data: null\n\n',
    'data:\n\n',
    'data: \n\n',
    'event: message\ndata:\n\n',
    said({}),
    said({ choices: null }),
    said({ choices: [] }),
    ...['', null, {}, false].map((error) => said({ error, choices: [] })),
  ])('%j', async (nothing) => {
    const all = [chunk({ content: 'x' }), chunk({}, { finish_reason: 'stop' }), chunk(null, { usage })];
    const events = [...all.flatMap((event) => [nothing, event]), nothing, 'data: [DONE] \n\n'];
    const { upstream } = await start(serve(both(undefined, events)));
    expect(await assemble(upstream.stream(request(), options()))).toMatchObject({
      content: [{ type: 'text', text: 'x' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 7, output_tokens: 5 },
    });
  });

  test.each([said({ usage }), said({ choices: null, usage })])('but the usage in %j counts', async (told) => {
    const { upstream } = await start(
      serve(both(undefined, [chunk({ content: 'x' }), chunk({}, { finish_reason: 'stop' }), told, done])),
    );
    const { usage: read } = await assemble(upstream.stream(request(), options()));
    expect(read).toMatchObject({ input_tokens: 7, output_tokens: 5 });
  });

  test.each([
    said({ error: 'overloaded' }),
    said({ error: { message: 'x' }, choices: [] }),
    'event: error\ndata: {"message":"x","code":"server_error"}\n\n',
  ])('but not an error as %j', async (error) => {
    const events = [chunk({ content: 'x' }), error, chunk({}, { finish_reason: 'stop' }), done];
    const { upstream } = await start(serve(both(undefined, events)));
    await expect(assemble(upstream.stream(request(), options()))).rejects.toEqual(refused('provider_error'));
  });

  test('no media type', async () => {
    const { upstream } = await start(
      serve((incoming, response) => {
        void bodyOf(incoming).then((body) => {
          const isStreamed = JSON.parse(body).stream;
          response.end(isStreamed ? recorded.join('') : JSON.stringify(completion({ content: 'x' })));
        });
      }),
    );
    const [whole, streamed] = await bothWays(upstream);
    expect(whole!.content).toEqual([{ type: 'text', text: 'x' }]);
    expect(streamed!.content).toHaveLength(4);
  });

  test.each(['application/json; charset=utf-8', 'application/problem+json', 'APPLICATION/JSON', ''])(
    'a whole answer of type %j',
    async (type) => {
      const { upstream } = await start(
        serve((incoming, response) => {
          incoming.resume();
          response.writeHead(200, { 'content-type': type }).end(JSON.stringify(completion({ content: 'x' })));
        }),
      );
      expect((await upstream.answer(request(), options())).content).toHaveLength(1);
    },
  );

  test('a finish reason of nothing ends nothing', async () => {
    const said = [chunk({ content: 'x' }, { finish_reason: '' }), chunk({}, { finish_reason: '' })];
    for (const end of [[], [done]]) {
      const { upstream } = await start(serve(both(undefined, [...said, ...end])));
      await expect(assemble(upstream.stream(request(), options()))).rejects.toEqual(refused('provider_error'));
    }
  });

  test('the blank line after the last event', async () => {
    const last = chunk({}, { finish_reason: 'stop' });
    for (const end of [last.slice(0, -1), last.slice(0, -2), last + done.slice(0, -2), `${last}data: [DO`]) {
      const { upstream } = await start(serve(both(undefined, [chunk({ content: 'x' }), end])));
      expect((await assemble(upstream.stream(request(), options()))).stop_reason).toBe('end_turn');
    }
  });
});

test('events before one that is too large are told before the fault', async () => {
  const { upstream } = await start(
    serve(both(undefined, [`${chunk({ content: 'x' })}data: ${'a'.repeat(1_100_000)}`])),
  );
  const told: Chunk[] = [];
  const reading = (async () => {
    for await (const each of upstream.stream(request(), options())) told.push(each);
  })();
  await expect(reading).rejects.toEqual(refused('provider_error'));
  expect(told.map(({ type }) => type)).toEqual(['start', 'block_start', 'block_delta']);
});

describe('usage', () => {
  test('that has been told counts where the stream breaks off behind it', async () => {
    const counted = { usage: { prompt_tokens: 5000, completion_tokens: 77, total_tokens: 5077 } };
    for (const events of [[chunk({ content: 'x' }), chunk(null, counted)], [chunk({ content: 'x' })]]) {
      const { upstream } = await start(serve(both(completion({}), events)));
      const told: unknown[] = [];
      const counting = { ...options(), counted: (usage: unknown) => told.push(usage) };
      await expect(assemble(upstream.stream(request(), counting))).rejects.toMatchObject({ code: 'provider_error' });
      const usage = expect.objectContaining({ input_tokens: 5000, output_tokens: 77 });
      expect(told.slice(1)).toEqual(events.length === 2 ? [usage] : []);
    }
  });

  const of = (usage: unknown) =>
    start(
      serve(
        both(completion({ content: 'x'.repeat(30) }, {}, { usage }), [
          chunk({ content: 'x'.repeat(30) }),
          chunk({}, { finish_reason: 'stop' }),
          chunk(null, { usage }),
          done,
        ]),
      ),
    );

  test.each<[unknown, number[], boolean]>([
    [{ prompt_tokens: 9, completion_tokens: 3 }, [9, 3, 0], false],
    [{ prompt_tokens: -5, completion_tokens: 1e308 }, [0, 200_000, 0], true],
    [{ prompt_tokens: 9, completion_tokens: 2.9, prompt_tokens_details: { cached_tokens: 50 } }, [0, 2, 9], true],
    [{ prompt_tokens: 9, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 10 } }, [0, 2, 9], true],
    [{ prompt_tokens: '7', completion_tokens: 3, prompt_tokens_details: null }, [0, 3, 0], false],
  ])('%j becomes sane integers, and is told to be if it was none', async (usage, tokens, isPartial) => {
    const [input_tokens, output_tokens, cache_read_input_tokens] = tokens;
    const { upstream } = await of(usage);
    for (const answer of await bothWays(upstream)) {
      expect(answer.usage).toEqual({
        input_tokens,
        output_tokens,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens,
        ...(isPartial && { isPartial }),
      });
    }
  });

  test.each([null, 'none', {}, { prompt_tokens: 3 }])('%j is as many tokens as the bytes are about', async (usage) => {
    const { upstream } = await of(usage);
    for (const answer of await bothWays(upstream)) expect(answer.usage.output_tokens).toBeGreaterThanOrEqual(10);
  });

  test('of the last chunk of the answer counts where no other comes', async () => {
    const last = `data: ${JSON.stringify({
      choices: [{ delta: {}, finish_reason: 'stop' }],
      usage: { prompt_tokens: 5, completion_tokens: 2 },
    })}\n\n`;
    const { upstream } = await start(serve(both(undefined, [chunk({ content: 'x' }), last, done])));
    expect((await assemble(upstream.stream(request(), options()))).usage).toMatchObject({
      input_tokens: 5,
      output_tokens: 2,
    });
  });
});

describe('stream', () => {
  test('an empty reason is none: what breaks off is no answer', async () => {
    const { upstream } = await start(
      serve(both(undefined, [chunk({ content: 'x' }, { finish_reason: '' }), chunk({}, { finish_reason: '' })])),
    );
    await expect(assemble(upstream.stream(request(), options()))).rejects.toEqual(refused('provider_error'));
  });

  test('ends with the reason where the server does not say that it is done', async () => {
    const { upstream } = await start(serve(both(undefined, recorded.slice(0, -1))));
    expect(await assemble(upstream.stream(request(), options()))).toMatchObject({ stop_reason: 'tool_use' });
  });

  test.each<[string, string]>([
    ['{"error":{"message":"x","type":"server_error"}}', 'provider_error'],
    ['{"error":{"message":"x","type":"rate_limit_exceeded"}}', 'provider_overloaded'],
    ['{"error":{"message":"x","code":429}}', 'provider_overloaded'],
    ['{"error":{"message":"x","type":"requests","code":"rate_limit_exceeded"}}', 'provider_overloaded'],
    ['{"error":{"message":"x","type":"server_error","code":"server_is_overloaded"}}', 'provider_overloaded'],
    ['{"error":{"message":"check your billing","code":"rate_limit_exceeded"}}', 'provider_error'],
    ['{"error":{"message":"maximum context length","type":"BadRequestError","code":400}}', 'context_length_exceeded'],
    ['{"object":"error","message":"bad","type":"BadRequestError","code":400}', 'invalid_request'],
    ['{"error":"out of memory"}', 'provider_error'],
  ])('that says %s first fails before anything is passed on', async (data, code) => {
    const { upstream } = await start(serve(both(undefined, [recorded[0]!, `data: ${data}\n\n`])));
    const seen: Chunk[] = [];
    const reading = (async () => {
      for await (const each of upstream.stream(request(), options())) seen.push(each);
    })();
    await expect(reading).rejects.toEqual(refused(code));
    expect(seen).toEqual([]);
  });

  test('an error in the middle comes after what came before it', async () => {
    const { upstream } = await start(
      serve(both(undefined, [...recorded.slice(0, 5), 'data: {"error":{"message":"x"}}\n\n'])),
    );
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { type } of upstream.stream(request(), options())) seen.push(type);
    })();
    await expect(reading).rejects.toEqual(refused('provider_error'));
    expect(seen).toEqual([
      'start',
      'block_start',
      'block_delta',
      'block_delta',
      'block_stop',
      'block_start',
      'block_delta',
    ]);
  });
});

describe('error responses', () => {
  const envelope = (message: string, code: unknown = null) => ({
    error: { message, type: 'invalid_request_error', param: null, code },
  });
  test.each<[number, unknown, string, string | null]>([
    [400, envelope('Bad tool.'), 'invalid_request', 'Bad tool.'],
    [400, envelope('Long.', 'context_length_exceeded'), 'context_length_exceeded', 'Long.'],
    [400, envelope('No.', 'content_policy_violation'), 'content_refused', 'No.'],
    [400, envelope('You exceeded your current quota', 'insufficient_quota'), 'provider_error', null],
    [
      400,
      { object: 'error', message: 'Bad value.', type: 'BadRequestError', code: 400 },
      'invalid_request',
      'Bad value.',
    ],
    [
      400,
      { error: { code: 400, message: 'the request exceeds the available context size' } },
      'context_length_exceeded',
      'the request exceeds the available context size',
    ],
    [
      422,
      { detail: [{ loc: ['body', 'messages', 0, 'role'], msg: 'Field required' }] },
      'invalid_request',
      'messages.0.role: Field required',
    ],
    [422, { detail: 'No.' }, 'invalid_request', 'No.'],
    [400, { error: 'model is loading' }, 'invalid_request', 'model is loading'],
    [413, envelope('Too large.'), 'request_too_large', 'Too large.'],
    [401, envelope(`Incorrect API key provided: ${apiKey}`, 'invalid_api_key'), 'provider_error', null],
    [404, envelope('The model `x` does not exist', 'model_not_found'), 'provider_error', null],
    [429, envelope('Rate limit reached'), 'provider_overloaded', null],
    [429, envelope('You exceeded your current quota', 'insufficient_quota'), 'provider_error', null],
    [500, { error: { message: 'Traceback', type: 'internal_server_error' } }, 'provider_error', null],
    [503, 'Loading model', 'provider_error', null],
    [504, '', 'provider_timeout', null],
    [400, '<html>', 'invalid_request', null],
    [400, { detail: [null, 3, { loc: [{}], msg: {} }] }, 'invalid_request', null],
  ])('%i %j is %s', async (status, body, code, shown) => {
    const { upstream } = await start(
      serve((incoming, response) => {
        incoming.resume();
        json(response, body, status);
      }),
    );
    for (const failing of [upstream.answer(request(), options()), assemble(upstream.stream(request(), options()))]) {
      const error = (await failing.catch((caught: unknown) => caught)) as Error;
      expect(error).toEqual(refused(code));
      if (shown !== null) expect(error.message).toBe(shown);
      else expect(error.message).toMatch(/^The (model provider|request) /);
    }
  });

  test('show neither host nor key, and no places in what the client did not write', async () => {
    const { upstream } = await start(
      serve((incoming, response) => {
        incoming.resume();
        const message = `max_tokens: at ${incoming.headers.host} with ${apiKey}`;
        json(response, { error: { message, type: 'x', param: 'max_tokens', code: 'unsupported_parameter' } }, 400);
      }),
    );
    const error = (await upstream.answer(request(), options()).catch((caught: unknown) => caught)) as Error;
    expect(error.message).toMatch(/^max_tokens: at \[host\]:\d+ with \[key\]$/);
    expect(error).toMatchObject({ told: undefined });
  });
});
