import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import OpenAI6 from 'openai-6';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../src/clock.ts';
import { strictResponse } from '../../../src/data/api/responses/response-schema.ts';
import { responsesRoute } from '../../../src/data/api/responses/responses.ts';
import { newId } from '../../../src/ids.ts';
import { key, sdkStage } from '../sdk-stage.ts';

/** Responses with the official package, both majors, over a socket. */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const simulated = (id: string, upstream: object = {}, fields: object = {}) => ({
  id,
  context_length: 100_000,
  max_output_length: 64_000,
  input_modalities: ['text', 'image', 'file'],
  supported_features: ['tools', 'structured_outputs', 'reasoning'],
  ...fields,
  upstream: { kind: 'simulated', ...upstream },
});
let stage: Awaited<ReturnType<typeof sdkStage>>;
beforeAll(async () => {
  const answerId = () => newId('msg', systemClock).replace('msg_', 'resp_');
  const models = [
    simulated('m'),
    simulated('thinker', { thinking_tokens: 40 }),
    simulated('slow', { output_tokens: 20_000, token_ms: 10 }),
  ];
  stage = await sdkStage((served) => [responsesRoute({ models: served, clock: systemClock, answerId })], models);
});
afterAll(() => stage.close());

const question = { model: 'm', max_output_tokens: 2000, instructions: 'Be brief.', input: 'Hello there' };
const weather = {
  type: 'function' as const,
  name: 'weather',
  description: 'The weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: false,
};

// The majors differ in types that these tests do not touch.
const majors = { '7': OpenAI, '6': OpenAI6 as unknown as typeof OpenAI };

describe.each(Object.entries(majors))('openai %s', (_, Client) => {
  const client = (apiKey = key) => new Client({ baseURL: `${stage.baseURL}/v1`, apiKey, maxRetries: 0 });

  test('create', async () => {
    const { output_text, ...answer } = await client().responses.create(question);
    expect(strictResponse.parse(answer)).toMatchObject({
      model: 'm',
      status: 'completed',
      store: false,
      instructions: 'Be brief.',
      max_output_tokens: 2000,
    });
    expect(output_text).toContain('Hello there');
    expect(Math.abs(answer.created_at - Date.now() / 1000)).toBeLessThan(60);
    const { usage } = answer;
    expect(usage!.total_tokens).toBe(usage!.input_tokens + usage!.output_tokens);
  });

  test('a stream says what the whole answer says', async () => {
    const whole = await client().responses.create(question);
    let text = '';
    let numbers = 0;
    let last: unknown;
    for await (const event of await client().responses.create({ ...question, stream: true })) {
      expect(event.sequence_number).toBe(numbers);
      numbers += 1;
      if (event.type === 'response.output_text.delta') text += event.delta;
      last = event;
    }
    expect(text).toBe(whole.output_text);
    expect(last).toMatchObject({ type: 'response.completed', response: { usage: whole.usage } });
  });

  test('.stream() puts the events together, reasoning too', async () => {
    const asking = { ...question, model: 'thinker', reasoning: { effort: 'high' as const } };
    const whole = await client().responses.create(asking);
    const { id, created_at, completed_at, ...streamed } = await client().responses.stream(asking).finalResponse();
    const without = (output: readonly object[]) => output.map((item) => ({ ...item, id: null }));
    expect(without(streamed.output as object[])).toMatchObject(without(whole.output));
    expect(streamed.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
    expect(streamed.output[0]).toMatchObject({ summary: [], content: [{ type: 'reasoning_text' }] });
  });

  test('.stream() tells a summary of what was thought to those who ask for one', async () => {
    const asking = { ...question, model: 'thinker', reasoning: { summary: 'auto' as const } };
    let told = '';
    const runner = client().responses.stream(asking);
    runner.on('response.reasoning_summary_text.delta', ({ delta }) => {
      told += delta;
    });
    const { output } = await runner.finalResponse();
    expect(output[0]).toMatchObject({ content: [], summary: [{ type: 'summary_text', text: told }] });
    expect(told).toContain('Hello there');
  });

  test('a tool is called, and its result answered', async () => {
    // The simulated model calls the tools that it is told of.
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: 'How is the weather?' }];
    const asking = { ...question, model: 'thinker', reasoning: { effort: 'low' as const }, tools: [weather] };
    for (const streamed of [false, true]) {
      const first = streamed
        ? await client()
            .responses.stream({ ...asking, input })
            .finalResponse()
        : await client().responses.create({ ...asking, input });
      const [thought, call] = first.output as [
        OpenAI.Responses.ResponseReasoningItem,
        OpenAI.Responses.ResponseFunctionToolCall,
      ];
      expect(thought.type).toBe('reasoning');
      expect(typeof JSON.parse(call.arguments).city).toBe('string');
      const result = { type: 'function_call_output' as const, call_id: call.call_id, output: 'sunny' };
      const { output_text } = await client().responses.create({
        ...asking,
        input: [...input, ...(first.output as typeof input), result],
      });
      expect(output_text).toContain('sunny');
    }
  });

  test('a structured answer fits its schema', async () => {
    const Person = z.object({ name: z.string(), age: z.number().int() });
    const format = zodTextFormat(Person, 'person');
    const { output_parsed, output } = await client().responses.parse({ ...question, text: { format } });
    expect(Person.parse(output_parsed)).toEqual(output_parsed);
    // What the SDK has put in may go back.
    const again = [{ role: 'user', content: 'Who?' }, ...output, { role: 'user', content: 'And then?' }];
    const { status } = await client().responses.create({ ...question, input: again as never });
    expect(status).toBe('completed');
    const loose = await client().responses.create({ ...question, text: { format: { type: 'json_object' } } });
    expect(typeof JSON.parse(loose.output_text)).toBe('object');
  });

  test('a maximum ends an answer', async () => {
    const asking = { ...question, max_output_tokens: 3 };
    for (const answer of [
      await client().responses.create(asking),
      await client().responses.stream(asking).finalResponse(),
    ]) {
      expect(answer).toMatchObject({
        status: 'incomplete',
        completed_at: null,
        incomplete_details: { reason: 'max_output_tokens' },
        output: [{ status: 'incomplete' }],
        usage: { output_tokens: 3 },
      });
    }
  });

  test('images and documents reach the model', async () => {
    const { usage } = await client().responses.create({
      ...question,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is this?' },
            { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' },
            { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
          ],
        },
      ],
    });
    expect(usage!.input_tokens).toBeGreaterThan(3200);
  });

  test('errors are those of the package', async () => {
    await expect(client('wrong').responses.create(question)).rejects.toMatchObject({
      status: 401,
      code: 'invalid_api_key',
      type: 'authentication_error',
    });
    await expect(client().responses.create({ ...question, model: 'none' })).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
      param: 'model',
    });
    await expect(client().responses.create({ ...question, previous_response_id: 'resp_1' })).rejects.toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      param: 'previous_response_id',
      type: 'invalid_request_error',
    });
  });

  test('a stream that is aborted ends at once', async () => {
    const stream = await client().responses.create({
      ...question,
      model: 'slow',
      max_output_tokens: 20_000,
      stream: true,
    });
    let events = 0;
    for await (const _event of stream) if (++events === 6) stream.controller.abort();
    // What has come by then may still be read.
    expect(events).toBeLessThan(1000);
  });
});
