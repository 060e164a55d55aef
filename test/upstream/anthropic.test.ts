import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import Anthropic from '@anthropic-ai/sdk';
import { afterEach, describe, expect, test } from 'vitest';
import type { Chunk, Upstream } from '../../src/data/upstream/port.ts';
import {
  apiKey,
  event,
  type Mock,
  recorded,
  recordedAnswer,
  recordedMessage,
  serve,
  serveRaw,
  upstreamAt,
} from './mock.ts';
import { assemble, options, request, user } from './requests.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const bodyOf = async (incoming: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const piece of incoming) text += String(piece);
  return text;
};

const json = (response: ServerResponse, body: unknown, status = 200, headers: object = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};

const stream = (response: ServerResponse, events: readonly string[] = recorded) => {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.end(events.join(''));
};

const both = (incoming: IncomingMessage, response: ServerResponse) => {
  void bodyOf(incoming).then((body) => (JSON.parse(body).stream ? stream(response) : json(response, recordedMessage)));
};

const start = async (
  mocked: Promise<Mock>,
  over: object = {},
  dependencies: Parameters<typeof upstreamAt>[2] = {},
): Promise<{ mock: Mock; upstream: Upstream }> => {
  const mock = await mocked;
  const upstream = upstreamAt(mock.url, over, dependencies);
  cleanups.push(
    () => mock.close(),
    () => upstream.close(),
  );
  return { mock, upstream };
};

const counted = { input_tokens: 5000, output_tokens: 77 };
const refused = (code: string) => expect.objectContaining({ name: 'UpstreamError', code });

describe('request', () => {
  test('is the messages request, with the key and nothing that was not asked for', async () => {
    const seen: { url: string; headers: IncomingHttpHeaders; body: unknown }[] = [];
    const { upstream, mock } = await start(
      serve((incoming, response) => {
        void bodyOf(incoming).then((body) => {
          seen.push({ url: `${incoming.method} ${incoming.url}`, headers: incoming.headers, body: JSON.parse(body) });
          json(response, recordedMessage);
        });
      }),
    );
    const nested = upstreamAt(`${mock.url}/proxy/`);
    const asked = request({ system: 'Be brief', stop_sequences: ['x'], temperature: undefined });
    await upstream.answer(asked, options());
    await nested.answer(request(), options());
    await nested.close();
    expect(seen[0]!.url).toBe('POST /v1/messages');
    expect(seen[1]!.url).toBe('POST /proxy/v1/messages');
    expect(seen[0]!.headers).toMatchObject({
      'x-api-key': apiKey,
      'anthropic-version': '2023-06-01',
      'x-request-id': 'req_test',
      accept: 'application/json',
    });
    expect(seen[0]!.body).toEqual({
      model: 'sim',
      max_tokens: 1000,
      messages: [user('Where does the weir begin?')],
      system: 'Be brief',
      stop_sequences: ['x'],
      stream: false,
    });
  });

  test('uses a connection again, after an answer and after a stream', async () => {
    const { upstream, mock } = await start(serve(both));
    // A connection rests for a moment after an answer: until then the next request dials another.
    const untilAgain = async (ask: () => Promise<unknown>) => {
      for (let before = -1; before !== mock.connections(); await ask()) before = mock.connections();
    };
    await untilAgain(() => upstream.answer(request(), options()));
    await untilAgain(() => assemble(upstream.stream(request(), options())));
  });
});

