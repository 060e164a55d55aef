import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import { startOpenAIProvider } from '../e2e/clients/openai-provider.ts';
import { startProvider } from '../e2e/clients/provider.ts';
import { wholeGateway } from '../support/whole-gateway.ts';
import { type Kind, kinds, type RecordedClient, recordedClients } from './clients.ts';

/** What real clients send, whole and streamed, with a model of each kind: `test/e2e/clients` runs the clients themselves. */

const start = async () => {
  const [messages, openai] = await Promise.all([startProvider(), startOpenAIProvider()]);
  const upstream = (kind: string, { url }: { readonly url: string }, more = {}) => ({
    kind,
    base_url: url,
    api_key_env: 'KEY',
    private_network: true,
    ...more,
  });
  const upstreams: Readonly<Record<Kind, object>> = {
    messages: upstream('anthropic', messages),
    chat: upstream('openai', openai),
    responses: upstream('openai', openai, { apis: ['chat', 'responses'] }),
  };
  const supported_features = ['tools', 'structured_outputs', 'reasoning'];
  const size = { context_length: 200_000, max_output_length: 64_000, supported_features };
  const models = kinds.map((id) => ({ id, ...size, upstream: upstreams[id] }));
  const connected = connect(loadModels(JSON.stringify({ models }), { KEY: 'sk-canary-5e0c' }), {
    clock: systemClock,
    sleep: () => Promise.resolve(),
  });
  const gateway = await wholeGateway({ models: connected });
  const { projectKey } = await gateway.make.tenant();
  const server = await gateway.listen();
  return {
    async ask(path: string, body: object) {
      const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${projectKey.value}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: response.status, answer: await response.text() };
    },
    /** The text of the last body that a provider has got. */
    received: () => JSON.stringify([...messages.take(), ...openai.take()].at(-1)?.body ?? null),
    async close() {
      await server.drain(0);
      await gateway.close();
      await connected.close();
      await Promise.all([messages.close(), openai.close()]);
    },
  };
};

let stage: Awaited<ReturnType<typeof start>>;
beforeAll(async () => {
  stage = await start();
});
afterAll(() => stage.close());

const ends: Readonly<Record<RecordedClient['path'], RegExp>> = {
  '/v1/messages': /event: message_stop\ndata: .*\n\n$/,
  '/v1/chat/completions': /data: \[DONE\]\n\n$/,
  '/v1/responses': /event: response\.completed\ndata: .*\n\n$/,
};

/** All that a stream says, put together: words, and what tools are called with. */
const saidIn = (stream: string): string =>
  stream
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)))
    .map(({ delta, choices }) => {
      const chat = choices?.[0]?.delta;
      const piece = delta?.text ?? delta?.partial_json ?? delta;
      return chat?.content ?? chat?.tool_calls?.[0]?.function.arguments ?? (typeof piece === 'string' ? piece : '');
    })
    .join('');

describe.each(kinds)('with a model of %s', (kind) => {
  describe.each(recordedClients)('$name', ({ path, body, told, refused, gets, lacks }) => {
    test.each([true, false])('streamed: %s', async (stream) => {
      const options = stream ? body.stream_options : undefined;
      stage.received();
      const { status, answer } = await stage.ask(path, { model: kind, ...body, stream, stream_options: options });
      const received = stage.received();
      const why = refused?.[kind];
      if (why !== undefined) {
        expect({ status, answer, received }).toEqual({
          status: 400,
          answer: expect.stringContaining(why),
          received: 'null',
        });
        return;
      }
      expect(status, answer).toBe(200);
      const words = told ?? 'The tool said: Sunny in Lisbon';
      expect(stream ? saidIn(answer) : answer).toContain(words);
      if (stream) expect(answer).toMatch(ends[path]);
      for (const part of gets?.[kind] ?? []) expect(received).toContain(part);
      for (const part of lacks?.[kind] ?? []) expect(received).not.toContain(part);
    });
  });
});
