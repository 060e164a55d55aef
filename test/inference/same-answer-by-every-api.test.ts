// Lane: middle: it runs at length
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { wholeGateway } from '../support/whole-gateway.ts';

/**
 * One conversation over three APIs and four kinds of upstream: a simulated model, and the same model of another gateway, asked
 * in messages, in chat completions and in responses alone, also by lists of them. All say the same, whole and streamed, and have used the same.
 */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

interface Running {
  readonly at: Awaited<ReturnType<typeof wholeGateway>>;
  readonly server: HttpServer;
  readonly key: string;
}
const running: Running[] = [];
let messages: Anthropic;
let openai: OpenAI;

const start = async (options: Parameters<typeof wholeGateway>[0] = {}): Promise<Running> => {
  const at = await wholeGateway(options);
  const { projectKey } = await at.make.tenant();
  const each = { at, server: await at.listen(), key: projectKey.value };
  running.push(each);
  return each;
};

const simulated = 'weir-sim-thinking-1';
const models = [
  simulated,
  'by-messages',
  'by-chat',
  'by-both',
  'by-chat-strictly',
  'by-responses',
  'by-responses-strictly',
  'by-either',
  'by-any',
  'by-the-other',
];

beforeAll(async () => {
  const far = await start();
  const base_url = `http://127.0.0.1:${far.server.port}`;
  const entry = (id: string, kind: string, over: object = {}) => ({
    id,
    context_length: 1_000_000,
    max_output_length: 128_000,
    input_modalities: ['text', 'image'],
    upstream: { kind, base_url, api_key_env: 'KEY', private_network: true, model: simulated },
    ...over,
  });
  const ofResponses = { ...entry('', 'openai').upstream, apis: ['responses'] };
  const declared = [
    entry('by-messages', 'anthropic'),
    entry('by-chat', 'openai'),
    entry('by-both', 'openai', { upstream: { ...entry('', 'openai').upstream, apis: ['chat', 'responses'] } }),
    entry('by-chat-strictly', 'openai', { passthrough: false }),
    entry('by-responses', 'openai', { upstream: ofResponses }),
    entry('by-responses-strictly', 'openai', { upstream: ofResponses, passthrough: false }),
    entry('by-any', '', {
      upstream: undefined,
      upstreams: [entry('', 'openai').upstream, ofResponses, entry('', 'anthropic').upstream],
    }),
    entry('by-either', '', {
      upstream: undefined,
      upstreams: [entry('', 'openai').upstream, entry('', 'anthropic').upstream],
    }),
    entry('by-the-other', '', {
      upstream: undefined,
      upstreams: [
        { ...entry('', 'openai').upstream, base_url: 'http://127.0.0.1:1' },
        { ...entry('', 'anthropic').upstream, priority: 1 },
      ],
    }),
  ];
  const remote = connect(loadModels(JSON.stringify({ models: declared }), { KEY: far.key }), { clock: systemClock });
  const own = connect(loadModels(null, {}), { clock: systemClock });
  const near = await start({ models: new Map([...own, ...remote]) });
  const baseURL = `http://127.0.0.1:${near.server.port}`;
  messages = new Anthropic({ apiKey: null, authToken: near.key, baseURL, maxRetries: 0 });
  openai = new OpenAI({ apiKey: near.key, baseURL: `${baseURL}/v1`, maxRetries: 0 });
});
afterAll(async () => {
  for (const { at, server } of running.reverse()) {
    await server.drain(0);
    await at.close();
  }
});

/** What is compared. */
interface Said {
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
  readonly input: number;
  readonly output: number;
  readonly cut: boolean;
}

/** A conversation, as each API asks for it. */
interface Case {
  readonly messages: Omit<Anthropic.MessageCreateParamsNonStreaming, 'model'>;
  readonly chat: Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model' | 'stream'>;
  readonly responses: Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'model' | 'stream'>;
}

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;
/** As servers of messages want it. */
const closed = { ...schema, additionalProperties: false };
const declared = { name: 'weather', description: 'The weather of a city' };
const tools = {
  messages: [{ ...declared, input_schema: { ...schema, required: ['city'] } }],
  chat: [{ type: 'function' as const, function: { ...declared, parameters: schema } }],
  responses: [{ type: 'function' as const, ...declared, parameters: schema, strict: null }],
};
const question = 'Where does the weir begin? água 😀';
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const url = `data:image/png;base64,${png}`;

