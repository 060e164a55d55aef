import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from 'anthropic-sdk-0';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { messagesRoute } from '../../src/data/api/messages/messages.ts';
import { modelsRoutes } from '../../src/data/api/models/models.ts';
import { newId } from '../../src/ids.ts';
import { key, sdkStage } from './sdk-stage.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 30_000 });

let stage: Awaited<ReturnType<typeof sdkStage>>;
beforeAll(async () => {
  stage = await sdkStage((models) => [
    messagesRoute({ models, clock: systemClock, answerId: () => newId('msg', systemClock) }),
    ...modelsRoutes({ models: () => models.list, ownedBy: 'weir', hasCredit: () => false }),
  ]);
});
afterAll(() => stage.close());

const question = {
  model: 'weir-sim-1',
  max_tokens: 2000,
  messages: [{ role: 'user' as const, content: 'Hello there' }],
};
const weather = {
  name: 'weather',
  description: 'The weather of a city',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
};

const until = async (holds: () => boolean) => {
  for (let waited = 0; !holds(); waited += 10) {
    if (waited > 1000) throw new Error('it did not come to pass within a second');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

// The majors differ in types that these tests do not touch.
const majors = { '1.x': Anthropic, '0.x': Anthropic0 as unknown as typeof Anthropic };

describe.each(Object.entries(majors))('@anthropic-ai/sdk %s', (_, Client) => {
  const client = (apiKey = key) => new Client({ baseURL: stage.baseURL, apiKey, maxRetries: 0 });

  test('messages.create', async () => {
    const message = await client().messages.create(question);
    expect(message).toMatchObject({ type: 'message', role: 'assistant', model: 'weir-sim-1', stop_reason: 'end_turn' });
    expect(message.id).toMatch(/^msg_[0-9a-z]{26}$/);
    expect(message._request_id).toMatch(/^req_[0-9a-z]{26}$/);
    expect(message.content[0]).toMatchObject({ type: 'text', text: expect.stringMatching(/./) });
    expect(message.usage).toMatchObject({ output_tokens: expect.any(Number), service_tier: 'standard' });
    expect(message.usage.input_tokens).toBeGreaterThan(0);
  });

  test('messages.create with stream: true', async () => {
    const names: string[] = [];
    for await (const event of await client().messages.create({ ...question, stream: true })) names.push(event.type);
    expect(names[0]).toBe('message_start');
    expect(names.at(-1)).toBe('message_stop');
    expect(names.filter((name) => name === 'content_block_delta').length).toBeGreaterThan(5);
  });

  test('messages.stream: text and finalMessage', async () => {
    const whole = await client().messages.create(question);
    let words = '';
    const stream = client()
      .messages.stream(question)
      .on('text', (delta) => {
        words += delta;
      });
    const message = await stream.finalMessage();
    // The SDK adds a field of its own to each.
    const own = { id: '', parsed_output: null, _request_id: undefined };
    expect({ ...message, ...own }).toEqual({ ...whole, ...own });
    expect([{ type: 'text', text: words }]).toEqual(whole.content);
  });

  test('a round with a tool', async () => {
    const tools = { tools: [weather], tool_choice: { type: 'tool' as const, name: 'weather' } };
    const asked = await client().messages.create({ ...question, ...tools });
    expect(asked.stop_reason).toBe('tool_use');
    const call = asked.content.find((block) => block.type === 'tool_use')!;
    expect(call).toMatchObject({ name: 'weather', caller: { type: 'direct' }, input: { city: expect.any(String) } });
    const streamed = await client()
      .messages.stream({ ...question, ...tools })
      .finalMessage();
    expect(streamed.content.find((block) => block.type === 'tool_use')).toMatchObject({ input: call.input });
    const final = await client().messages.create({
      ...question,
      tools: [weather],
      messages: [
        ...question.messages,
        { role: 'assistant', content: asked.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'Sunny' }] },
      ],
    });
    expect(final.stop_reason).toBe('end_turn');
  });

  test('thinking', async () => {
    const request = {
      ...question,
      model: 'weir-sim-thinking-1',
      thinking: { type: 'enabled' as const, budget_tokens: 1024 },
    };
    const message = await client().messages.create(request);
    expect(message.content.map(({ type }) => type)).toEqual(['thinking', 'text']);
    const streamed = await client().messages.stream(request).finalMessage();
    expect(streamed.content).toEqual(message.content);
    // What was thought goes back as it came.
    const messages = [
      ...question.messages,
      { role: 'assistant' as const, content: message.content },
      ...question.messages,
    ];
    expect((await client().messages.create({ ...request, messages })).role).toBe('assistant');
  });

  test('structured output', async () => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string' }, n: { type: 'integer' } },
      required: ['name', 'n'],
      additionalProperties: false,
    };
    const message = await client().messages.create({
      ...question,
      output_config: { format: { type: 'json_schema', schema } },
    });
    const [block] = message.content;
    expect(JSON.parse(block?.type === 'text' ? block.text : '')).toEqual({
      name: expect.any(String),
      n: expect.any(Number),
    });
  });

  test('an aborted stream ends on the server too', async () => {
    const stream = client().messages.stream({ ...question, model: 'slow', max_tokens: 20_000 });
    await new Promise((resolve) => stream.once('text', resolve));
    expect(stage.server.inFlight).toBe(1);
    stream.abort();
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(Client.APIUserAbortError);
    await until(() => stage.server.inFlight === 0);
  });

  test('an aborted request without a stream ends on the server too', async () => {
    const leaving = new AbortController();
    const request = { ...question, model: 'slow', max_tokens: 20_000 };
    const asked = client().messages.create(request, { signal: leaving.signal });
    asked.catch(() => undefined);
    await until(() => stage.server.inFlight === 1);
    leaving.abort();
    await expect(asked).rejects.toBeInstanceOf(Client.APIUserAbortError);
    await until(() => stage.server.inFlight === 0);
  });

  test('models.list', async () => {
    const ids: string[] = [];
    for await (const model of client().models.list()) {
      ids.push(model.id);
      expect(model).toMatchObject({ type: 'model', created_at: expect.stringMatching(/Z$/), lifecycle: 'active' });
    }
    expect(ids).toEqual(['weir-sim-1', 'weir-sim-thinking-1', 'slow']);
  });

  test('errors have their classes', async () => {
    const bad = client().messages.create({ ...question, max_tokens: 0 });
    await expect(bad).rejects.toBeInstanceOf(Client.UnprocessableEntityError);
    await expect(bad).rejects.toMatchObject({
      status: 422,
      requestID: expect.stringMatching(/^req_/),
      error: { error: { type: 'invalid_request_error', code: 'validation_failed', param: 'max_tokens' } },
    });
    const unknown = client().messages.create({ ...question, model: 'none' });
    await expect(unknown).rejects.toBeInstanceOf(Client.NotFoundError);
    const stranger = client('gwp_other').messages.create(question);
    await expect(stranger).rejects.toBeInstanceOf(Client.AuthenticationError);
    const streamed = client()
      .messages.stream({ ...question, model: 'none' })
      .finalMessage();
    await expect(streamed).rejects.toBeInstanceOf(Client.NotFoundError);
  });
});

test('without anthropic-version only the fields of the spec are sent', async () => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const ask = (body: object) =>
    fetch(`${stage.baseURL}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(body) });
  const message = await (await ask(question)).json();
  expect(Object.keys(message as object)).toEqual(
    'id type role model content stop_reason stop_sequence usage'.split(' '),
  );
  const streamed = await ask({ ...question, stream: true });
  expect(Object.fromEntries(streamed.headers)).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    'request-id': expect.stringMatching(/^req_/),
  });
  const events = await streamed.text();
  expect(events.startsWith('event: message_start\ndata: {')).toBe(true);
  expect(events.endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')).toBe(true);
});
