import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { existingEventLog } from '../../src/app/log/event-log.ts';
import { readConfig } from '../../src/config/config.ts';
import { declaredPrices } from '../../src/usage/prices.ts';
import { call } from './calls.ts';
import { eventually, freshDir } from './process.ts';
import { type Server, startServer } from './server.ts';

vi.setConfig({ testTimeout: 120_000 });

/** Answers with a first piece of a stream, and with the rest when it is told to. */
const waiting: ServerResponse[] = [];
const sockets = new Set<Socket>();
const upstream = createServer((incoming, outgoing) => {
  incoming.resume();
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
  outgoing.write(piece({ role: 'assistant', content: 'Hel' }));
  waiting.push(outgoing);
});
upstream.on('connection', (socket) => {
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
});
const piece = (delta: object, more = {}): string => {
  const choices = [{ index: 0, delta, finish_reason: null, ...more }];
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}\n\n`;
};
const finish = (answer: ServerResponse): void => {
  answer.write(piece({ content: 'lo' }));
  answer.write(piece({}, { finish_reason: 'stop' }));
  answer.end('data: [DONE]\n\n');
};

const file = join(dirname(freshDir()), 'models.json');
const simulated = (id: string, price = '0.001') => ({
  id,
  context_length: 8_000,
  max_output_length: 1_000,
  pricing: { prompt: price, completion: '0.002' },
  upstream: { kind: 'simulated' },
});
const remote = () => ({
  id: 'remote',
  context_length: 8_000,
  max_output_length: 1_000,
  passthrough: true,
  upstream: {
    kind: 'openai',
    base_url: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    api_key_env: 'UPSTREAM_KEY',
    private_network: true,
  },
});
const declare = (...models: readonly object[]): void => writeFileSync(file, JSON.stringify({ models }));

let server: Server;
beforeAll(async () => {
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  declare(simulated('one'), remote());
  server = await startServer({ env: { MODELS_FILE: file, UPSTREAM_KEY: 'k' } });
});
afterAll(async () => {
  await server.stop();
  upstream.closeAllConnections();
  upstream.close();
});

const ask = async (model: string, more = {}) => {
  const messages = [{ role: 'user', content: 'Hello' }];
  const body = { model, max_tokens: 20, messages, ...more };
  return call(server, 'POST', '/v1/chat/completions', { key: server.first.project_api_key, body });
};
const told = (name: string) => server.log().filter(({ msg }) => msg === name);
const reload = async (name: 'models.reloaded' | 'models.refused'): Promise<void> => {
  const before = told(name).length;
  server.spawned.child.kill('SIGHUP');
  await eventually(
    () => told(name)[before],
    () => server.spawned.stderr(),
  );
};
const listed = async (): Promise<unknown> => {
  const { body } = await call(server, 'GET', '/v1/models', { key: server.first.project_api_key });
  return (body.data as { id: string }[]).map(({ id }) => id);
};

describe('SIGHUP', () => {
  test('serves the models that the file declares now; a stream in flight ends on the upstream that it has', async () => {
    const streaming = ask('remote', { stream: true });
    const answer = await eventually(() => waiting.shift());
    declare(simulated('one'), simulated('two'));
    await reload('models.reloaded');
    expect(await listed()).toEqual(['one', 'two']);
    expect((await ask('two')).status).toBe(200);
    expect((await ask('remote')).body).toMatchObject({ error: { code: 'model_not_found' } });
    finish(answer);
    const { status, text } = await streaming;
    expect([status, text.includes('"lo"'), text.trimEnd().endsWith('[DONE]')]).toEqual([200, true, true]);
    // Nobody needs its connections any more.
    await eventually(() => (sockets.size === 0 ? true : undefined));
  });

  test('writes new prices into the log before anybody is charged by them', async () => {
    declare(simulated('one', '0.5'), simulated('two'));
    await reload('models.reloaded');
    const log = await existingEventLog(readConfig(server.env));
    const prices: string[] = [];
    for await (const { model, pricing } of declaredPrices(log.store)) if (model === 'one') prices.push(pricing.prompt);
    await log.close();
    expect(prices).toEqual(['0.001', '0.5']);
    expect((await ask('one')).status).toBe(200);
  });

  test.each<[string, string, RegExp]>([
    ['is no JSON', '{', /MODELS_FILE: .*JSON/s],
    [
      'lacks a variable',
      JSON.stringify({
        models: [
          {
            ...simulated('x'),
            upstream: { kind: 'openai', base_url: 'http://127.0.0.1:1', api_key_env: 'NOT_THERE' },
            id: 'x',
            context_length: 1,
          },
        ],
      }),
      /MODELS_FILE/,
    ],
  ])('changes nothing where the file %s, and says what is wrong with it', async (_, text, says) => {
    const before = await listed();
    writeFileSync(file, text);
    await reload('models.refused');
    expect(told('models.refused').at(-1)!.fault).toMatch(says);
    expect(await listed()).toEqual(before);
    expect((await ask('one')).status).toBe(200);
  });
});
