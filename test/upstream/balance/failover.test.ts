import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { connect } from '../../../src/data/upstream/connect.ts';
import { loadModels } from '../../../src/data/upstream/models/models.ts';
import type { Upstream } from '../../../src/data/upstream/port.ts';
import { apiKey, event, type Mock, recorded, recordedAnswer, recordedMessage, serve, serveRaw } from '../mock.ts';
import { assemble, options, request } from '../requests.ts';

/** Which failures of an upstream, over real sockets, send a request to the next (contract L.2). */

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const good = (incoming: IncomingMessage, response: ServerResponse): void => {
  incoming.setEncoding('utf8');
  let text = '';
  incoming.on('data', (piece) => {
    text += piece;
  });
  incoming.on('end', () => {
    const isStream = JSON.parse(text).stream === true;
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    response.end(isStream ? recorded.join('') : JSON.stringify(recordedMessage));
  });
};

const saying = (status: number, body: string, headers: object = {}) =>
  serve((incoming, response) => {
    incoming.resume();
    incoming.on('end', () => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body));
  });

const failing = (status: number, type = 'api_error', message = 'x') =>
  saying(status, JSON.stringify({ type: 'error', error: { type, message } }));

const streaming = (...events: readonly string[]) =>
  serve((incoming, response) => {
    incoming.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    // What has been written is on its way before the connection ends.
    response.write(events.join(''), () => response.destroy());
  });

const raw = (text: string) => serveRaw((socket) => socket.end(text));

interface Over {
  readonly tls?: boolean;
  readonly first_byte_timeout_ms?: number;
}

/** An upstream of two: the one that is put to the test, and one that answers. */
const behind = async (mocked: Promise<Mock>, { tls = false, ...over }: Over = {}) => {
  let asked = 0;
  const second = await serve((incoming, response) => {
    asked++;
    good(incoming, response);
  });
  const first = await mocked;
  const entry = { kind: 'anthropic', api_key_env: 'KEY', private_network: true };
  const upstreams = [
    { ...entry, base_url: tls ? first.url.replace('http:', 'https:') : first.url, ...over },
    { ...entry, base_url: second.url, priority: 1 },
  ];
  const models = [{ id: 'm', context_length: 200_000, max_output_length: 64_000, upstreams }];
  const connected = connect(loadModels(JSON.stringify({ models }), { KEY: apiKey }), { clock: systemClock });
  cleanups.push(
    () => first.close(),
    () => second.close(),
    () => connected.close(),
  );
  const { upstream, health } = connected.get('m')!;
  return { upstream, health: health!, first, asked: () => asked };
};

const passed = (stream: boolean) => ({
  body: Buffer.from(JSON.stringify({ ...request(), model: 'm', stream })),
  id: 'msg_ours',
  model: 'm',
  headers: {},
});

const whole = [
  ['strict', (upstream: Upstream) => upstream.answer(request(), options())],
  ['passing', (upstream: Upstream) => upstream.passing!.messages!.answer(passed(false), options())],
] as const;
const streamed = [
  ['strict, streamed', (upstream: Upstream) => assemble(upstream.stream(request(), options()))],
  [
    'passing, streamed',
    async (upstream: Upstream) => {
      for await (const { ended } of upstream.passing!.messages!.stream(passed(true), options())) if (ended) return;
    },
  ],
] as const;

const gone = async (): Promise<Mock> => {
  const mock = await serve(() => {});
  await mock.close();
  return { ...mock, close: async () => {} };
};

interface Case {
  readonly mock: () => Promise<Mock>;
  readonly over?: Over;
  readonly ways?: typeof whole | typeof streamed;
}
const start = recorded[0]!;
const overloaded = event('error', { error: { type: 'overloaded_error', message: 'x' } });

