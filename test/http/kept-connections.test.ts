// Lane: middle: it waits for the core to end connections
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { request, send } from './raw-client.ts';
import { credential, type Service, startService } from './service.ts';

vi.setConfig({ testTimeout: 60_000 });

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const heads = async (text: string, isHead = false) => {
  const { answers, closed } = await send(service.port, text, { answers: 1, isHead });
  const { status, headers } = answers[0]!;
  return { status, keepAlive: headers.get('keep-alive'), connection: headers.get('connection'), closed };
};

const posted = (path: string, body: string, ...headers: string[]) =>
  request(
    `POST ${path}`,
    [credential, 'Content-Type: application/json', `Content-Length: ${body.length}`, ...headers],
    body,
  );

test.each([
  ['without a body', request('OPTIONS /v1/marker'), false, 204],
  ['to HEAD', request('HEAD /v1/marker'), true, 200],
  ['of a static route', request('GET /v1/marker'), false, 200],
  ['of a refusal', request('GET /nowhere'), false, 404],
  ['to a body', posted('/v1/organization/things', '{"name":"n"}', 'Idempotency-Key: 12345678'), false, 201],
  ['of a stream', posted('/v1/chat/completions', '{"pieces":3}'), false, 200],
] as const)('an answer %s says how long its connection is kept, or that it ends', async (_, text, isHead, status) => {
  for (let n = 0; n < 40; n++) {
    const answer = await heads(text, isHead);
    expect(answer.status).toBe(status);
    if (answer.connection === 'close') expect(answer.keepAlive).toBeUndefined();
    else expect(answer.keepAlive).toBe('timeout=5');
  }
});

/** Milliseconds from the sending of a request until the server ended the connection, on which nothing more was sent. */
const keptFor = (port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const began = performance.now();
    const socket = connect(port, '127.0.0.1', () => socket.write(request('GET /v1/marker')));
    let said = '';
    socket.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    socket.on('error', reject);
    socket.on('close', () => {
      expect(said).toContain('\r\nKeep-Alive: timeout=5\r\n');
      resolve(performance.now() - began);
    });
  });

test('a connection without requests is kept longer than its answers say, whenever it has become idle', async () => {
  // The timers of the core beat every four seconds.
  const phases = [0, 700, 1_400, 2_100, 2_800, 3_500];
  const ages = await Promise.all(phases.map((ms) => wait(ms).then(() => keptFor(service.port))));
  expect(Math.min(...ages)).toBeGreaterThan(5_000);
});
