import { connect } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { route } from '../../src/http/route.ts';
import { eventually, request, send } from './raw-client.ts';
import { credential, type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const json = 'Content-Type: application/json';
/** Far more than the kernel holds for one connection on either side. */
const tooMuch = 64 * 1024 * 1024;

let service: Service | undefined;
afterEach(() => service?.stop());

/** Asks for one thing over and over, and reads nothing, until the gateway waits for its reader or it is too much. */
const askUntilOneWaits = async (bytes: string, answerBytes: number, options = {}) => {
  let asked = 0;
  const requestId = () => `req_${String(++asked).padStart(26, '0')}`;
  service = await startService({ requestId, ...options }, () => [
    route({
      method: 'GET',
      path: '/v1/unchanged',
      operation: 'unchanged',
      summary: 'Nothing new',
      tag: 'Operations',
      family: 'admin',
      access: { credential: 'none' },
      replies: { 304: { description: 'As before.' } },
      handle: () => ({ status: 304, body: '' }),
    }),
  ]);
  const socket = connect(service.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  const turn = () => new Promise(setImmediate);
  // One at a time: a second request beside a first would end the connection for another reason.
  while (service.server.inFlight === 0 && asked * answerBytes < tooMuch) {
    const before = asked;
    socket.write(bytes);
    while (asked === before) await turn();
    await turn();
    await turn();
  }
  return { socket, server: service.server, bytes: asked * answerBytes };
};

describe('a client that never reads is cut off before its answers fill the memory', () => {
  test.each([
    ['small answers', request('GET /v1/large?bytes=3000'), 3000],
    ['answers of some kilobytes', request('GET /v1/large?bytes=30000'), 30_000],
    ['answers without a body', request('HEAD /v1/models', [credential]), 200],
    ['answers that say that nothing is new', request('GET /v1/unchanged'), 200],
  ])('with %s', async (_, bytes, answerBytes) => {
    const asked = await askUntilOneWaits(bytes, answerBytes, { readerTimeoutMs: 200 });
    await eventually(() => asked.server.inFlight).toBe(0);
    asked.socket.destroy();
    expect(asked.bytes).toBeLessThan(tooMuch);
  });

  test('with streams, which end before they are read', async () => {
    const piece = 'a'.repeat(64 * 1024);
    let streams = 0;
    let isCut = false;
    service = await startService({ readerTimeoutMs: 200 }, () => [
      route({
        method: 'POST',
        path: '/v1/messages/short',
        operation: 'short',
        summary: 'Streams half a mebibyte',
        tag: 'Inference',
        family: 'messages',
        access: { credential: 'project', permission: 'x' },
        body: z.object({}),
        replies: { 200: { description: 'A stream.' } },
        handle: ({ signal }) => {
          signal.addEventListener('abort', () => {
            isCut = true;
          });
          return {
            status: 200,
            stream: async (sink) => {
              streams++;
              for (let i = 0; i < 8; i++) sink.write(piece);
            },
          };
        },
      }),
    ]);
    const { server, port } = service;
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    const most = tooMuch / (8 * piece.length);
    while (!isCut && streams < most) {
      const before = streams;
      socket.write(request('POST /v1/messages/short', [credential, json, 'Content-Length: 2'], '{}'));
      // One at a time: a second request beside a first would end the connection for another reason.
      await eventually(() => streams > before && server.inFlight === 0).toBe(true);
    }
    socket.destroy();
    expect(isCut).toBe(true);
  });
});

describe('a second request before the answer to the first ends the connection, without an answer', () => {
  let held = 0;
  let isOver = false;
  const start = () =>
    startService({}, () => [
      route({
        method: 'POST',
        path: '/v1/messages/held',
        operation: 'held',
        summary: 'Waits for an upstream',
        tag: 'Inference',
        family: 'messages',
        access: { credential: 'project', permission: 'inference:create' },
        body: z.object({}),
        replies: { 200: { description: 'Never.' } },
        handle: ({ signal }) =>
          new Promise((resolve) => {
            held++;
            signal.addEventListener('abort', () => {
              isOver = true;
              resolve({ status: 499, body: '{}' });
            });
          }),
      }),
    ]);
  const first = request('POST /v1/messages/held', [credential, json, 'Content-Length: 2'], '{}');
  const large = request('GET /v1/large?bytes=10');

  test.each([
    ['a GET', large],
    ['the same', first],
  ])('%s, while the first waits for its handler', async (_, second) => {
    [held, isOver] = [0, false];
    service = await start();
    const socket = connect(service.port, '127.0.0.1');
    let text = '';
    socket.on('data', (data) => {
      text += data;
    });
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.write(first);
    await eventually(() => held).toBe(1);
    socket.write(second);
    await ended;
    await eventually(() => service!.server.inFlight).toBe(0);
    expect([text, isOver]).toEqual(['', true]);
  });

  test.each([
    ['two that wait', first + first],
    ['two that do not', large + large],
    ['many', large.repeat(10_000)],
    ['one that waits and one that does not', first + large],
    ['one that is the last of its connection', `${request('GET /v1/large?bytes=10', ['Connection: close'])}${first}`],
  ])('%s in one segment, of which nothing is done', async (_, bytes) => {
    [held, isOver] = [0, false];
    service = await start();
    const { text, closed } = await send(service.port, bytes, { closes: true });
    await eventually(() => service!.server.inFlight).toBe(0);
    expect([text, closed, held]).toEqual(['', true, 0]);
  });
});

test('a client that reads late gets its answer whole, and the next one', async () => {
  const large = request('GET /v1/large?bytes=1000000');
  const { socket, server, bytes: asked } = await askUntilOneWaits(large, 1_000_000);
  let bytes = 0;
  socket.on('data', (data) => {
    bytes += data.length;
  });
  socket.resume();
  await eventually(() => server.inFlight).toBe(0);
  socket.write(request('GET /v1/large?bytes=10'));
  await eventually(() => bytes).toBeGreaterThan(asked);
  socket.destroy();
});
