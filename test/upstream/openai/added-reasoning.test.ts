// Lane: fast, timed: it measures a deadline
import { json } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import type { GenerateOptions, GenerateRequest, PassedRequest } from '../../../src/data/upstream/port.ts';
import { type Mock, serve, upstreamAt } from '../mock.ts';

const body = Buffer.from('{"include":["reasoning.encrypted_content"],"model":"m","input":"x"}');
const passed: PassedRequest = { body, id: 'resp_1', model: 'm', headers: {}, addsReasoning: true };
const refusal = '{"error":{"message":"x","type":"invalid_request_error","param":"include","code":null}}';
const reason = new Error('the client has left');

let server: Mock | undefined;
afterEach(() => server?.close());

const askedOf = (mock: Mock, signal: AbortSignal, over: object = {}) => {
  const upstream = upstreamAt(mock.url, { kind: 'openai', apis: ['chat', 'responses'], ...over });
  return upstream.passing!.responses!.answer(passed, { signal, requestId: 'req_1' } as GenerateOptions);
};

test.each([
  ['whole', false],
  ['streamed', true],
])('a translated request is asked without it too, %s, and from then on never with it', async (_, stream) => {
  const includes: unknown[] = [];
  const response = {
    status: 'completed',
    output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }],
  };
  server = await serve(async (asked, answer) => {
    const { include } = (await json(asked)) as { include?: unknown };
    includes.push(include);
    if (include !== undefined) answer.writeHead(400, { 'content-type': 'application/json' }).end(refusal);
    else if (stream) answer.end(`data: ${JSON.stringify({ type: 'response.completed', response })}\n\n`);
    else answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(response));
  });
  const upstream = upstreamAt(server.url, { kind: 'openai', apis: ['responses'] });
  const options = { signal: new AbortController().signal, requestId: 'req_1' } as GenerateOptions;
  const request = { model: 'm', max_tokens: 20, messages: [{ role: 'user', content: 'x' }] } as GenerateRequest;
  for (let i = 0; i < 2; i++) {
    const told: unknown[] = stream ? [] : [await upstream.answer(request, options)];
    if (stream) for await (const chunk of upstream.stream(request, options)) told.push(chunk);
    expect(JSON.stringify(told)).toContain('"Hi"');
  }
  expect(includes).toEqual([['reasoning.encrypted_content'], undefined, undefined]);
});

test('a client that leaves before the refusal is read is not asked for again', async () => {
  let requests = 0;
  const controller = new AbortController();
  server = await serve((_, response) => {
    requests += 1;
    response.writeHead(400, { 'content-type': 'application/json' }).write(refusal.slice(0, 9));
    controller.abort(reason);
    response.end(refusal.slice(9));
  });
  await expect(askedOf(server, controller.signal)).rejects.toBe(reason);
  expect(requests).toBe(1);
});

test('a client that leaves during the second request ends it', async () => {
  let requests = 0;
  const controller = new AbortController();
  server = await serve((_, response) => {
    requests += 1;
    if (requests === 2) controller.abort(reason);
    else response.writeHead(400, { 'content-type': 'application/json' }).end(refusal);
  });
  await expect(askedOf(server, controller.signal)).rejects.toBe(reason);
  expect(requests).toBe(2);
});

test('both requests together have the time of one', async () => {
  const starts: number[] = [];
  server = await serve((_, response) => {
    starts.push(performance.now());
    // The second is never answered.
    if (starts.length === 1)
      setTimeout(() => response.writeHead(400, { 'content-type': 'application/json' }).end(refusal), 1000);
  });
  const asked = askedOf(server, new AbortController().signal, { total_timeout_ms: 1500 });
  await expect(asked).rejects.toMatchObject({ code: 'provider_timeout' });
  // With a time of its own the second would have 1500 ms.
  expect(performance.now() - starts[1]!).toBeLessThan(1200);
});