describe('connections', () => {
  test('one whose body ends a little after the last event is used again', async () => {
    const { upstream, mock } = await start(
      serve((incoming, response) => {
        incoming.resume();
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(recorded.join(''));
        setTimeout(() => response.end(), 10);
      }),
    );
    for (let round = 0; round < 10; round += 1) {
      await assemble(upstream.stream(request(), options()));
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    // On a busy machine one end or another comes too late for the next request.
    expect(mock.connections()).toBeLessThan(5);
  });

  test('one whose body does not end is given up', async () => {
    let closed: () => void = () => {};
    const closing = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const { upstream } = await start(
      serve((_, response) => {
        response.on('close', closed);
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(recorded.join(''));
      }),
    );
    await assemble(upstream.stream(request(), options()));
    await closing;
  });
});

describe('answer', () => {
  test('is the message without what the gateway does not know', async () => {
    const { upstream } = await start(serve(both));
    expect(await upstream.answer(request(), options())).toEqual(recordedAnswer);
  });

  test.each([
    ['end_turn', null, 'end_turn', null],
    ['max_tokens', null, 'max_tokens', null],
    ['stop_sequence', 'END', 'stop_sequence', 'END'],
    ['stop_sequence', null, 'end_turn', null],
    ['end_turn', 'END', 'end_turn', null],
    ['tool_use', null, 'tool_use', null],
    ['model_context_window_exceeded', null, 'max_tokens', null],
    ['refusal', null, 'end_turn', null],
    ['pause_turn', null, 'end_turn', null],
    ['something_new', 3, 'end_turn', null],
    [null, null, 'end_turn', null],
  ])('stop reason %s, %s', async (reason, sequence, stop_reason, stop_sequence) => {
    const { upstream } = await start(
      serve((incoming, response) => {
        void bodyOf(incoming).then((body) => {
          if (!JSON.parse(body).stream)
            return json(response, { ...recordedMessage, stop_reason: reason, stop_sequence: sequence });
          stream(response, [
            ...recorded.slice(0, -2),
            event('message_delta', { delta: { stop_reason: reason, stop_sequence: sequence }, usage: {} }),
            event('message_stop'),
          ]);
        });
      }),
    );
    expect(await upstream.answer(request(), options())).toMatchObject({ stop_reason, stop_sequence });
    expect(await assemble(upstream.stream(request(), options()))).toMatchObject({ stop_reason, stop_sequence });
  });

  test.each([
    [{ input_tokens: -5, output_tokens: 1e308 }, [0, 200_000, 0, 0]],
    [{ input_tokens: '7', output_tokens: 2.9, cache_read_input_tokens: null }, [0, 2, 0, 0]],
    [{ input_tokens: 5, cache_creation_input_tokens: 2 ** 60 }, [5, 0, 200_000, 0]],
    [null, [0, 0, 0, 0]],
    ['none', [0, 0, 0, 0]],
  ])(
    'usage %j becomes sane integers',
    async (usage, [input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens]) => {
      const { upstream } = await start(
        serve((incoming, response) => {
          void bodyOf(incoming).then((body) => {
            if (!JSON.parse(body).stream) return json(response, { ...recordedMessage, usage });
            stream(response, [
              event('message_start', { message: { usage } }),
              event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: null }),
              event('message_stop'),
            ]);
          });
        }),
      );
      const expected = { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens };
      expect((await upstream.answer(request(), options())).usage).toMatchObject(expected);
      const streamed = (await assemble(upstream.stream(request(), options()))).usage;
      // Its last event does not count the output.
      expect(streamed).toEqual({ ...expected, isPartial: true });
    },
  );
});

