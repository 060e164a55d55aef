import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { chatRoute } from '../../../src/data/api/chat/chat.ts';
import { strictCompletion } from '../../../src/data/api/chat/chat-response-schema.ts';
import { newId } from '../../../src/ids.ts';
import { key, sdkStage } from '../sdk-stage.ts';

/** Chat completions with the official package, both majors, over a socket. */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let stage: Awaited<ReturnType<typeof sdkStage>>;
beforeAll(async () => {
  const answerId = () => newId('msg', systemClock).replace('msg_', 'chatcmpl-');
  stage = await sdkStage((models) => [chatRoute({ models, clock: systemClock, answerId })]);
});
afterAll(() => stage.close());

const question = {
  model: 'weir-sim-1',
  max_completion_tokens: 2000,
  messages: [
    { role: 'system' as const, content: 'Be brief.' },
    { role: 'user' as const, content: 'Hello there' },
  ],
};
const weather = {
  type: 'function' as const,
  function: {
    name: 'weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

// The majors differ in types that these tests do not touch.
const majors = { '7': OpenAI, '6': OpenAI6 as unknown as typeof OpenAI };

describe.each(Object.entries(majors))('openai %s', (_, Client) => {
  const client = (apiKey = key) => new Client({ baseURL: `${stage.baseURL}/v1`, apiKey, maxRetries: 0 });

  test('create', async () => {
    const answer = await client().chat.completions.create(question);
    expect(strictCompletion.parse(answer)).toMatchObject({ model: 'weir-sim-1', object: 'chat.completion' });
    const [choice] = answer.choices;
    expect(choice!.message.content).toContain('Hello there');
    expect(choice!.finish_reason).toBe('stop');
    const { usage } = answer;
    expect(usage!.total_tokens).toBe(usage!.prompt_tokens + usage!.completion_tokens);
    expect(usage!.completion_tokens).toBeGreaterThan(0);
    expect(Math.abs(answer.created - Date.now() / 1000)).toBeLessThan(60);
  });

  test('a stream says what the whole answer says, and its usage where it was asked for', async () => {
    const whole = await client().chat.completions.create(question);
    const stream = await client().chat.completions.create({
      ...question,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    const reasons: unknown[] = [];
    const usages: unknown[] = [];
    const ids = new Set<string>();
    for await (const chunk of stream) {
      ids.add(chunk.id);
      text += chunk.choices[0]?.delta.content ?? '';
      if (chunk.choices[0]?.finish_reason) reasons.push(chunk.choices[0].finish_reason);
      if ('usage' in chunk) usages.push(chunk.usage);
      if (chunk.choices.length === 0) expect(chunk.usage).toEqual(whole.usage);
    }
    expect(text).toBe(whole.choices[0]!.message.content);
    expect(reasons).toEqual(['stop']);
    expect(usages).toEqual([whole.usage]);
    expect(ids.size).toBe(1);
  });

  test('a stream has no usage that nobody asked for', async () => {
    const stream = await client().chat.completions.create({ ...question, stream: true });
    for await (const chunk of stream) expect('usage' in chunk).toBe(false);
  });

  test('.stream() puts the chunks together', async () => {
    const runner = client().chat.completions.stream(question);
    const final = await runner.finalChatCompletion();
    expect(final.choices[0]!.message.content).toContain('Hello there');
  });

  test('.runTools() runs the function and ends with an answer', async () => {
    let asked: unknown;
    const runner = client().chat.completions.runTools({
      ...question,
      // The simulated model calls the tools that it is told of.
      messages: [{ role: 'user', content: 'How is the weather?' }],
      tools: [
        {
          type: 'function',
          function: {
            ...weather.function,
            parse: JSON.parse,
            function: (args: { city: string }) => {
              asked = args;
              return 'sunny';
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toContain('sunny');
    expect(typeof (asked as { city: string }).city).toBe('string');
  });

  test('a tool call is streamed as one that is whole', async () => {
    const asking = { ...question, tools: [weather], tool_choice: 'required' as const };
    const whole = await client().chat.completions.create(asking);
    expect(whole.choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
    const [call] = whole.choices[0]!.message.tool_calls!;
    const streamed = await client().chat.completions.stream(asking).finalChatCompletion();
    const [again] = streamed.choices[0]!.message.tool_calls!;
    expect(again).toMatchObject({
      type: 'function',
      function: { name: 'weather', arguments: (call as { function: { arguments: string } }).function.arguments },
    });
  });

  test('a structured answer fits its schema', async () => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string' } },
      required: ['name'],
      additionalProperties: false,
    };
    const answer = await client().chat.completions.create({
      ...question,
      response_format: { type: 'json_schema', json_schema: { name: 'person', schema, strict: true } },
    });
    expect(JSON.parse(answer.choices[0]!.message.content!)).toEqual({ name: expect.any(String) });
    const loose = await client().chat.completions.create({ ...question, response_format: { type: 'json_object' } });
    expect(typeof JSON.parse(loose.choices[0]!.message.content!)).toBe('object');
  });

  test('max_tokens ends an answer', async () => {
    const { choices, usage } = await client().chat.completions.create({
      model: 'weir-sim-1',
      max_tokens: 3,
      messages: question.messages,
    });
    expect(choices[0]!.finish_reason).toBe('length');
    expect(usage!.completion_tokens).toBe(3);
  });

  test('an image of a data URL reaches the model', async () => {
    const url = 'data:image/png;base64,iVBORw0KGgo=';
    const content = [
      { type: 'text' as const, text: 'What is this?' },
      { type: 'image_url' as const, image_url: { url } },
    ];
    const answer = await client().chat.completions.create({ ...question, messages: [{ role: 'user', content }] });
    expect(answer.usage!.prompt_tokens).toBeGreaterThan(1600);
  });

  test('errors are those of the package', async () => {
    await expect(client('wrong').chat.completions.create(question)).rejects.toMatchObject({
      status: 401,
      code: 'invalid_api_key',
      type: 'authentication_error',
    });
    await expect(client().chat.completions.create({ ...question, model: 'none' })).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
      param: 'model',
    });
    await expect(client().chat.completions.create({ ...question, n: 2 })).rejects.toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      param: 'n',
      type: 'invalid_request_error',
    });
  });

  test('a stream that is aborted ends at once', async () => {
    const stream = await client().chat.completions.create({
      ...question,
      model: 'slow',
      max_completion_tokens: 20_000,
      stream: true,
    });
    let chunks = 0;
    for await (const _chunk of stream) if (++chunks === 3) stream.controller.abort();
    // What has come by then may still be read.
    expect(chunks).toBeLessThan(1000);
  });
});
