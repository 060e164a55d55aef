import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { connect } from '../src/data/upstream/connect.ts';
import { loadModels } from '../src/data/upstream/models/models.ts';
import { callsInOrder } from './support/calls-in-order.ts';
import { wholeGateway } from './support/whole-gateway.ts';

const page = readFileSync(new URL('../src/README.md', import.meta.url), 'utf8');
const rows = [...page.matchAll(/^\| \d+ \| `(src\/[\w./-]+\.ts)` \| `(\w+)` \|/gm)].map(([, file, name]) => ({
  file: file!,
  name: name!,
}));

const answer = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'Hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 8, output_tokens: 1 },
};

test('a message goes through the functions that src/README.md names, in its order', async () => {
  expect(new Set(rows.map(({ file }) => file)).size).toBeLessThanOrEqual(15);
  const upstream = createServer((request, response) => {
    request.resume();
    request.on('end', () =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer)),
    );
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const base_url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const upstreams = [{ kind: 'anthropic', base_url, private_network: true, api_key_env: 'KEY' }];
  const file = { models: [{ id: 'm', context_length: 100_000, max_output_length: 1000, upstreams }] };
  const models = connect(loadModels(JSON.stringify(file), { KEY: 'k' }), { clock: systemClock });
  const gateway = await wholeGateway({ models });
  const { projectKey } = await gateway.make.tenant();
  const server = await gateway.listen();
  const client = new Anthropic({ baseURL: `http://127.0.0.1:${server.port}`, apiKey: projectKey.value, maxRetries: 0 });
  const send = () =>
    client.messages.create({ model: 'm', max_tokens: 8, messages: [{ role: 'user', content: 'Hello' }] });
  // What is called once for all is not on the way of a request.
  await send();
  const calls = await callsInOrder(rows);
  try {
    await send();
    expect(calls.called()).toEqual(rows.map(({ file, name }) => `${file} ${name}`));
  } finally {
    calls.close();
    await server.drain(1000);
    await gateway.close();
    upstream.closeAllConnections();
    upstream.close();
  }
});