const goesOn: Readonly<Record<string, Case>> = {
  'nobody listens': { mock: gone },
  'the connection ends with the request': { mock: () => serveRaw((socket) => socket.destroy()) },
  'it speaks no TLS': { mock: () => failing(400), over: { tls: true } },
  'it says 500': { mock: () => failing(500) },
  'it says 503': { mock: () => failing(503) },
  'it says 504': { mock: () => failing(504) },
  'it says 529': { mock: () => failing(529, 'overloaded_error') },
  'it says 429': { mock: () => failing(429, 'rate_limit_error') },
  'it refuses the key': { mock: () => failing(401, 'authentication_error') },
  'it says 500 and nothing else': { mock: () => raw('HTTP/1.1 500 x\r\ncontent-length: 9\r\n\r\n') },
  'it is overloaded after 200': { mock: () => streaming(overloaded), ways: streamed },
  'it is overloaded after the beginning of the message': { mock: () => streaming(start, overloaded), ways: streamed },
};

const isTold: Readonly<Record<string, Case & { readonly code: string }>> = {
  'it says 400': { mock: () => failing(400, 'invalid_request_error'), code: 'invalid_request' },
  'it says 413': { mock: () => failing(413, 'request_too_large'), code: 'request_too_large' },
  'it says 403': { mock: () => failing(403, 'permission_error'), code: 'provider_error' },
  'it says 404': { mock: () => failing(404, 'not_found_error'), code: 'provider_error' },
  'it says 408': { mock: () => failing(408, 'timeout_error'), code: 'provider_timeout' },
  'it answers something else': {
    mock: () => saying(200, '<html>', { 'content-type': 'text/html' }),
    code: 'provider_error',
  },
  'half an answer comes': {
    mock: () => raw('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{"id"'),
    code: 'provider_error',
    ways: whole,
  },
  'half a head comes': { mock: () => raw('HTTP/1.1 200 OK\r\ncontent-'), code: 'provider_error' },
  'it is silent': { mock: () => serve(() => {}), over: { first_byte_timeout_ms: 40 }, code: 'provider_timeout' },
  'only the beginning of the message comes': { mock: () => streaming(start), ways: streamed, code: 'provider_error' },
  'the stream ends after its first output': {
    mock: () => streaming(...recorded.slice(0, 4)),
    ways: streamed,
    code: 'provider_error',
  },
  'it is overloaded after its first output': {
    mock: () => streaming(...recorded.slice(0, 4), overloaded),
    ways: streamed,
    code: 'provider_overloaded',
  },
};

describe('the next is asked where', () => {
  for (const [what, { mock, over, ways = [...whole, ...streamed] }] of Object.entries(goesOn)) {
    test.each(ways)(`${what} (%s)`, async (_, ask) => {
      const { upstream, asked } = await behind(mock(), over);
      const answer = await ask(upstream);
      expect(asked()).toBe(1);
      if (ask === whole[0][1] || ask === streamed[0][1]) expect(answer).toEqual(recordedAnswer);
    });
  }
});

describe('the next is not asked where', () => {
  for (const [what, { mock, over, code, ways = [...whole, ...streamed] }] of Object.entries(isTold)) {
    test.each(ways)(`${what} (%s)`, async (_, ask) => {
      const { upstream, asked } = await behind(mock(), over);
      await expect(ask(upstream)).rejects.toMatchObject({ name: 'UpstreamError', code });
      expect(asked()).toBe(0);
    });
  }
});

test('an upstream of several is asked once for one request, and rests after five failures', async () => {
  const { upstream, health, first, asked } = await behind(serveRaw((socket) => socket.destroy()));
  for (let each = 1; each <= 7; each++) {
    await upstream.answer(request(), options());
    expect([first.connections(), asked()]).toEqual([Math.min(5, each), each]);
  }
  expect(health()).toMatchObject([
    { name: '0', state: 'open' },
    { state: 'closed', until: null },
  ]);
});

test('a Retry-After is the time until it is asked again', async () => {
  const { upstream, health, first, asked } = await behind(saying(429, '{}', { 'retry-after': '20' }));
  const before = systemClock.wall();
  for (let each = 0; each < 3; each++) await upstream.answer(request(), options());
  expect([first.connections(), asked()]).toEqual([1, 3]);
  const [paused] = health();
  expect(paused!.state).toBe('paused');
  expect(paused!.until).toBeGreaterThanOrEqual(before + 20_000 - 1);
  expect(paused!.until).toBeLessThanOrEqual(systemClock.wall() + 20_000 + 1);
});
