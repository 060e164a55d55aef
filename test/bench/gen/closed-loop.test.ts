import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { ClosedLoop } from '../../../bench/gen/closed-loop.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Requests by path. */
const paths = new Map<string, number>();

/** Answers each request, numbered from 1, with the status it is given; 0 ends the connection instead. */
const listen = (statusOf: (request: number) => number): Promise<number> => {
  let requests = 0;
  server = createServer(({ url = '' }, response) => {
    paths.set(url, (paths.get(url) ?? 0) + 1);
    const status = statusOf(++requests);
    if (status === 0) response.socket?.destroy();
    else response.writeHead(status, { 'content-length': 2 }).end('ok');
  });
  return new Promise((resolve) => {
    server!.listen(0, '127.0.0.1', () => resolve((server!.address() as AddressInfo).port));
  });
};

const start = (port: number): ClosedLoop =>
  new ClosedLoop({
    port,
    requests: ['/a', '/b', '/c'].map((path) => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)),
    connections: 4,
    expected: 200,
  });

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
};

describe('the closed loop', () => {
  test('counts every response, and no request is left over when it has stopped', async () => {
    let served = 0;
    const loop = start(
      await listen(() => {
        served++;
        return 200;
      }),
    );
    await until(() => loop.done >= 50);
    await loop.stop();
    expect(loop.failure).toBeUndefined();
    expect(loop.done).toBe(served);
  });

  test('lets the requests take turns', async () => {
    paths.clear();
    const loop = start(await listen(() => 200));
    await until(() => loop.done >= 60);
    await loop.stop();
    const counts = ['/a', '/b', '/c'].map((path) => paths.get(path) ?? 0);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  });

  test('fails on the first response with another status', async () => {
    const loop = start(await listen((request) => (request === 20 ? 429 : 200)));
    await until(() => loop.failure !== undefined);
    await loop.stop();
    expect(loop.failure?.message).toBe('The server answered 429 where 200 was expected.');
    expect(loop.done).toBeLessThan(30);
  });

  test('fails when the server closes a connection', async () => {
    const loop = start(await listen((request) => (request === 20 ? 0 : 200)));
    await until(() => loop.failure !== undefined);
    await loop.stop();
    expect(loop.failure?.message).toMatch(/closed a connection|ECONNRESET/);
  });

  test('fails where nobody listens', async () => {
    const port = await listen(() => 200);
    await new Promise((resolve) => server!.close(resolve));
    const loop = start(port);
    await until(() => loop.failure !== undefined);
    await loop.stop();
    expect(loop.failure?.message).toMatch(/ECONNREFUSED/);
  });
});
