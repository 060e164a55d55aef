import { describe, expect, test } from 'vitest';
import { messagesRoute } from '../../src/data/api/messages/messages.ts';
import { strictResponse } from '../../src/data/api/messages/messages-response-schema.ts';
import { type Answer, UpstreamError } from '../../src/data/upstream/port.ts';
import { assistant, body, text, tool, user } from './body.ts';
import { type CallOptions, send } from './call.ts';
import { hosted } from './hosted.ts';
import { manualClock } from './manual-clock.ts';
import { answer, ScriptedUpstream, usage } from './scripted-upstream.ts';

const versioned = { headers: { 'anthropic-version': '2023-06-01' } };
const routeTo = (upstream: ScriptedUpstream) =>
  messagesRoute({ models: hosted(upstream), clock: manualClock(), answerId: () => 'msg_1' });
const ask = async (given: Answer | Error | (() => Promise<Answer>), fields: object = {}, options: CallOptions = {}) =>
  send(routeTo(new ScriptedUpstream().answers(given)), body(fields), options);

const everything = answer({
  content: [
    { type: 'thinking', thinking: 'Hm.', signature: 'sig', extra: 1 } as never,
    { type: 'redacted_thinking', data: 'xyz' },
    { type: 'text', text: 'Hello.', extra: 1 } as never,
    { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Bern' }, extra: 1 } as never,
  ],
  stop_reason: 'tool_use',
  usage: usage({ extra: 1 } as never),
});

describe('the answer', () => {
  test('has the fields of the spec and no others', async () => {
    const { status, body: message } = await ask(everything);
    expect(status).toBe(200);
    expect(message).toStrictEqual({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
        { type: 'redacted_thinking', data: 'xyz' },
        { type: 'text', text: 'Hello.' },
        { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Bern' } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: {
        input_tokens: 7,
        output_tokens: 5,
        cache_creation_input_tokens: 2,
        cache_read_input_tokens: 3,
      },
    });
    expect(strictResponse.strict().parse(message)).toEqual(message);
  });

  test('has what SDK types require with anthropic-version', async () => {
    const { body: message } = await ask(everything, { context_management: {} }, versioned);
    expect(message).toStrictEqual({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
        { type: 'redacted_thinking', data: 'xyz' },
        { type: 'text', text: 'Hello.' },
        { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Bern' }, caller: { type: 'direct' } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: {
        input_tokens: 7,
        output_tokens: 5,
        cache_creation_input_tokens: 2,
        cache_read_input_tokens: 3,
        cache_creation: null,
        inference_geo: null,
        output_tokens_details: null,
        server_tool_use: null,
        service_tier: 'standard',
        speed: null,
      },
      container: null,
      stop_details: null,
      diagnostics: null,
      context_management: { applied_edits: [] },
    });
  });

  test('mentions context_management only to those who sent both it and anthropic-version', async () => {
    expect((await ask(answer(), {}, versioned)).body).not.toHaveProperty('context_management');
    expect((await ask(answer(), { context_management: {} })).body).not.toHaveProperty('context_management');
    expect((await ask(answer(), {}, versioned)).body.usage.inference_geo).toBeNull();
  });

  test('names the stop sequence exactly when it was the reason', async () => {
    const stopped = await ask(answer({ stop_reason: 'stop_sequence', stop_sequence: 'END' }));
    expect(stopped.body).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
    const odd = await ask(answer({ stop_reason: 'max_tokens', stop_sequence: 'END' }));
    expect(odd.body).toMatchObject({ stop_reason: 'max_tokens', stop_sequence: null });
  });
});

describe('the request to the upstream', () => {
  const asked = async (fields: object) => {
    const upstream = new ScriptedUpstream();
    expect((await send(routeTo(upstream), body(fields))).status).toBe(200);
    return JSON.parse(JSON.stringify(upstream.requests[0]));
  };

  test('has the upstream name of the model, and nothing that was not asked for', async () => {
    const nothing = {
      system: null,
      tools: [],
      tool_choice: null,
      thinking: null,
      metadata: {},
      output_config: {},
      stream: null,
    };
    expect(await asked({ ...nothing, zzz: null })).toEqual({
      model: 'up-m',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hello' }],
    });
  });

  test('passes on what was', async () => {
    const fields = {
      max_tokens: 5000,
      system: [text('Be brief.')],
      temperature: 0,
      top_p: 0.5,
      top_k: 3,
      stop_sequences: ['END'],
      output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
      metadata: { user_id: 'u', other: 'x' },
    };
    expect(await asked(fields)).toEqual({
      ...fields,
      model: 'up-m',
      messages: [{ role: 'user', content: 'Hello' }],
      metadata: { user_id: 'u' },
    });
  });

  test('fills in defaults', async () => {
    const tools = [tool('a', { description: null, cache_control: { type: 'ephemeral' } })];
    expect(await asked({ tools, tool_choice: { name: 'a' } })).toMatchObject({
      tools: [{ name: 'a', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral' } }],
      tool_choice: { type: 'tool', name: 'a' },
    });
    expect((await asked({ tools, tool_choice: { disable_parallel_tool_use: true } })).tool_choice).toEqual({
      type: 'auto',
      disable_parallel_tool_use: true,
    });
    const thinking = { budget_tokens: 5 };
    expect((await asked({ max_tokens: 2000, thinking })).thinking).toEqual({ type: 'enabled', budget_tokens: 1024 });
    expect((await asked({ thinking: { type: 'disabled', budget_tokens: 5 } })).thinking).toEqual({ type: 'disabled' });
  });

  test('has what is null anywhere left out', async () => {
    const format = { type: 'json_schema', schema: { type: 'object' } };
    const messages = [{ role: 'user', content: 'Hello', output_config: { effort: null }, zzz: null }];
    const fields = { messages, output_config: { format: { ...format, name: null }, zzz: null } };
    expect(await asked(fields)).toMatchObject({
      messages: [{ role: 'user', content: 'Hello' }],
      output_config: { format },
    });
    expect(JSON.stringify(await asked(fields))).not.toContain('null');
  });

  test('says how thinking is to be shown, and the effort from a message on', async () => {
    const messages = [user(text('a')), { role: 'system', content: 'b', output_config: { effort: 'low' } }];
    const fields = { messages, thinking: { type: 'adaptive', display: 'omitted' } };
    expect(await asked(fields)).toMatchObject(fields);
  });

  test('has neighbours of one role merged, and blocks whole', async () => {
    const marked = { ...text('b'), cache_control: { type: 'ephemeral' } };
    const messages = [user(text('a')), user(marked), assistant(text('c'))];
    expect((await asked({ messages })).messages).toEqual([user(text('a'), marked), assistant(text('c'))]);
  });
});

describe('a failing upstream', () => {
  const failed = async (error: Error) => {
    const { status, headers, body: wire } = await ask(error);
    return {
      status,
      pause: headers['Retry-After'],
      type: wire.error.type,
      code: wire.error.code,
      message: wire.error.message,
    };
  };

  test.each([
    ['provider_error', 502, 'api_error', undefined],
    ['provider_overloaded', 529, 'overloaded_error', '5'],
    ['provider_timeout', 504, 'timeout_error', undefined],
    ['context_length_exceeded', 422, 'invalid_request_error', undefined],
    ['content_refused', 403, 'permission_error', undefined],
    ['invalid_request', 400, 'invalid_request_error', undefined],
  ] as const)('%s is %i', async (code, status, type, pause) => {
    expect(await failed(new UpstreamError(code, 'Why.'))).toEqual({ status, pause, type, code, message: 'Why.' });
  });

  test('an upstream that says 400 of a context that is too long is told as that', async () => {
    const error = new UpstreamError('context_length_exceeded', 'Too long.', { status: 400 });
    expect(await failed(error)).toMatchObject({ status: 400, code: 'context_length_exceeded', message: 'Too long.' });
  });

  test.each([
    [0.2, '1'],
    [1, '1'],
    [29.5, '30'],
    [400, '30'],
  ])('a pause of %d s is told as %s', async (retryAfterSeconds, told) => {
    expect((await failed(new UpstreamError('provider_overloaded', 'x', { retryAfterSeconds }))).pause).toBe(told);
  });

  test('whose failure is a fault of ours is the server’s to answer', async () => {
    await expect(ask(new TypeError('oops'))).rejects.toThrow('oops');
  });

  test('that ends because the client left is no failure', async () => {
    const client = new AbortController();
    const waiting = ask(
      () => new Promise((_, reject) => client.signal.addEventListener('abort', () => reject(client.signal.reason))),
      {},
      { signal: client.signal },
    );
    await new Promise((resolve) => setImmediate(resolve));
    client.abort();
    expect((await waiting).status).toBe(499);
  });

  test('is not asked once the client has left', async () => {
    const client = new AbortController();
    const upstream = new ScriptedUpstream();
    const waiting = send(routeTo(upstream), body(), { signal: client.signal });
    client.abort();
    expect([(await waiting).status, upstream.requests]).toEqual([499, []]);
  });

  test('has the signal of the client and the id of the request', async () => {
    const client = new AbortController();
    const upstream = new ScriptedUpstream();
    await send(routeTo(upstream), body(), { signal: client.signal });
    expect(upstream.options).toMatchObject({ signal: client.signal, requestId: 'req_1' });
  });
});

test('the route is what the decisions say', () => {
  const route = routeTo(new ScriptedUpstream());
  expect(route).toMatchObject({
    method: 'POST',
    path: '/v1/messages',
    family: 'messages',
    access: { credential: 'project', permission: 'inference:create', apiKeyHeader: true },
    bodyLimit: 33_554_432,
  });
});
