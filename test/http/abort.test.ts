import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Reply, route } from '../../src/http/route.ts';
import { onSignal } from '../../src/telemetry.ts';
import { eventually, request, send } from './raw-client.ts';
import { credential, type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let service: Service;
const failures: unknown[] = [];
let unsubscribe = (): void => {};
beforeAll(async () => {
  service = await startService();
  unsubscribe = onSignal((name, signal) => {
    if (name === 'request.failed') failures.push(signal);
  });
});
afterAll(async () => {
  unsubscribe();
  await service.stop();
});

const json = 'Content-Type: application/json';
const text = JSON.stringify({ model: 'm', text: 'x'.repeat(300_000) });
const withBody = (line: string, body: string, extra: readonly string[] = []): Buffer =>
  Buffer.from(request(line, [credential, json, `Content-Length: ${body.length}`, ...extra], body));

const kinds: readonly Buffer[] = [
  Buffer.from(request('GET /v1/models', [credential])),
  Buffer.from(request('GET /nowhere')),
  Buffer.from(request('GET /v1/large?bytes=3000000')),
  withBody('POST /v1/messages', '{"model":"m"}'),
  withBody('POST /v1/messages', text),
  withBody('POST /v1/messages', text, ['X-Nothing: 1']).subarray(0, 200_000),
  withBody('POST /v1/chat/completions', '{"pieces":1000}'),
  withBody('POST /v1/organization/things/t1/archive', '{}'),
  Buffer.from(request('POST /v1/messages', [json, `Content-Length: ${text.length}`], text)),
  Buffer.from(
    request('POST /v1/messages', [credential, json, 'Transfer-Encoding: chunked'], 'd\r\n{"model":"m"}\r\n0\r\n\r\n'),
  ),
];

/** A fixed seed: a failing run is repeated by running it again. */
const random = (() => {
  let state = 12345;
  return (): number => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
})();

const abortOnce = (bytes: Buffer, afterMs: number): Promise<void> =>
  new Promise((resolve) => {
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.on('close', () => resolve());
    socket.write(bytes.subarray(0, Math.ceil(bytes.length * Math.min(1, random() * 1.5))));
    setTimeout(() => (random() < 0.5 ? socket.resetAndDestroy() : socket.destroy()), afterMs);
  });

test('clients that leave at any moment leave nothing behind', async () => {
  for (let round = 0; round < 80; round++) {
    await Promise.all(kinds.flatMap((bytes) => [0, 1, 2, 3].map(() => abortOnce(bytes, random() * 12))));
  }
  await eventually(() => service.server.inFlight).toBe(0);
  expect(service.server.bufferedBytes).toBe(0);
  expect(failures).toEqual([]);
  expect((await send(service.port, request('GET /v1/marker'), { answers: 1 })).statuses).toEqual([200]);
}, 30_000);

test.each([
  ['its client has left', undefined],
  ['its time was over', 50],
])('a reply is ignored once %s', async (_, handlerTimeoutMs) => {
  failures.length = 0;
  let reply = (): void => {};
  const slow = route({
    method: 'GET',
    path: '/v1/slow',
    operation: 'slow',
    summary: 'For tests',
    tag: 'Inference',
    family: 'models',
    access: { credential: 'none' },
    replies: { 200: { description: 'Late.' } },
    handle: () =>
      new Promise<Reply>((resolve) => {
        reply = () => resolve({ status: 200, body: {} });
      }),
  });
  const late = await startService({ ...(handlerTimeoutMs && { handlerTimeoutMs }) }, () => [slow]);
  const socket = connect(late.port, '127.0.0.1');
  let text = '';
  socket.on('data', (data) => {
    text += data.toString();
  });
  socket.write(request('GET /v1/slow'));
  await eventually(() => late.server.inFlight).toBe(1);
  if (handlerTimeoutMs === undefined) socket.destroy();
  await eventually(() => late.server.inFlight).toBe(0);
  reply();
  await new Promise((resolve) => setImmediate(resolve));
  // The time that was over is one itself.
  expect(failures).toHaveLength(handlerTimeoutMs === undefined ? 0 : 1);
  await eventually(() => text.slice(0, 12)).toBe(handlerTimeoutMs === undefined ? '' : 'HTTP/1.1 503');
  expect(text).not.toContain('HTTP/1.1 200');
  socket.destroy();
  await late.stop();
});

test.each([
  ['its client has left', 'its reason', 0],
  ['its client has left', 'another error', 1],
])('a handler that gives up because %s, with %s, is a failure %i times', async (_, what, times) => {
  failures.length = 0;
  let gaveUp = false;
  const waiting = route({
    method: 'GET',
    path: '/v1/waiting',
    operation: 'waiting',
    summary: 'For tests',
    tag: 'Inference',
    family: 'models',
    access: { credential: 'none' },
    replies: { 200: { description: 'Never.' } },
    handle: ({ signal }) =>
      new Promise<Reply>((_, reject) => {
        signal.addEventListener('abort', () => {
          gaveUp = true;
          reject(what === 'its reason' ? signal.reason : new Error(what));
        });
      }),
  });
  const left = await startService({}, () => [waiting]);
  const socket = connect(left.port, '127.0.0.1');
  socket.write(request('GET /v1/waiting'));
  await eventually(() => left.server.inFlight).toBe(1);
  socket.destroy();
  await eventually(() => gaveUp).toBe(true);
  await new Promise((resolve) => setImmediate(resolve));
  expect(failures).toHaveLength(times);
  await left.stop();
});