describe('stream', () => {
  test('gives the blocks of the message, without those it does not know', async () => {
    const { upstream } = await start(serve(both));
    expect(await assemble(upstream.stream(request(), options()))).toEqual(recordedAnswer);
  });

  test('the mock speaks the language of the official SDK', async () => {
    const { mock } = await start(serve(both));
    const client = new Anthropic({ apiKey: 'k', baseURL: mock.url, maxRetries: 0 });
    const message = await client.messages
      .stream({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] })
      .finalMessage();
    const known = message.content.filter(({ type }) => type !== 'server_tool_use');
    expect(known).toMatchObject(recordedAnswer.content);
    expect(message.stop_reason).toBe('tool_use');
  });

  test('content in the start of a block is not lost, and a call without input has an empty one', async () => {
    const { upstream } = await start(
      serve((_, response) =>
        stream(response, [
          event('message_start', { message: { usage: {} } }),
          event('content_block_start', {
            index: 0,
            content_block: { type: 'thinking', thinking: 'a', signature: 's' },
          }),
          event('content_block_stop', { index: 0 }),
          event('content_block_start', { index: 1, content_block: { type: 'text', text: 'Once ' } }),
          event('content_block_delta', { index: 1, delta: { type: 'text_delta', text: 'more' } }),
          event('content_block_stop', { index: 1 }),
          event('content_block_start', {
            index: 2,
            content_block: { type: 'tool_use', id: 't1', name: 'a', input: { x: 1 } },
          }),
          event('content_block_stop', { index: 2 }),
          event('content_block_start', { index: 3, content_block: { type: 'tool_use', id: 't2', name: 'a' } }),
          event('content_block_delta', { index: 3, delta: { type: 'input_json_delta', partial_json: '' } }),
          event('content_block_stop', { index: 3 }),
          event('message_stop'),
          'data: garbage after the end\n\n',
        ]),
      ),
    );
    expect((await assemble(upstream.stream(request(), options()))).content).toEqual([
      { type: 'thinking', thinking: 'a', signature: 's' },
      { type: 'text', text: 'Once more' },
      { type: 'tool_use', id: 't1', name: 'a', input: { x: 1 } },
      { type: 'tool_use', id: 't2', name: 'a', input: {} },
    ]);
  });

  test.each([
    ['overloaded_error', 'provider_overloaded'],
    ['rate_limit_error', 'provider_overloaded'],
    ['timeout_error', 'provider_timeout'],
    ['api_error', 'provider_error'],
    ['authentication_error', 'provider_error'],
    ['invalid_request_error', 'invalid_request'],
    ['request_too_large', 'request_too_large'],
    ['something_new', 'provider_error'],
  ])('an error event of type %s is %s', async (type, code) => {
    const failing = (before: readonly string[]) => [
      ...before,
      event('error', { error: { type, message: `secret ${apiKey}` } }),
    ];
    const { upstream } = await start(serve((_, response) => stream(response, failing(recorded.slice(0, 1)))));
    const seen: Chunk[] = [];
    const error = await (async () => {
      for await (const chunk of upstream.stream(request(), options())) seen.push(chunk);
    })().catch((caught: unknown) => caught);
    expect(error).toEqual(refused(code));
    // Nothing was passed on, so the gateway can still answer with the status of the error.
    expect(seen).toEqual([]);
    expect(String((error as Error).cause)).not.toContain(apiKey);
  });

  test('an error in the middle comes after what came before it', async () => {
    const { upstream } = await start(
      serve((_, response) =>
        stream(response, [...recorded.slice(0, 5), event('error', { error: { type: 'overloaded_error' } })]),
      ),
    );
    const seen: Chunk[] = [];
    const reading = (async () => {
      for await (const chunk of upstream.stream(request(), options())) seen.push(chunk);
    })();
    await expect(reading).rejects.toEqual(refused('provider_overloaded'));
    expect(seen.map(({ type }) => type)).toEqual(['start', 'block_start', 'block_delta', 'block_delta']);
  });

  test('what has been told of the whole counts where the stream breaks off behind it, and not before', async () => {
    for (const isTold of [true, false]) {
      const { upstream } = await start(
        serve((_, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          const rest = isTold ? recorded.slice(0, -1) : recorded.slice(0, -2);
          response.write(rest.join(''), () => setTimeout(() => response.destroy(), 20));
        }),
      );
      const told: unknown[] = [];
      const counting = { ...options(), counted: (usage: unknown) => told.push(usage) };
      await expect(assemble(upstream.stream(request(), counting))).rejects.toEqual(refused('provider_error'));
      const { output_tokens } = told.at(-1) as { output_tokens: number };
      expect(output_tokens).toBe(isTold ? 57 : 1);
    }
  });

  test('a refusal before any output is content_refused and has what was counted, streamed or not', async () => {
    const { upstream } = await start(
      serve((incoming, response) => {
        void bodyOf(incoming).then((body) => {
          if (!JSON.parse(body).stream)
            return json(response, { type: 'message', content: [], stop_reason: 'refusal', usage: counted });
          stream(response, [
            recorded[0]!,
            event('message_delta', { delta: { stop_reason: 'refusal' }, usage: counted }),
            event('message_stop'),
          ]);
        });
      }),
    );
    const expected = expect.objectContaining({ code: 'content_refused', usage: expect.objectContaining(counted) });
    await expect(upstream.answer(request(), options())).rejects.toEqual(expected);
    await expect(assemble(upstream.stream(request(), options()))).rejects.toEqual(expected);
  });
});

