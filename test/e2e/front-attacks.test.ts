// Lane: rest, alone: it starts gateways and loads them
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { seed } from '../support/seed.ts';
import { Connection, turns } from '../torture/front/connection.ts';
import { seeded } from '../torture/random.ts';
import { serve } from '../upstream/mock.ts';
import { eventually, freshDir, type Server, startServer } from './server.ts';

const random = seeded(seed);
const healthMs = 5_000;

/** The upstream of the model `echo`: repeats the question when it is let go. */
const held: (() => void)[] = [];
const echo = async () =>
  serve((request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () =>
      held.push(() => {
        const text = /client-\d+/.exec(body)![0];
        const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [{ type: 'text', text }] };
        const usage = { input_tokens: 1, output_tokens: 1 };
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ ...message, stop_reason: 'end_turn', stop_sequence: null, usage }));
      }),
    );
  });

let upstream: Awaited<ReturnType<typeof echo>>;
let server: Server;
let metricsUrl: string;

beforeEach(async () => {
  upstream = await echo();
  const models = freshDir('models.json');
  const entry = { kind: 'anthropic', base_url: upstream.url, api_key_env: 'KEY', private_network: true };
  const sizes = { context_length: 200_000, max_output_length: 64_000 };
  writeFileSync(models, JSON.stringify({ models: [{ id: 'echo', ...sizes, upstream: entry }] }));
  server = await startServer({ env: { METRICS_PORT: '0', MODELS_FILE: models, KEY: 'sk' } });
  metricsUrl = String(server.log().find(({ msg }) => msg === 'listening')!.metrics_url);
}, 90_000);
afterEach(async () => {
  for (const answer of held.splice(0)) answer();
  if (server && isAlive()) await server.kill();
  await upstream.close();
});

const isAlive = (): boolean => server.spawned.child.exitCode === null && server.spawned.child.signalCode === null;

const healthIn = async (): Promise<number> => {
  const began = performance.now();
  const response = await fetch(`${server.baseUrl}/v1/health`, { signal: AbortSignal.timeout(30_000) });
  expect(await response.text()).toBe('{"status":"ok"}');
  return performance.now() - began;
};

/** It runs, answers, and has nothing more in flight; what a connection has left behind shows by then. */
const expectWell = async (): Promise<void> => {
  await eventually(
    async () => {
      if (!isAlive()) return true;
      const text = await (await fetch(metricsUrl)).text();
      return /^weir_http_requests_in_flight 0$/m.test(text) || undefined;
    },
    () => 'requests stay in flight',
    30_000,
  );
  expect(isAlive(), server.spawned.stderr().slice(-1_000)).toBe(true);
  await healthIn();
};

const open = (text: string, end: 'reset' | 'leave' | 'half-close' | 'stall', port = server.port, isReading = false) =>
  new Connection(
    { at: port, isTls: false },
    { text, cuts: [text.length], isReading, end, turns: random.between(0, 40) },
    undefined,
    random,
    () => {},
  );

const line = (method: string, path: string, lines = ''): string =>
  `${method} ${path} HTTP/1.1\r\nHost: a\r\n${lines}\r\n`;
const filling = (text: string, bytes = 64 * 1024): string => text.repeat(Math.ceil(bytes / text.length));
const wrong = 'Authorization: Bearer gwp_wrong\r\n';
const key = (): string => `Authorization: Bearer ${server.first.project_api_key}\r\n`;

