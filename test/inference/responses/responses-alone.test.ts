import type { ServerResponse } from 'node:http';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  call,
  event,
  message,
  reasoning,
  response,
  said,
  streamOf,
  summary,
} from '../../upstream/openai/responses-mock.ts';
import { passingStage, says } from '../passing-stage.ts';

/** Official SDKs with a model whose server answers on responses alone, keeps nothing, and thinks: two turns, with tools. */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

type Fields = Readonly<Record<string, unknown>>;
type Stage = Awaited<ReturnType<typeof passingStage>>;

let stage: Stage;
let messages: Anthropic;
let openai: OpenAI;
/** What the server was asked. */
let seen: Fields[];
beforeAll(async () => {
  stage = await passingStage('sk-canary-a1', (remote) => {
    const upstream = { kind: 'openai', ...remote, apis: ['responses'] };
    return [
      { id: 'alone', upstream },
      { id: 'strict', passthrough: false, upstream },
      { id: 'thoughtless', supported_features: ['tools'], upstream },
      {
        id: 'mixed',
        upstreams: [
          { ...upstream, apis: ['chat'], base_url: 'http://127.0.0.1:1' },
          { ...upstream, priority: 1 },
        ],
      },
    ];
  });
  const baseURL = `http://127.0.0.1:${stage.port}`;
  const key = stage.mine.projectKey.value;
  messages = new Anthropic({ apiKey: null, authToken: key, baseURL, maxRetries: 0 });
  openai = new OpenAI({ apiKey: key, baseURL: `${baseURL}/v1`, maxRetries: 0 });
});
afterAll(() => stage.close());
beforeEach(() => {
  seen = [];
  stage.upstream.respond = answer;
});

const thought = reasoning({ ...summary('Two cities.'), encrypted_content: 'gAAA+/x==' });
const calls = [
  thought,
  message(said('Let me see.')),
  call('call_1', 'weather', '{"city":"Porto"}'),
  call('call_2', 'weather', '{"city":"Faro"}'),
];
const last = [reasoning({ id: 'rs_02', encrypted_content: 'gBBB' }), message(said('Rain in Porto, sun in Faro.'))];

/** Calls two tools at once, then says what they have told. */
const answer = (out: ServerResponse): void => {
  const asked = JSON.parse(stage.upstream.received!.text) as Fields;
  expect(stage.upstream.received!.url).toBe('/v1/responses');
  seen.push(asked);
  const isAnswered = (asked.input as Fields[]).some?.(({ type }) => type === 'function_call_output');
  const output = isAnswered ? last : calls;
  if (asked.stream === true) says(streamOf(output).join(''), 'text/event-stream')(out);
  else says(response(output))(out);
};