describe('error responses', () => {
  const invalid = 'invalid_request_error';
  test.each<[number, string, string, string]>([
    [400, invalid, 'messages.0: bad', 'invalid_request'],
    [400, invalid, 'prompt is too long: 212345 tokens > 200000 maximum', 'context_length_exceeded'],
    [400, invalid, 'input length and max_tokens exceed context limit', 'context_length_exceeded'],
    [400, invalid, 'Output blocked by content filtering policy', 'content_refused'],
    [422, invalid, 'no', 'invalid_request'],
    [401, 'authentication_error', `invalid x-api-key ${apiKey}`, 'provider_error'],
    [402, 'billing_error', 'no credit', 'provider_error'],
    [403, 'permission_error', 'account acc_1', 'provider_error'],
    [403, 'forbidden', 'flagged by moderation', 'content_refused'],
    [404, 'not_found_error', 'model: remote', 'provider_error'],
    [408, 'timeout', '', 'provider_timeout'],
    [409, 'conflict', '', 'provider_error'],
    [413, 'request_too_large', 'at most 32 MB', 'request_too_large'],
    [400, invalid, 'Your credit balance is too low to access the API.', 'provider_error'],
    [429, 'rate_limit_error', '', 'provider_overloaded'],
    [500, 'api_error', '', 'provider_error'],
    [502, '', '', 'provider_error'],
    [503, '', '', 'provider_error'],
    [504, '', '', 'provider_timeout'],
    [529, 'overloaded_error', '', 'provider_overloaded'],
    [204, '', '', 'provider_error'],
    [302, '', '', 'provider_error'],
  ])('%i %s "%s" is %s', async (status, type, message, code) => {
    let requests = 0;
    const { upstream } = await start(
      serve((incoming, response) => {
        requests += 1;
        incoming.resume();
        json(response, { type: 'error', error: { type, message } }, status, { location: '/v1/elsewhere' });
      }),
    );
    for (const failing of [upstream.answer(request(), options()), assemble(upstream.stream(request(), options()))]) {
      const error = await failing.catch((caught: unknown) => caught);
      expect(error).toEqual(refused(code));
      const isForClient = code !== 'provider_error' && [400, 413, 422].includes(status);
      if (isForClient) expect((error as Error).message).toBe(message);
      else expect((error as Error).message).not.toContain(message === '' ? apiKey : message);
      expect(String((error as Error).cause)).not.toContain(apiKey);
    }
    expect(requests).toBe(2);
  });

  test('what the upstream says of a request is told without the key and the host', async () => {
    const { upstream } = await start(
      serve((_, response) =>
        json(response, { error: { type: invalid, message: `no ${apiKey} at http://127.0.0.1:1/v1` } }, 400),
      ),
    );
    await expect(upstream.answer(request(), options())).rejects.toThrow(/^no \[key\] at http:\/\/\[host\]:1\/v1$/);
    const mock = await serve((_, response) =>
      json(response, { error: { type: invalid, message: 'ask LocalHost or localhost, not local host' } }, 400),
    );
    const named = upstreamAt(mock.url.replace('127.0.0.1', 'localhost'));
    cleanups.push(
      () => mock.close(),
      () => named.close(),
    );
    await expect(named.answer(request(), options())).rejects.toThrow(/^ask \[host\] or \[host\], not local host$/);
  });

  test.each([
    ['7', 7],
    ['0', 1],
    ['86400', 30],
    [new Date(Date.UTC(2026, 0, 1, 0, 0, 12)).toUTCString(), 12],
    [new Date(0).toUTCString(), 1],
    ['soon', undefined],
    ['-3', undefined],
    [undefined, undefined],
  ])('Retry-After %s waits %s s', async (header, expected) => {
    const { upstream } = await start(
      serve((_, response) => json(response, {}, 429, header === undefined ? {} : { 'retry-after': header })),
      {},
      { clock: { wall: () => Date.UTC(2026, 0, 1), monotonic: () => 0 } },
    );
    await expect(upstream.answer(request(), options())).rejects.toMatchObject({ retryAfterSeconds: expected });
  });
});

