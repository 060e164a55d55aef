import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { decodeHistogram } from '../../../bench/gen/hdr.ts';
import { HttpLoad, type HttpLoadOptions } from '../../../bench/gen/http-load.ts';
import type { RequestPlan } from '../../../bench/gen/requests.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Hands each request, numbered from 1, to the answer it is given. */
const listen = (answer: (request: number, response: ServerResponse) => void): Promise<number> => {
  let requests = 0;
  server = createServer((_, response) => answer(++requests, response));
  return new Promise((resolve) => {
    server!.listen(0, '127.0.0.1', () => resolve((server!.address() as AddressInfo).port));
  });
};
const ok = (response: ServerResponse): void => void response.writeHead(200, { 'content-length': 2 }).end('ok');

const get: RequestPlan = {
  name: 'get',
  weight: 1,
  before: 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
  after: null,
  streams: false,
};

const start = (port: number, change: Partial<HttpLoadOptions> = {}): HttpLoad =>
  new HttpLoad({
    address: { host: '127.0.0.1', port },
    requests: [get],
    connections: 4,
    arrivals: { is: 'closed' },
    keys: { keys: [], zipf: 0 },
    expected: 200,
    timeoutMs: 5_000,
    seed: 1,
    ...change,
  });

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
};

describe('a closed loop', () => {
  test('counts every response, and no request is left over when it has stopped', async () => {
    let served = 0;
    const port = await listen((_, response) => {
      served++;
      ok(response);
    });
    const loop = start(port);
    await until(() => loop.done >= 50);
    await loop.stop();
    expect(loop.failure).toBeUndefined();
    expect(loop.done).toBe(served);
  });

  test('fails on the first response with another status than is expected', async () => {
    const port = await listen((n, response) =>
      n === 20 ? response.writeHead(429, { 'content-length': 0 }).end() : ok(response),
    );
    const loop = start(port);
    await until(() => loop.failure !== undefined);
    await loop.stop();
    expect(loop.failure?.message).toBe('The server answered 429 where 200 was expected.');
    expect(loop.done).toBeLessThan(30);
  });

  test('fails when the server closes a connection', async () => {
    const port = await listen((n, response) => (n === 20 ? response.socket?.destroy() : ok(response)));
    const loop = start(port);
    await until(() => loop.failure !== undefined);
    await loop.stop();
    expect(loop.failure?.message).toMatch(/closed a connection|ECONNRESET/);
  });

  test('fails where nobody listens', async () => {
    const port = await listen((_, response) => ok(response));
    await new Promise((resolve) => server!.close(resolve));
    const loop = start(port, { expected: null });
    await until(() => loop.failure !== undefined);
    await loop.stop();
    expect(loop.failure?.message).toMatch(/ECONNREFUSED/);
  });
});

describe('where answers are taken as they come', () => {
  test('a 401 to a key ends it at once, and to a request without one is counted', async () => {
    const port = await listen((_, response) => response.writeHead(401, { 'content-length': 0 }).end());
    const keyed: RequestPlan = {
      ...get,
      before: 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nx-api-key: ',
      after: '\r\n\r\n',
    };
    const wrong = start(port, { expected: null, requests: [keyed], keys: { keys: ['gwp_wrong'], zipf: 0 } });
    await until(() => wrong.failure !== undefined);
    await wrong.stop();
    expect(wrong.failure?.message).toBe('401: the server does not accept the key.');
    expect(wrong.done).toBeLessThanOrEqual(4);
    const without = start(port, { expected: null });
    await until(() => without.done >= 20);
    await without.stop();
    expect(without.failure).toBeUndefined();
  });

  test('each is counted under its status, and lost connections are opened again', async () => {
    const port = await listen((n, response) => {
      if (n % 10 === 0) response.socket?.destroy();
      else if (n % 10 === 1) response.writeHead(429, { 'content-length': 0 }).end();
      else ok(response);
    });
    const loop = start(port, { expected: null });
    loop.begin();
    await until(() => loop.done >= 60);
    loop.end();
    await loop.stop();
    expect(loop.failure).toBeUndefined();
    const { statuses, histograms } = loop.recorder.recorded();
    expect(statuses['0']).toBeGreaterThan(2);
    expect(statuses['429']).toBeGreaterThan(2);
    expect(statuses['200']).toBeGreaterThan(30);
    expect(decodeHistogram(histograms['service 429']!).totalCount).toBe(statuses['429']);
  });

  test('a stream that breaks off in its middle leaves nothing behind for the next', async () => {
    const event = 'event: content_block_delta\ndata: {"delta":{"text":"x"}}\n\n';
    const port = await listen((n, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event);
      if (n % 3 === 0) setTimeout(() => response.socket?.destroy(), 2);
      else response.end(`${event}event: message_stop\ndata: {}\n\n`);
    });
    const loop = start(port, { expected: null, requests: [{ ...get, streams: true }] });
    loop.begin();
    await until(() => loop.done >= 20);
    loop.end();
    await loop.stop();
    expect(loop.failure).toBeUndefined();
    expect(loop.recorder.recorded().statuses['0']).toBeGreaterThan(4);
  });

  test('a request that takes too long is given up and counted', async () => {
    const port = await listen((n, response) => n > 4 && ok(response));
    const loop = start(port, { expected: null, timeoutMs: 400 });
    loop.begin();
    await until(() => loop.done >= 20);
    loop.end();
    await loop.stop();
    expect(loop.recorder.recorded().statuses['0']).toBe(4);
  });
});

