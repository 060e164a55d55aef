import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type Family, type Route, route } from '../../src/http/route.ts';
import { eventually, request } from './raw-client.ts';
import { credential, type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let service: Service;
let release = (): void => {};
let began = 0;
let aborted = 0;

const slow = (family: Family, path: string): Route =>
  route({
    method: 'POST',
    path,
    operation: path,
    summary: 'Waits',
    tag: 'Organization',
    family,
    access: { credential: 'admin', permission: 'x' },
    body: z.object({}),
    replies: { 200: { description: 'Done.' } },
    handle: async ({ signal }) => {
      signal.addEventListener('abort', () => {
        aborted++;
      });
      began++;
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return { status: 200, body: { done: true } };
    },
  });

beforeAll(async () => {
  service = await startService({}, () => [
    slow('admin', '/v1/organization/slow'),
    slow('messages', '/v1/messages/slow'),
  ]);
});
afterAll(() => service.stop());

/** Sends a request and the end of its own side at once, as `nc -N` does. */
const halfClose = (bytes: string) => {
  const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
  const seen = { text: '', isClosed: false };
  socket.on('error', () => {});
  socket.on('data', (data) => {
    seen.text += data.toString();
  });
  for (const event of ['end', 'close']) {
    socket.on(event, () => {
      seen.isClosed = true;
    });
  }
  socket.end(bytes);
  return seen;
};
const post = (path: string): string =>
  request(`POST ${path}`, [credential, 'Content-Type: application/json', 'Content-Length: 2'], '{}');

test('a half-closing client gets the answer that is made at once', async () => {
  const seen = halfClose(request('GET /v1/marker'));
  await eventually(() => seen.isClosed).toBe(true);
  expect(seen.text).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\{"marked":\d+\}$/);
});

test('a half-closing client gets the answer of an administration request that takes its time', async () => {
  const before = began;
  const seen = halfClose(post('/v1/organization/slow'));
  await eventually(() => began).toBe(before + 1);
  // The end of its side has arrived long ago: another connection has been served since.
  const other = halfClose(request('GET /v1/marker'));
  await eventually(() => other.isClosed).toBe(true);
  release();
  await eventually(() => seen.isClosed).toBe(true);
  expect(seen.text).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\{"done":true\}$/);
  expect(aborted).toBe(0);
  await eventually(() => service.server.inFlight).toBe(0);
});

// A client that has left sends the same as one that has only ended its side, and inference is to end with its client.
test('the end of the client’s side ends its inference', async () => {
  const before = began;
  const seen = halfClose(post('/v1/messages/slow'));
  await eventually(() => began).toBe(before + 1);
  await eventually(() => [aborted, seen.isClosed]).toEqual([1, true]);
  expect(seen.text).toBe('');
  release();
});
