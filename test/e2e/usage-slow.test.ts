import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { existingEventLog } from '../../src/app/log/event-log.ts';
import { dayMs } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Settlement } from '../../src/domain/usage/usage-events.ts';
import { settlementsBetween } from '../../src/usage/settlements.ts';
import { freshDir } from './process.ts';
import { type Server, startServer } from './server.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000 });

const usage = { input_tokens: 7, output_tokens: 3 };
const answer = { id: 'msg_u', type: 'message', role: 'assistant', model: 'm', content: [{ type: 'text', text: 'x' }] };

/** Answers after as many milliseconds as it is told. */
const upstream = createServer(async (incoming, outgoing) => {
  let text = '';
  for await (const piece of incoming) text += piece;
  const ms = Number((JSON.parse(text) as { messages: { content: string }[] }).messages[0]!.content);
  const end = () => {
    outgoing.writeHead(200, { 'content-type': 'application/json' });
    outgoing.end(JSON.stringify({ ...answer, stop_reason: 'end_turn', stop_sequence: null, usage }));
  };
  setTimeout(end, ms).unref();
});
beforeAll(() => new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve)));
afterAll(() => {
  upstream.closeAllConnections();
  upstream.close();
});

const accountsOf = async (server: Server): Promise<Settlement[]> => {
  const log = await existingEventLog(readConfig(server.env));
  const all: Settlement[] = [];
  for await (const each of settlementsBetween(log.store, Date.now() - dayMs, Date.now())) all.push(each);
  await log.close();
  return all;
};

const slowModel = () => {
  const modelsFile = join(dirname(freshDir()), 'models.json');
  const base_url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const remote = { kind: 'anthropic', base_url, api_key_env: 'UPSTREAM_KEY', private_network: true };
  const model = { id: 'm', context_length: 200_000, max_output_length: 64_000, upstream: remote };
  writeFileSync(modelsFile, JSON.stringify({ models: [model] }));
  return { MODELS_FILE: modelsFile, UPSTREAM_KEY: 'k' };
};

/** Resolves to the id of a request whose upstream takes so many milliseconds. */
const asking = async (server: Server, ms: number): Promise<string | null> => {
  const response = await fetch(`${server.baseUrl}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.first.project_api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', max_tokens: 100, messages: [{ role: 'user', content: `${ms}` }] }),
  });
  await response.arrayBuffer();
  return response.headers.get('request-id');
};

test('a request that the gateway cuts at its end is on record as that, and not as one whose client has left', async () => {
  const server = await startServer({ env: { ...slowModel(), DRAIN_MS: '500' } });
  const cut = asking(server, 60_000).catch(() => 'cut');
  await asking(server, 0);
  await server.stop();
  expect(await cut).toBe('cut');
  expect((await accountsOf(server)).map(({ status }) => status).sort()).toEqual([200, 500]);
});

test('requests of seconds beside one of a minute have one account each, after a kill -9 too', async () => {
  const env = slowModel();
  let server = await startServer({ env });
  const ask = (ms: number) => asking(server, ms);
  const long = ask(60_000).catch(() => null);
  const answered = await Promise.all([1, 2, 3, 4, 5].map(() => ask(2_500)));
  // Their accounts are in the store, and the files that have them may go.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  await server.kill();
  expect(await long).toBeNull();
  server = await startServer({ dataDir: server.dataDir, env });
  await server.stop();
  const accounts = await accountsOf(server);
  const told = accounts.map(({ request_id: id, usage_source: source }) => [answered.includes(id), source]);
  expect(told.filter(([isAnswered]) => isAnswered)).toEqual(answered.map(() => [true, 'final']));
  expect(told.filter(([isAnswered]) => !isAnswered)).toEqual([[false, 'estimated']]);
});