describe('an open loop', () => {
  test('goes on while the server stalls, and counts from the time a request was due', async () => {
    let stalled = true;
    const held: ServerResponse[] = [];
    const port = await listen((_, response) => (stalled ? held.push(response) : ok(response)));
    const loop = start(port, { arrivals: { is: 'constant', rate: 1000 }, connections: 2 });
    loop.begin();
    await new Promise((resolve) => setTimeout(resolve, 300));
    stalled = false;
    for (const response of held) ok(response);
    await until(() => loop.done >= 300);
    loop.end();
    await loop.stop();
    const { histograms, timeline } = loop.recorder.recorded();
    const [intended, service] = ['intended', 'service'].map((phase) => decodeHistogram(histograms[phase]!));
    // The two that were held waited as long, whichever way it is counted; the other 298 only by the schedule.
    expect(service!.getValueAtPercentile(90)).toBeLessThan(100_000);
    expect(intended!.getValueAtPercentile(50)).toBeGreaterThan(100_000);
    expect(timeline[0]!.planned).toBeGreaterThan(250);
  });

  test('sends every request of a trace and no more', async () => {
    const port = await listen((_, response) => ok(response));
    const loop = start(port, { arrivals: { is: 'trace', at: [0, 0, 0.01, 0.05] } });
    loop.begin();
    await until(() => loop.done >= 4);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await loop.stop();
    expect(loop.done).toBe(4);
  });

  test.each([
    ['trace', { is: 'trace', at: [0, 0, 0.01, 0.05] }, 4],
    ['burst', { is: 'burst', rate: 1, size: 7 }, 7],
    ['ramp', { is: 'ramp', rate: 0.001, to: 0.001, seconds: 9 }, 1],
  ] as const)('of a %s begins with the window, whatever the load before it', async (_, arrivals, requests) => {
    const port = await listen((_, response) => ok(response));
    const loop = start(port, { arrivals });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(loop.done).toBe(0);
    loop.begin();
    await until(() => loop.done >= requests);
    loop.end();
    await loop.stop();
    const { statuses, timeline } = loop.recorder.recorded();
    expect([statuses, timeline[0]!.planned]).toEqual([{ 200: requests }, requests]);
  });

  test('counts what was due and never sent, as long as it has waited', async () => {
    let isGone = false;
    const port = await listen((n, response) => {
      ok(response);
      if (n < 100) return;
      isGone = true;
      server!.close();
      server!.closeAllConnections();
    });
    const loop = start(port, { arrivals: { is: 'constant', rate: 500 }, expected: null });
    loop.begin();
    await until(() => isGone);
    await new Promise((resolve) => setTimeout(resolve, 600));
    loop.end();
    await loop.stop();
    const { statuses, histograms, timeline } = loop.recorder.recorded();
    const planned = timeline.reduce((sum, each) => sum + each.planned, 0);
    expect(loop.failure).toBeUndefined();
    // Four connections, of which one may have had its answer under way; all others were never sent.
    expect(statuses['200']).toBeLessThanOrEqual(101);
    expect(statuses['200']! + statuses['0']!).toBeGreaterThanOrEqual(planned);
    expect(statuses['0']).toBeGreaterThan(200);
    const intended = decodeHistogram(histograms['intended 0']!);
    expect(intended.totalCount).toBe(statuses['0']);
    // The first of them has waited for more than half a second, and for the second that the end gives.
    expect(intended.maxValue).toBeGreaterThan(1_500_000);
  });

  test('sends at its end what is still waiting', async () => {
    const port = await listen((_, response) => void setTimeout(() => ok(response), 100));
    const loop = start(port, { arrivals: { is: 'trace', at: [0, 0, 0, 0, 0] }, connections: 1 });
    loop.begin();
    await until(() => loop.done >= 1);
    loop.end();
    await loop.stop();
    expect(loop.recorder.recorded().statuses).toEqual({ 200: 5 });
  });
});

