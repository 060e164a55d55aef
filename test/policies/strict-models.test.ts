import { createServer } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { chunk, completion, done } from '../upstream/openai/mock.ts';
import { modelsBefore } from './models-before.ts';

/** Policies see of requests to strict and simulated models, and of their answers, what they see where models pass. */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let at: Awaited<ReturnType<typeof wholeGateway>>;
let mine: Awaited<ReturnType<typeof at.make.tenant>>;
/** What the upstream says, whole or as chunks. */
let says: { readonly message: object; readonly chunks: readonly object[]; readonly fields: object };
const upstream = createServer(async (incoming, out) => {
  let asked = '';
  for await (const piece of incoming) asked += String(piece);
  const { message, chunks, fields } = says;
  if (JSON.parse(asked).stream === true) {
    const events = [...chunks.map((delta) => chunk(delta)), chunk({}, fields), done];
    out.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.join(''));
  } else out.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion(message, fields)));
});
beforeAll(async () => {
  const models = await modelsBefore(upstream, ({ remote, entry }) => [
    { id: 'strict', ...entry, passthrough: false, upstream: { kind: 'openai', ...remote } },
    { id: 'simulated', ...entry, upstream: { kind: 'simulated', first_token_ms: 0, token_ms: 0 } },
  ]);
  at = await wholeGateway({ models });
});
afterAll(async () => {
  await at.close();
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
});
beforeEach(async () => {
  mine = await at.make.tenant();
  says = {
    message: { role: 'assistant', content: 'Hi' },
    chunks: [{ content: 'Hi' }],
    fields: { finish_reason: 'stop' },
  };
});

let keys = 0;
const enforce = async (rule: string, direction: 'request' | 'response'): Promise<void> => {
  const post = async (path: string, body: object) => {
    const headers = { ...bearer(mine.adminKey.value), 'idempotency-key': `key-number-${keys++}` };
    const got = await at.call('POST', `/v1/organization/policies${path}`, { headers, body });
    expect(got.status, got.text).toBeLessThan(300);
    return got.body;
  };
  const { id } = await post('', { name: 'p', mode: 'enforcing', rule, direction });
  await post(`/${id}/publish`, { revision: 1 });
};
const said = [{ role: 'user', content: 'Hi' }];
const asked = {
  '/v1/messages': { max_tokens: 50, messages: said },
  '/v1/messages/count_tokens': { messages: said },
  '/v1/chat/completions': { messages: said },
  '/v1/responses': { input: 'Hi' },
} as const;
type Path = keyof typeof asked;
const paths = Object.keys(asked) as Path[];
const ask = async (path: Path, fields: object) => {
  const body = { ...asked[path], ...fields };
  return at.call('POST', path, { headers: bearer(mine.projectKey.value), body });
};

describe('the metadata of a request', () => {
  const models = ['strict', 'simulated'];
  test.each(paths.flatMap((path) => models.map((model) => [path, model] as const)))(
    'on %s of the model %s is there',
    async (path, model) => {
      await enforce('request.metadata.exists(k, request.metadata[k] == "legal" && k == "team")', 'request');
      expect((await ask(path, { model, metadata: { team: 'legal' } })).status).toBe(403);
      expect((await ask(path, { model, metadata: { team: 'sales' } })).status).toBe(200);
      expect((await ask(path, { model })).status).toBe(200);
    },
  );
  test.each(['/v1/chat/completions', '/v1/responses'] as const)(
    'on %s names the user, however it is named',
    async (path) => {
      await enforce('"user_id" in request.metadata && request.metadata["user_id"] == "u1"', 'request');
      for (const model of models) {
        const status = async (fields: object) => (await ask(path, { model, ...fields })).status;
        expect(await status({ user: 'u1' })).toBe(403);
        expect(await status({ safety_identifier: 'u1', user: 'u2' })).toBe(403);
        expect(await status({ user: 'u1', metadata: { user_id: 'u3' } })).toBe(200);
      }
    },
  );
});

describe.each([false, true])('an answer, streamed: %s', (stream) => {
  test.each(['strict', 'simulated'])('of the model %s shows the sequence that stopped it', async (model) => {
    const first = await ask('/v1/messages', { model: 'simulated', messages: said });
    const sequence = model === 'strict' ? 'nightfall' : first.body.content[0].text.split(' ')[1];
    says = { ...says, fields: { finish_reason: 'stop', stop_reason: sequence } };
    const fields = { model, stream, stop_sequences: [sequence] };
    const answer = await ask('/v1/messages', fields);
    expect([answer.status, answer.text.includes(`"stop_sequence":"${sequence}"`)]).toEqual([200, true]);
    await enforce(`response.text.contains("${sequence}")`, 'response');
    expect((await ask('/v1/messages', fields)).status).toBe(403);
    // A client of chat completions is not told.
    if (model === 'strict')
      expect((await ask('/v1/chat/completions', { model, stream, stop: sequence })).status).toBe(200);
  });

  const tools = [{ type: 'function', function: { name: 'nightfall', parameters: { type: 'object' } } }];
  test.each([
    ['its name', 'nightfall', '{}'],
    ['its input', 'f', '{"a":["nightfall"]}'],
    ['the first of two members', 'f', '{"a":"nightfall","a":"x"}'],
  ])('of a strict model shows a call: %s', async (name, called, sent) => {
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: called, arguments: sent } };
    says = {
      message: { role: 'assistant', content: null, tool_calls: [call] },
      chunks: [{ tool_calls: [call] }],
      fields: { finish_reason: 'tool_calls' },
    };
    const fields = { model: 'strict', stream, tools };
    const answer = await ask('/v1/chat/completions', fields);
    expect(answer.status).toBe(200);
    await enforce('response.text.contains("nightfall")', 'response');
    // In one piece a client is given what has been read.
    const isGiven = answer.text.includes('nightfall');
    expect(isGiven).toBe(stream || name !== 'the first of two members');
    expect((await ask('/v1/chat/completions', fields)).status).toBe(isGiven ? 403 : 200);
  });
});
