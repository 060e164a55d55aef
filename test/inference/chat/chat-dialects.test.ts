import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { passingStage } from '../passing-stage.ts';

/** Servers of chat completions as they are, behind the gateway: what the official SDKs of all three APIs read in the end. */

let stage: Awaited<ReturnType<typeof passingStage>>;
let messages: Anthropic;
let openai: OpenAI;
beforeAll(async () => {
  stage = await passingStage('sk-theirs', (remote) => [
    { id: 'strict', passthrough: false, upstream: { kind: 'openai', ...remote } },
    { id: 'passing', upstream: { kind: 'openai', apis: ['chat', 'responses'], ...remote } },
  ]);
  const [baseURL, key] = [`http://127.0.0.1:${stage.port}`, stage.mine.projectKey.value];
  messages = new Anthropic({ apiKey: null, authToken: key, baseURL, maxRetries: 0 });
  openai = new OpenAI({ apiKey: key, baseURL: `${baseURL}/v1`, maxRetries: 0 });
});
afterAll(() => stage.close());

const event = (choices: unknown, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'theirs', choices, ...more })}\n\n`;
const delta = (said: object, finish_reason: unknown = null): string =>
  event([{ index: 0, delta: { role: 'assistant', ...said }, finish_reason }]);
const call = (more: object, made: object) => ({ tool_calls: [{ index: 0, ...more, function: made }] });

/** The upstream sends these bytes, without a media type. */
const sends = (body: string): void => {
  stage.upstream.respond = (response) => void response.end(body);
};

interface Read {
  readonly text: string;
  readonly calls: readonly (readonly [id: string, name: string, input: unknown])[];
}
const messagesUser = [{ role: 'user' as const, content: 'Hello' }];

const ofMessage = ({ content }: Anthropic.Message): Read => ({
  text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
  calls: content.flatMap((block) => (block.type === 'tool_use' ? [[block.id, block.name, block.input] as const] : [])),
});
const ofCompletion = ({ choices }: OpenAI.ChatCompletion): Read => ({
  text: choices[0]!.message.content ?? '',
  calls: (choices[0]!.message.tool_calls ?? []).flatMap((made) =>
    made.type === 'function' ? [[made.id, made.function.name, JSON.parse(made.function.arguments)] as const] : [],
  ),
});
const ofResponse = ({ output }: OpenAI.Responses.Response): Read => ({
  text: output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join(''),
  calls: output.flatMap((item) =>
    item.type === 'function_call' ? [[item.call_id, item.name, JSON.parse(item.arguments)] as const] : [],
  ),
});

const clients = {
  messages: {
    whole: async () =>
      ofMessage(await messages.messages.create({ model: 'strict', max_tokens: 99, messages: messagesUser })),
    streamed: async () =>
      ofMessage(
        await messages.messages.stream({ model: 'strict', max_tokens: 99, messages: messagesUser }).finalMessage(),
      ),
  },
  chat: {
    whole: async () => ofCompletion(await openai.chat.completions.create({ model: 'strict', messages: messagesUser })),
    streamed: async () =>
      ofCompletion(
        await openai.chat.completions.stream({ model: 'strict', messages: messagesUser }).finalChatCompletion(),
      ),
  },
  responses: {
    whole: async () => ofResponse(await openai.responses.create({ model: 'strict', input: 'Hello' })),
    streamed: async () => {
      let last: OpenAI.Responses.Response | undefined;
      for await (const each of await openai.responses.create({ model: 'strict', input: 'Hello', stream: true }))
        if (each.type === 'response.completed') last = each.response;
      return ofResponse(last!);
    },
  },
};

const input = { cmd: 'ls' };
const text = JSON.stringify(input);
const read = { text: 'Hi', calls: [['call_1', 'bash', input]] };
const none = { text: 'Hi', calls: [['call_1', 'bash', {}]] };
const end = `${delta({}, 'tool_calls')}data: [DONE] \n\n`;
const empty = `${event(null)}data: null\n\ndata:\n\n${event([], { error: {} })}${event(undefined, { error: '' })}`;
const hi = delta({ content: 'Hi' }, '');

describe.each(Object.entries(clients))('a client of %s', (_, { whole, streamed }) => {
  test.each<[string, string, Read | object]>([
    [
      'events that say nothing',
      empty + hi + empty + delta(call({ id: 'call_1' }, { name: 'bash', arguments: text }), '') + empty + end,
      read,
    ],
    [
      'a name in pieces',
      hi +
        delta(call({ id: 'call_1' }, { name: 'ba' })) +
        delta(call({}, { name: 'sh', arguments: '' })) +
        delta(call({}, { arguments: text })) +
        end,
      read,
    ],
    [
      'an id and then a name',
      hi +
        delta(call({ id: 'call_1' }, {})) +
        delta(call({}, { name: 'bash' })) +
        delta(call({}, { arguments: text })) +
        end,
      read,
    ],
    [
      'a name and then an id',
      hi + delta(call({}, { name: 'bash' })) + delta(call({ id: 'call_1' }, { arguments: text })) + end,
      read,
    ],
    [
      'no index',
      hi +
        delta(call({ id: 'call_1', index: undefined }, { name: 'bash' })) +
        delta(call({ index: undefined }, { arguments: text })) +
        end,
      read,
    ],
    ['arguments as an object', hi + delta(call({ id: 'call_1' }, { name: 'bash', arguments: input })) + end, read],
    ['arguments "null"', hi + delta(call({ id: 'call_1' }, { name: 'bash', arguments: 'null' })) + end, none],
    ['arguments null', hi + delta(call({ id: 'call_1' }, { name: 'bash', arguments: null })) + end, none],
  ])('streamed: %s', async (_, body, expected) => {
    sends(body);
    expect(await streamed()).toEqual(expected);
  });

  test.each<[unknown, Read | object]>([
    [text, read],
    [input, read],
    ['null', none],
    [null, none],
  ])('in one piece: arguments %j', async (said, expected) => {
    const tool_calls = [{ id: 'call_1', type: 'function', function: { name: 'bash', arguments: said } }];
    const choices = [
      { index: 0, message: { role: 'assistant', content: 'Hi', tool_calls }, finish_reason: 'tool_calls' },
    ];
    sends(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'theirs', choices }));
    expect(await whole()).toEqual(expected);
  });

  test.each(['', 'data: [DONE]\n\n'])('a stream that breaks off before %j is an error', async (rest) => {
    sends(hi + delta({ content: '!' }, '') + rest);
    await expect(streamed()).rejects.toThrow();
  });
});

describe('a passing model', () => {
  const ask = (more: object = {}) =>
    stage.post('/v1/chat/completions', { model: 'passing', messages: messagesUser, stream: true, ...more });
  const choice = (index: number, finish_reason: string | null) =>
    event([{ index, delta: { content: 'x' }, finish_reason }]);

  test('passes over what says nothing', async () => {
    sends(`${empty + hi + empty + delta({}, 'stop') + empty}data: [DONE] \n\n`);
    const { status, text: told } = await ask();
    expect(status).toBe(200);
    expect(told).not.toMatch(/^data: *(null)?$/m);
    expect(told.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(told).not.toContain('provider_error');
  });

  test('says its whole answer without a media type', async () => {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
    sends(JSON.stringify({ id: 'c', model: 'theirs', choices }));
    const { status, text: told } = await ask({ stream: false });
    expect([status, JSON.parse(told).choices]).toEqual([200, choices]);
  });

  test('ends each of its choices', async () => {
    const begun = choice(0, null) + choice(1, null);
    for (const cut of [begun + choice(0, 'stop'), choice(0, 'stop'), begun + choice(1, 'stop') + choice(0, '')]) {
      sends(cut);
      const { text: told } = await ask({ n: 2 });
      expect(told).toContain('"code":"provider_error"');
      expect(told).not.toContain('[DONE]');
    }
    sends(begun + choice(1, 'stop') + choice(0, 'length'));
    const { text: told } = await ask({ n: 2 });
    expect(told).not.toContain('provider_error');
  });
});

test.each(['strict', 'passing'])(
  'a prompt that is too long is told at the member of the client, model %s',
  async (model) => {
    stage.upstream.respond = (response) =>
      void response
        .writeHead(400, { 'content-type': 'application/json' })
        .end('{"error":{"message":"maximum context length is 8","type":"BadRequestError","code":400}}');
    const asked = [
      ['/v1/responses', { input: 'Hello' }, 'input'],
      ['/v1/chat/completions', { messages: messagesUser }, 'messages'],
    ] as const;
    for (const [path, body, param] of asked) {
      for (const stream of [false, true]) {
        const { text: told } = await stage.post(path, { model, stream, ...body });
        expect(JSON.parse(told).error).toMatchObject({ code: 'context_length_exceeded', param });
      }
    }
  },
);