/** So many connections, four at a time, until the gateway has ended. */
const each = async (count: number, run: () => Promise<unknown>): Promise<void> => {
  let left = count;
  const lane = async (): Promise<void> => {
    while (left-- > 0 && isAlive()) await run();
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
};

const reset = (texts: () => readonly string[], count: number) =>
  each(count, () => open(filling(random.pick(texts())), 'reset').run());

test('pipelines without a credential are reset', { timeout: 90_000 }, async () => {
  const post = `POST /v1/messages HTTP/1.1\r\nHost: a\r\n${wrong}Content-Length: 2\r\n\r\n{}`;
  await reset(() => [line('GET', '/'), line('GET', '/v1/nowhere'), line('GET', '/v1/models', wrong), post], 300);
  await expectWell();
});

test('pipelines with a key are reset', { timeout: 90_000 }, async () => {
  const paths = () => ['/v1/models', '/v1/key', '/v1/models/none'].map((path) => line('GET', path, key()));
  const open = ['/v1/ready', '/v1/health', '/v1/openapi.json'].map((path) => line('GET', path));
  await reset(() => [...paths(), ...open, line('OPTIONS', '/v1/messages')], 300);
  await expectWell();
});

/** They pipeline and never read, and health is told in time. */
const unread = async (texts: () => readonly string[], count: number): Promise<void> => {
  const all = Array.from({ length: count }, (_, i) =>
    open(filling(texts()[i % texts().length]!, 1024 * 1024), 'stall'),
  );
  await Promise.all(all.map((connection) => connection.run()));
  const took: number[] = [];
  for (let i = 0; i < 10 && isAlive(); i++) took.push(await healthIn());
  for (const connection of all) connection.letGo();
  expect(Math.max(...took)).toBeLessThan(healthMs);
  await expectWell();
};

test('answers of every size are not read', { timeout: 90_000 }, async () => {
  const lines = ['/v1/openapi.json', '/v1/nowhere', '/v1/models'].map((path) => line('GET', path));
  await unread(() => [...lines, line('HEAD', '/v1/openapi.json'), line('OPTIONS', '/v1/messages')], 30);
});

test('health is asked for by pipelines and not read', { timeout: 90_000 }, () =>
  unread(() => [line('GET', '/v1/health')], 60),
);

/** An answer above the cork buffer, a body behind `Connection: close`, and another. */
const closeThenPost = [
  line('GET', '/v1/openapi.json'),
  line('POST', '/v1/messages', 'Connection: close\r\nContent-Type: application/json\r\nContent-Length: 173\r\n'),
  'x'.repeat(173),
  line('POST', '/v1/nowhere', 'Content-Type: application/json\r\nContent-Length: 1000\r\n'),
  'x'.repeat(35),
].join('');

const closing = async (count: number): Promise<void> => {
  const all = Array.from({ length: count }, (_, i) =>
    open(closeThenPost, (['leave', 'half-close', 'reset'] as const)[i % 3]!, server.port, i % 2 === 0),
  );
  await Promise.all(all.map((connection) => connection.run()));
  await turns(20);
  for (const connection of all) connection.letGo();
};

test('a request follows one that ends the connection', { timeout: 90_000 }, async () => {
  await closing(20);
  await expectWell();
});

test('a client gets its own answer beside requests that follow the end of theirs', { timeout: 90_000 }, async () => {
  await closing(5);
  const clients = Array.from({ length: 40 }, async (_, i) => {
    const content = `client-${i}`;
    const response = await fetch(`${server.baseUrl}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.first.project_api_key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'echo', max_tokens: 5, messages: [{ role: 'user', content }] }),
    });
    const { content: told } = (await response.json()) as { content?: [{ text: string }] };
    return `${response.status} ${told?.[0].text}`;
  });
  const answers = Promise.allSettled(clients);
  await eventually(() => held.length === clients.length || !isAlive() || undefined);
  // What the attackers have left behind is looked at in the next ticks, before the clients are answered.
  await eventually(async () => {
    if (!isAlive()) return true;
    const text = await (await fetch(metricsUrl)).text();
    return new RegExp(`^weir_http_requests_in_flight ${clients.length}$`, 'm').test(text) || undefined;
  });
  for (const answer of held.splice(0)) answer();
  expect(await answers).toEqual(clients.map((_, i) => ({ status: 'fulfilled', value: `200 client-${i}` })));
  await expectWell();
});

test('scrapes in a pipeline are reset', { timeout: 90_000 }, async () => {
  const text = line('GET', '/metrics').repeat(1_000);
  const all = Array.from({ length: 30 }, () => open(text, 'stall', Number(new URL(metricsUrl).port), true));
  await Promise.all(all.map((connection) => connection.run()));
  for (const connection of all) connection.letGo();
  expect(await healthIn()).toBeLessThan(healthMs);
  await expectWell();
});