describe('abort', () => {
  const reason = new Error('client gone');

  /** A server that begins as told and then says no more; resolves with how long after `mark` the connection was closed. */
  const stalling = async (begin: (response: ServerResponse) => void) => {
    let mark = 0;
    let closed: (ms: number) => void = () => {};
    const closing = new Promise<number>((resolve) => {
      closed = resolve;
    });
    const began = new Promise<void>((resolve) => {
      void start(
        serve((incoming, response) => {
          incoming.resume();
          response.on('close', () => closed(performance.now() - mark));
          begin(response);
          resolve();
        }),
      ).then(({ upstream }) => ready(upstream));
    });
    let ready: (upstream: Upstream) => void = () => {};
    const upstream = await new Promise<Upstream>((resolve) => {
      ready = resolve;
    });
    return {
      upstream,
      began,
      closing,
      mark: () => {
        mark = performance.now();
      },
    };
  };

  test.each<[string, (response: ServerResponse) => void]>([
    ['before the head', () => {}],
    ['in the body', (response) => response.writeHead(200, { 'content-type': 'application/json' }).write('{"type":')],
  ])('of an answer closes the connection at once, %s', async (_, begin) => {
    const { upstream, began, closing, mark } = await stalling(begin);
    const controller = new AbortController();
    const answering = upstream.answer(request(), options(controller.signal));
    answering.catch(() => {});
    await began;
    await new Promise((resolve) => setTimeout(resolve, 20));
    mark();
    controller.abort(reason);
    await expect(answering).rejects.toBe(reason);
    expect(await closing).toBeLessThan(1000);
  });

  test('of a stream closes the connection at once', async () => {
    const { upstream, closing, mark } = await stalling((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(recorded.slice(0, 4).join(''));
    });
    const controller = new AbortController();
    const reading = (async () => {
      for await (const chunk of upstream.stream(request(), options(controller.signal))) {
        if (chunk.type !== 'block_delta') continue;
        mark();
        setTimeout(() => controller.abort(reason), 10);
      }
    })();
    await expect(reading).rejects.toBe(reason);
    expect(await closing).toBeLessThan(1000);
  });

  test('leaving a stream closes the connection', async () => {
    const { upstream, closing, mark } = await stalling((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(recorded.slice(0, 4).join(''));
    });
    for await (const _ of upstream.stream(request(), options())) break;
    mark();
    expect(await closing).toBeLessThan(1000);
  });

  test('between two steps ends a stream whose chunks have all come', async () => {
    const { upstream } = await start(serve(both));
    const controller = new AbortController();
    const seen: Chunk[] = [];
    const reading = (async () => {
      for await (const chunk of upstream.stream(request(), options(controller.signal))) {
        seen.push(chunk);
        if (seen.length === 4) controller.abort(reason);
      }
    })();
    await expect(reading).rejects.toBe(reason);
    expect(seen).toHaveLength(4);
  });

  test('an aborted signal sends nothing', async () => {
    const { upstream, mock } = await start(serve(both));
    await expect(upstream.answer(request(), options(AbortSignal.abort(reason)))).rejects.toBe(reason);
    await expect(assemble(upstream.stream(request(), options(AbortSignal.abort(reason))))).rejects.toBe(reason);
    expect(mock.connections()).toBe(0);
  });

  test('of a request that still waits for a connection does not wait on', async () => {
    const { upstream, mock } = await start(
      serve(() => {}),
      { connections: 1 },
    );
    const [first, second] = [new AbortController(), new AbortController()];
    const holding = upstream.answer(request(), options(first.signal)).catch(() => {});
    const waiting = upstream.answer(request(), options(second.signal));
    waiting.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 20));
    second.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    first.abort(reason);
    await holding;
    expect(mock.connections()).toBe(1);
  });
});