describe('a 200 whose stream is not what was asked for is a failure', () => {
  const delta = 'event: content_block_delta\ndata: {"delta":{"text":"x"}}\n\n';
  const stop = 'event: message_stop\ndata: {}\n\n';
  test.each([
    ['messages', delta + stop, true],
    ['chat', 'data: {"choices":[{"delta":{"content":"x"}}]}\n\ndata: [DONE]\n\n', true],
    ['responses', 'event: response.completed\ndata: {}\n\n', true],
    ['responses cut by a maximum', 'event: response.incomplete\ndata: {}\n\n', true],
    ['an error in the middle', `${delta}event: error\ndata: {"type":"error"}\n\n`, false],
    ['an error before the end', `event: error\ndata: {"type":"error"}\n\n${stop}`, false],
    ['an error of chat', 'data: {"error":{"message":"x"}}\n\ndata: [DONE]\n\n', false],
    ['an error of responses', 'event: response.failed\ndata: {}\n\n', false],
    ['an end without the last event', delta, false],
    ['no event', '', false],
    ['a page', '<html>message_stop</html>', false],
  ] as const)('%s', async (_, text, isWhole) => {
    const port = await listen((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-length': text.length }).end(text);
    });
    const plans = [{ ...get, streams: true }];
    const loop = start(port, { requests: plans, arrivals: { is: 'trace', at: [0, 0.01] }, expected: null });
    loop.begin();
    await until(() => Object.keys(loop.recorder.recorded().statuses).length > 0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    loop.end();
    await loop.stop();
    expect(loop.recorder.recorded().statuses).toEqual(isWhole ? { 200: 2 } : { 0: 2 });
    if (isWhole) return;
    const strict = start(port, { requests: plans });
    await until(() => strict.failure !== undefined);
    await strict.stop();
    expect(strict.failure?.message).toMatch(/^A stream of the server ended (with an error|too early)\.$/);
  });
});

test('a stream has a time to its first token and times between its tokens', async () => {
  const event = 'event: content_block_delta\ndata: {"delta":{"text":"x"}}\n\n';
  const port = await listen((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('event: message_start\ndata: {}\n\n');
    setTimeout(() => response.write(event), 20);
    setTimeout(() => response.end(`${event}${event}event: message_stop\ndata: {}\n\n`), 60);
  });
  const loop = start(port, { requests: [{ ...get, streams: true }], connections: 1 });
  loop.begin();
  await until(() => loop.done >= 3);
  loop.end();
  await loop.stop();
  const { histograms } = loop.recorder.recorded();
  const [ttft, itl] = ['ttft', 'itl'].map((phase) => decodeHistogram(histograms[phase]!));
  expect(ttft!.totalCount).toBeGreaterThanOrEqual(3);
  expect(ttft!.minNonZeroValue).toBeGreaterThan(15_000);
  // Two between three tokens; the last two came together.
  expect(itl!.totalCount).toBe(2 * ttft!.totalCount);
  expect(itl!.maxValue).toBeGreaterThan(25_000);
});