const question = 'The weather in Porto and in Faro?';
const parameters = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };
const results: Readonly<Record<string, string>> = { call_1: 'rain', call_2: 'sun' };
/** The conversation as the server sees it on the second turn; chat completions do not have what was thought. */
const second = (isThought: boolean) => [
  { role: 'user', content: question },
  ...(isThought ? [thought] : []),
  { role: 'assistant', content: 'Let me see.' },
  { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Porto"}' },
  { type: 'function_call', call_id: 'call_2', name: 'weather', arguments: '{"city":"Faro"}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'rain' },
  { type: 'function_call_output', call_id: 'call_2', output: 'sun' },
];
const tool = { type: 'function', name: 'weather', description: 'd', parameters, strict: false };
const expectAsked = (isThought: boolean): void => {
  expect(seen).toHaveLength(2);
  for (const asked of seen)
    expect(asked).toMatchObject({
      model: 'theirs',
      store: false,
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'low' },
      tools: [tool],
    });
  expect(seen[1]!.input).toEqual(second(isThought));
};

describe.each([false, true])('streamed: %s', (streamed) => {
  test.each(['alone', 'strict', 'mixed'])('a client of messages, the model %s', async (model) => {
    const asking = {
      model,
      max_tokens: 900,
      thinking: { type: 'adaptive' as const },
      output_config: { effort: 'low' as const },
      tools: [{ name: 'weather', description: 'd', input_schema: parameters }],
    };
    const ask = (turns: Anthropic.MessageParam[]) =>
      streamed
        ? messages.messages.stream({ ...asking, messages: turns }).finalMessage()
        : messages.messages.create({ ...asking, messages: turns });
    const turns: Anthropic.MessageParam[] = [{ role: 'user', content: question }];
    const first = await ask(turns);
    expect(first).toMatchObject({ model, stop_reason: 'tool_use', usage: { input_tokens: 24, output_tokens: 57 } });
    expect(first.content).toMatchObject([
      { type: 'thinking', thinking: 'Two cities.', signature: expect.stringMatching(/./) },
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', id: 'call_1', input: { city: 'Porto' } },
      { type: 'tool_use', id: 'call_2', input: { city: 'Faro' } },
    ]);
    const told = first.content.flatMap((block) =>
      block.type === 'tool_use'
        ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: results[block.id]! }]
        : [],
    );
    const end = await ask([...turns, { role: 'assistant', content: first.content }, { role: 'user', content: told }]);
    expect(end.stop_reason).toBe('end_turn');
    expect(end.content.at(-1)).toMatchObject({ type: 'text', text: 'Rain in Porto, sun in Faro.' });
    expectAsked(true);
  });

  test.each(['alone', 'strict', 'mixed'])('a client of chat completions, the model %s', async (model) => {
    const asking = {
      model,
      reasoning_effort: 'low' as const,
      tools: [{ type: 'function' as const, function: { name: 'weather', description: 'd', parameters } }],
    };
    const ask = (turns: OpenAI.ChatCompletionMessageParam[]) =>
      streamed
        ? openai.chat.completions.stream({ ...asking, messages: turns }).finalChatCompletion()
        : openai.chat.completions.create({ ...asking, messages: turns });
    const turns: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }];
    const [choice] = (await ask(turns)).choices;
    expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { content: 'Let me see.' } });
    const told = choice!.message.tool_calls!.map(({ id }) => ({
      role: 'tool' as const,
      tool_call_id: id,
      content: results[id]!,
    }));
    const end = await ask([...turns, choice!.message, ...told]);
    expect(end.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: 'Rain in Porto, sun in Faro.' },
    });
    expectAsked(false);
  });

  test.each(['strict', 'mixed'])('a client of responses, the model %s', async (model) => {
    const asking = {
      model,
      reasoning: { effort: 'low' as const, summary: 'auto' as const },
      tools: [{ ...tool, type: 'function' as const }],
    };
    const ask = (input: OpenAI.Responses.ResponseInputItem[]) =>
      streamed
        ? openai.responses.stream({ ...asking, input }).finalResponse()
        : openai.responses.create({ ...asking, input });
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: question }];
    const first = await ask(input);
    expect(first.output).toMatchObject([
      { type: 'reasoning', ...summary('Two cities.') },
      { type: 'message' },
      { type: 'function_call', call_id: 'call_1' },
      { type: 'function_call', call_id: 'call_2' },
    ]);
    const told = first.output.flatMap((item) =>
      item.type === 'function_call'
        ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: results[item.call_id]! }]
        : [],
    );
    const end = await ask([...input, ...(first.output as typeof input), ...told]);
    expect(end.output_text).toBe('Rain in Porto, sun in Faro.');
    expectAsked(true);
  });

  test('a client of responses passes', async () => {
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: question }];
    const include = ['reasoning.encrypted_content' as const];
    const asking = { model: 'alone', include, tools: [{ ...tool, type: 'function' as const }], input };
    const first = streamed
      ? await openai.responses.stream(asking).finalResponse()
      : await openai.responses.create(asking);
    expect(first.output).toMatchObject(calls);
    expect(seen[0]).toMatchObject({ ...asking, model: 'theirs', store: false });
  });

  test('a model that is not declared to reason is not asked for reasoning', async () => {
    const asking = { model: 'thoughtless', max_tokens: 50, messages: [{ role: 'user' as const, content: 'x' }] };
    if (streamed) await messages.messages.stream(asking).finalMessage();
    else await messages.messages.create(asking);
    expect(seen[0]).not.toHaveProperty('include');
    expect(seen[0]).not.toHaveProperty('reasoning');
  });

  test('a failure is an error of the client’s API', async () => {
    const error = { code: 'server_is_overloaded', message: 'The words of the provider.' };
    const failed = response([], { status: 'failed', error });
    stage.upstream.respond = streamed
      ? says(event('response.failed', { response: failed }), 'text/event-stream')
      : says(failed);
    const asked = { model: 'alone', max_tokens: 50, messages: [{ role: 'user', content: 'x' }], stream: streamed };
    const told = await stage.post('/v1/messages', asked);
    expect([told.status, told.headers.get('retry-after')]).toEqual([529, '5']);
    expect(told.text).not.toContain('words of the provider');
    expect((await stage.post('/v1/chat/completions', asked)).status).toBe(503);
  });
});

test('what responses have no place for is refused by its name, before anything is sent', async () => {
  const asked = { model: 'alone', max_tokens: 50, messages: [{ role: 'user', content: 'x' }] };
  for (const [fields, param] of [
    [{ stop_sequences: ['END'] }, 'stop_sequences'],
    [{ top_k: 3 }, 'top_k'],
    [{ thinking: { type: 'enabled', budget_tokens: 20 }, max_tokens: 2000 }, 'thinking.budget_tokens'],
  ] as const) {
    const { status, text } = await stage.post('/v1/messages', { ...asked, ...fields });
    expect([status, JSON.parse(text).error]).toMatchObject([422, { code: 'unsupported_parameter', param }]);
  }
  const prefilled = [...asked.messages, { role: 'assistant', content: 'y' }];
  const { status, text } = await stage.post('/v1/messages', { ...asked, messages: prefilled });
  expect([status, JSON.parse(text).error.param]).toEqual([422, 'messages.1.role']);
  const stopped = await stage.post('/v1/chat/completions', { ...asked, stop: 'END' });
  expect([stopped.status, JSON.parse(stopped.text).error.param]).toEqual([400, 'stop']);
  expect(seen).toEqual([]);
});

test('input is counted by estimate', async () => {
  const asked = { model: 'alone', messages: [{ role: 'user', content: 'Hello there' }] };
  const { status, text } = await stage.post('/v1/messages/count_tokens', asked);
  expect([status, JSON.parse(text)]).toEqual([200, { input_tokens: 12 }]);
  expect(seen).toEqual([]);
});