const cases: Readonly<Record<string, Case>> = {
  'a question': {
    messages: { max_tokens: 2000, messages: [{ role: 'user', content: question }] },
    chat: { max_completion_tokens: 2000, messages: [{ role: 'user', content: question }] },
    responses: { max_output_tokens: 2000, input: question },
  },
  'several turns and a system prompt': {
    messages: {
      max_tokens: 900,
      system: 'Be brief.',
      messages: [
        { role: 'user', content: question },
        { role: 'assistant', content: 'At the bend.' },
        {
          role: 'user',
          content: [{ type: 'text', text: 'And then?' }],
        },
      ],
    },
    chat: {
      max_tokens: 900,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: question },
        { role: 'assistant', content: 'At the bend.' },
        {
          role: 'user',
          content: [{ type: 'text', text: 'And then?' }],
        },
      ],
    },
    responses: {
      max_output_tokens: 900,
      instructions: 'Be brief.',
      input: [
        { role: 'user', content: question },
        { role: 'assistant', content: 'At the bend.' },
        {
          role: 'user',
          content: [{ type: 'input_text', text: 'And then?' }],
        },
      ],
    },
  },
  'few tokens': {
    messages: { max_tokens: 16, messages: [{ role: 'user', content: question }] },
    chat: { max_completion_tokens: 16, messages: [{ role: 'user', content: question }] },
    responses: { max_output_tokens: 16, input: question },
  },
  'a tool': {
    messages: {
      max_tokens: 900,
      messages: [{ role: 'user', content: 'Rain?' }],
      tools: tools.messages,
      tool_choice: { type: 'tool', name: 'weather' },
    },
    chat: {
      max_completion_tokens: 900,
      messages: [{ role: 'user', content: 'Rain?' }],
      tools: tools.chat,
      tool_choice: { type: 'function', function: { name: 'weather' } },
    },
    responses: {
      max_output_tokens: 900,
      input: 'Rain?',
      tools: tools.responses,
      tool_choice: { type: 'function', name: 'weather' },
    },
  },
  'the result of a tool': {
    messages: {
      max_tokens: 900,
      tools: tools.messages,
      messages: [
        { role: 'user', content: 'Rain?' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Let me see.' },
            { type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Porto' } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'água 😀' }] },
      ],
    },
    chat: {
      max_completion_tokens: 900,
      tools: tools.chat,
      messages: [
        { role: 'user', content: 'Rain?' },
        {
          role: 'assistant',
          content: 'Let me see.',
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Porto"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'água 😀' },
      ],
    },
    responses: {
      max_output_tokens: 900,
      tools: tools.responses,
      input: [
        { role: 'user', content: 'Rain?' },
        { role: 'assistant', content: 'Let me see.' },
        { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Porto"}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'água 😀' },
      ],
    },
  },
  'an image': {
    messages: {
      max_tokens: 900,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
          ],
        },
      ],
    },
    chat: {
      max_completion_tokens: 900,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
    },
    responses: {
      max_output_tokens: 900,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Look' },
            { type: 'input_image', image_url: url, detail: 'auto' },
          ],
        },
      ],
    },
  },
  'a schema': {
    messages: {
      max_tokens: 900,
      messages: [{ role: 'user', content: 'Where?' }],
      output_config: { format: { type: 'json_schema', schema: { ...closed } } },
    },
    chat: {
      max_completion_tokens: 900,
      messages: [{ role: 'user', content: 'Where?' }],
      response_format: { type: 'json_schema', json_schema: { name: 'where', schema: closed } },
    },
    responses: {
      max_output_tokens: 900,
      input: 'Where?',
      text: { format: { type: 'json_schema', name: 'where', schema: closed } },
    },
  },
  'an effort': {
    messages: {
      max_tokens: 2000,
      messages: [{ role: 'user', content: question }],
      thinking: { type: 'adaptive' },
      output_config: { effort: 'low' },
    },
    chat: {
      max_completion_tokens: 2000,
      messages: [{ role: 'user', content: question }],
      reasoning_effort: 'low',
    },
    responses: { max_output_tokens: 2000, input: question, reasoning: { effort: 'low' } },
  },
};

const ofMessage = ({ content, usage, stop_reason }: Anthropic.Message): Said => ({
  text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
  calls: content.flatMap((block) =>
    block.type === 'tool_use' ? [{ id: block.id, name: block.name, input: block.input }] : [],
  ),
  input: usage.input_tokens,
  output: usage.output_tokens,
  cut: stop_reason === 'max_tokens',
});

const ofCompletion = ({ choices, usage }: OpenAI.ChatCompletion): Said => ({
  text: choices[0]!.message.content ?? '',
  calls: (choices[0]!.message.tool_calls ?? []).flatMap((call) =>
    call.type === 'function'
      ? [{ id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) }]
      : [],
  ),
  input: usage!.prompt_tokens,
  output: usage!.completion_tokens,
  cut: choices[0]!.finish_reason === 'length',
});

const ofResponse = ({ output, usage, status }: OpenAI.Responses.Response): Said => ({
  text: output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join(''),
  calls: output.flatMap((item) =>
    item.type === 'function_call' ? [{ id: item.call_id, name: item.name, input: JSON.parse(item.arguments) }] : [],
  ),
  input: usage!.input_tokens,
  output: usage!.output_tokens,
  cut: status === 'incomplete',
});

const ways: Readonly<Record<string, (model: string, asked: Case) => Promise<Said>>> = {
  messages: async (model, asked) => ofMessage(await messages.messages.create({ ...asked.messages, model })),
  'messages, streamed': async (model, asked) =>
    ofMessage(await messages.messages.stream({ ...asked.messages, model }).finalMessage()),
  chat: async (model, asked) => ofCompletion(await openai.chat.completions.create({ ...asked.chat, model })),
  'chat, streamed': async (model, asked) => {
    const options = { stream_options: { include_usage: true } };
    return ofCompletion(
      await openai.chat.completions.stream({ ...asked.chat, ...options, model }).finalChatCompletion(),
    );
  },
  responses: async (model, asked) => ofResponse(await openai.responses.create({ ...asked.responses, model })),
  'responses, streamed': async (model, asked) =>
    ofResponse(await openai.responses.stream({ ...asked.responses, model }).finalResponse()),
};

describe.each(Object.entries(cases))('%s', (_, asked) => {
  test('is answered alike, whichever way it goes', async () => {
    const expected = await ways.messages!(simulated, asked);
    expect(expected.text.length + expected.calls.length).toBeGreaterThan(0);
    expect(expected.output).toBeGreaterThan(0);
    for (const [way, ask] of Object.entries(ways)) {
      for (const model of models) expect([way, model, await ask(model, asked)]).toEqual([way, model, expected]);
    }
  });
});
