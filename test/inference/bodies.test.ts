import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { body } from './body.ts';

/** Bodies of messages requests as a client sends them, over a socket, to a gateway with every route. */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const declared = {
  id: 'm',
  context_length: 10_000_000,
  max_output_length: 999_990,
  input_modalities: ['text', 'image', 'file'],
  upstream: { kind: 'simulated' },
};

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let key: string;
beforeAll(async () => {
  const models = loadModels(JSON.stringify({ models: [declared] }), {});
  at = await wholeGateway({ models: connect(models, { clock: { monotonic: () => 0, wall: () => 0 } }) });
  server = await at.listen();
  key = (await at.make.tenant()).projectKey.value;
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
});

/** The status, and what the answer says. */
const post = async (text: string) => {
  const response = await fetch(`http://127.0.0.1:${server.port}/v1/messages`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json' },
    body: text,
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  return { status: response.status, body: (await response.json()) as any };
};
const send = (fields: object) => post(JSON.stringify(body(fields)));

describe('foreign members of a source', () => {
  test.each([
    ['image', { type: 'base64', media_type: 'image/png', data: 'AAAA' }],
    ['image', { type: 'url', url: 'https://example.org/a.png' }],
    ['document', { type: 'base64', media_type: 'application/pdf', data: 'AAAA' }],
    ['document', { type: 'text', media_type: 'text/plain', data: 'x' }],
  ])('of a %s %j mean nothing', async (type, source) => {
    for (const content of [[null], null, [[]], 'x', [{}], [{ type: 'image' }], { type: 'image' }]) {
      const plain = await send({ messages: [{ role: 'user', content: [{ type, source }] }] });
      const answer = await send({ messages: [{ role: 'user', content: [{ type, source: { ...source, content } }] }] });
      expect(answer.status, JSON.stringify(content)).toBe(plain.status);
    }
  });
});

test('a number that is no number is told as what the field takes', async () => {
  const typeOf = async (fields: object) => {
    const answer = await send(fields);
    expect(answer.status).toBe(422);
    return [answer.body.detail[0].loc.join('.'), answer.body.detail[0].type, answer.body.detail[0].msg];
  };
  const whole = 'Must be a whole number.';
  for (const max_tokens of ['5', 1.5, null, [], true]) {
    expect(await typeOf({ max_tokens }), JSON.stringify(max_tokens)).toEqual(['body.max_tokens', 'int_type', whole]);
  }
  const thinking = { type: 'enabled', budget_tokens: '2000' };
  expect(await typeOf({ thinking })).toEqual(['body.thinking.budget_tokens', 'int_type', whole]);
  expect(await typeOf({ temperature: '1' })).toEqual(['body.temperature', 'float_type', 'Must be a number.']);
});

describe('large bodies', () => {
  const messages = (count: number) => Array.from({ length: count }, () => ({ role: 'user', content: 'x' }));

  test('of 100,000 messages are answered, in one block of text each too', async () => {
    expect((await send({ messages: messages(100_000) })).status).toBe(200);
    const content = [{ type: 'text', text: 'x' }];
    const inBlocks = messages(100_000).map((message) => ({ ...message, content }));
    expect((await send({ messages: inBlocks })).status).toBe(200);
    const { status, body: refused } = await send({ messages: messages(100_001) });
    expect([status, refused.detail[0].type]).toEqual([422, 'too_long']);
  });

  test('of more values than two million, or of more than 64 levels, are too complex and no fault of JSON', async () => {
    const withInput = (input: string) => `${JSON.stringify(body()).slice(0, -1)},"metadata":{"x":${input}}}`;
    const nested = (depth: number) => withInput('['.repeat(depth - 2) + ']'.repeat(depth - 2));
    const listed = (values: number) => withInput(`[${'1,'.repeat(values)}1]`);
    expect((await post(nested(64))).status).toBe(200);
    expect((await post(listed(1_999_000))).status).toBe(200);
    for (const text of [nested(65), listed(2_000_000)]) {
      const { status, body: refused } = await post(text);
      expect([status, refused.error.code, refused.error.type]).toEqual([
        400,
        'request_too_complex',
        'invalid_request_error',
      ]);
    }
  });
});