test('an answer that comes byte by byte is whole', async () => {
  let pieces: number[] = [];
  const long = { ...recordedMessage, content: [{ type: 'text', text: 'ab'.repeat(40_000) }] };
  const body = Buffer.from(JSON.stringify(long));
  const { upstream } = await start(
    serveRaw((socket) => {
      socket.write(
        'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n',
      );
      const parts: string[] = [];
      for (let at = 0, turn = 0; at < body.length; turn++) {
        const size = pieces[turn % pieces.length]!;
        const part = body.subarray(at, at + size);
        parts.push(`${part.length.toString(16)}\r\n${part.toString('latin1')}\r\n`);
        at += size;
      }
      socket.end(Buffer.from(`${parts.join('')}0\r\n\r\n`, 'latin1'));
    }),
  );
  for (pieces of [[1], [1, 70_000, 3], [1_000_000]]) {
    const { content } = await upstream.answer(request(), options());
    expect(content).toEqual(long.content);
  }
});

describe('deadlines', () => {
  test('no first byte', async () => {
    const { upstream } = await start(
      serve(() => {}),
      { first_byte_timeout_ms: 40 },
    );
    await expect(upstream.answer(request(), options())).rejects.toEqual(refused('provider_timeout'));
  });

  test('silence in the middle', async () => {
    const { upstream } = await start(
      serve((_, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(recorded[0])),
      { idle_timeout_ms: 40 },
    );
    await expect(assemble(upstream.stream(request(), options()))).rejects.toEqual(refused('provider_timeout'));
  });

  test('too long in all, however busy', async () => {
    const { upstream } = await start(
      serve((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const timer = setInterval(() => response.write(event('ping')), 5);
        response.on('close', () => clearInterval(timer));
      }),
      { idle_timeout_ms: 60, total_timeout_ms: 150 },
    );
    const began = performance.now();
    await expect(assemble(upstream.stream(request(), options()))).rejects.toEqual(refused('provider_timeout'));
    expect(performance.now() - began).toBeGreaterThan(120);
  });
});

describe('retry', () => {
  test('a connection that breaks before the first byte is tried once more', async () => {
    let broken = 0;
    const { upstream, mock } = await start(
      serveRaw((socket) => {
        broken += 1;
        if (broken === 1) return socket.resetAndDestroy();
        const body = JSON.stringify(recordedMessage);
        socket.end(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
        );
      }),
    );
    expect(await upstream.answer(request(), options())).toEqual(recordedAnswer);
    expect(mock.connections()).toBe(2);
  });

  test('never after the first byte, and never for a response', async () => {
    let sent = 'H';
    const { upstream, mock } = await start(
      serveRaw((socket) => {
        socket.write(sent, () => socket.resetAndDestroy());
      }),
    );
    await expect(upstream.answer(request(), options())).rejects.toEqual(refused('provider_error'));
    expect(mock.connections()).toBe(1);
    sent = 'HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n';
    await expect(upstream.answer(request(), options())).rejects.toEqual(refused('provider_error'));
    expect(mock.connections()).toBe(2);
  });

  test('while all is broken the upstream gets at most a tenth more', async () => {
    const { upstream, mock } = await start(serveRaw((socket) => socket.resetAndDestroy()));
    for (let round = 0; round < 100; round += 1) await upstream.answer(request(), options()).catch(() => {});
    expect(mock.connections()).toBeGreaterThan(105);
    expect(mock.connections()).toBeLessThanOrEqual(111);
  });

  test('a connection that is long in coming is waited for once', async () => {
    // It takes the connection, and never begins TLS.
    const { upstream, mock } = await start(serveRaw(() => {}));
    const url = `https://127.0.0.1:${new URL(mock.url).port}`;
    const late = upstreamAt(url, { connect_timeout_ms: 300 });
    cleanups.push(() => late.close());
    await expect(late.answer(request(), options())).rejects.toEqual(refused('provider_timeout'));
    expect(mock.connections()).toBe(1);
    await upstream.close();
  });

  test('a refused connection is provider_error', async () => {
    const { upstream, mock } = await start(serve(both));
    await mock.close();
    await expect(upstream.answer(request(), options())).rejects.toEqual(refused('provider_error'));
  });
});
