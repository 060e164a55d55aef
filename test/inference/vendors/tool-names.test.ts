import { afterAll, beforeAll, expect, test } from 'vitest';
import { Canceller } from '../../../src/cancellation.ts';
import { namesBeside, ToolNames } from '../../../src/data/upstream/tool-names.ts';
import { event } from '../../upstream/mock.ts';
import { chunk, done } from '../../upstream/openai/mock.ts';
import { type Api, type Fields, vendors } from './stage.ts';

/** Servers of OpenAI's APIs take names of 64 characters, servers of messages and MCP of 128 (contract L.5). */

const namesIn = (body: Fields): readonly string[] => [
  ...(body.tools ?? []).map((tool: Fields) => tool.function?.name ?? tool.name),
  ...(body.messages ?? [])
    .flatMap(({ tool_calls: calls }: Fields) => calls ?? [])
    .map((call: Fields) => call.function.name),
  ...(Array.isArray(body.input) ? body.input : []).flatMap(({ type, name }: Fields) =>
    type === 'function_call' ? [name] : [],
  ),
];
const tooLong = (body: Fields): string | null => {
  const names = namesIn(body);
  if (names.some((name) => !/^[\w-]{1,64}$/.test(name))) return "Invalid 'tools[0].name': string too long.";
  return new Set((body.tools ?? []).map((tool: Fields) => JSON.stringify(tool))).size < body.tools?.length
    ? 'twice'
    : null;
};
let at: Awaited<ReturnType<typeof vendors>>;
beforeAll(async () => {
  at = await vendors({ chat: tooLong, responses: tooLong });
});
afterAll(() => at.close());

/** A request of each API with these tools, of which the first has been called and is chosen. */
const asks: Readonly<Record<Api, (names: readonly string[]) => Fields>> = {
  messages: (names) => ({
    tools: names.map((name) => ({ name, input_schema: { type: 'object' } })),
    tool_choice: { type: 'tool', name: names[0] },
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: names[0], input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'y' }] },
    ],
  }),
  chat: (names) => ({
    tools: names.map((name) => ({ type: 'function', function: { name } })),
    tool_choice: { type: 'function', function: { name: names[0] } },
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: names[0], arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'c', content: 'y', name: names[0] },
    ],
  }),
  responses: (names) => ({
    tools: names.map((name) => ({ type: 'function', name })),
    tool_choice: { type: 'function', name: names[0] },
    input: [
      { role: 'user', content: 'x' },
      { type: 'function_call', call_id: 'c', name: names[0], arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'y' },
    ],
  }),
};

/** An answer that calls these, whole and as a stream. */
const calls = {
  chat: {
    whole: (names: readonly string[]) => ({
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: null,
            tool_calls: names.map((name, at) => ({
              id: `call_${at}`,
              type: 'function',
              function: { name, arguments: '{}' },
            })),
          },
        },
      ],
    }),
    stream: (names: readonly string[]) =>
      [
        ...names.map((name, index) =>
          chunk({ tool_calls: [{ index, id: `call_${index}`, function: { name, arguments: '{}' } }] }),
        ),
        chunk({}, { finish_reason: 'tool_calls' }),
        done,
      ].join(''),
  },
  responses: {
    items: (names: readonly string[]) =>
      names.map((name, at) => ({
        type: 'function_call',
        id: `fc_${at}`,
        call_id: `call_${at}`,
        name,
        arguments: '{}',
      })),
    whole: (names: readonly string[]) => ({ output: calls.responses.items(names) }),
    stream: (names: readonly string[]) => {
      const output = calls.responses.items(names);
      const done = output.map((item, output_index) => event('response.output_item.done', { output_index, item }));
      return [...done, event('response.completed', { response: { status: 'completed', output } })].join('');
    },
  },
};

/** The names of calls in an answer or a stream. */
const calledIn = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(/"name":"([^"]*)"/g)].map(([, name]) => name!)),
];

const long = (end: string, length = 128): string => `mcp__${'n'.repeat(length - 5 - end.length)}${end}`;

const cases = (['messages', 'chat', 'responses'] as const).flatMap((api) =>
  (['chat', 'responses'] as const).map((model) => [api, model] as const),
);

test.each(cases)('%s: an agent with long names goes on with a model of %s', async (api, model) => {
  const names = [long('a'), long('b'), long('c', 65), long('d', 64), 'short'];
  const first = await at.ask(api, model, asks[api](names));
  expect(first.status).toBe(200);
  const declared = (first.sent!.tools as Fields[]).map((tool) => (tool.function?.name ?? tool.name) as string);
  expect(declared.slice(3)).toEqual(names.slice(3));
  expect(new Set(declared).size).toBe(names.length);
  expect(new Set(namesIn(first.sent!).slice(names.length))).toEqual(new Set([declared[0]]));
  const { tool_choice: choice } = first.sent!;
  expect(choice.function?.name ?? choice.name).toBe(declared[0]);

  at.says(calls[model].whole(declared));
  const whole = await at.ask(api, model, asks[api](names));
  expect(whole.sent).toEqual(first.sent);
  expect(calledIn(JSON.stringify(whole.answer.content ?? whole.answer.choices ?? whole.answer.output))).toEqual(names);
  at.says(calls[model].stream(declared));
  const streamed = await at.ask(api, model, { ...asks[api](names), stream: true });
  expect(new Set(calledIn(streamed.text))).toEqual(new Set(names));
  at.says({});

  // The next turn may have other tools in another order.
  const later = await at.ask(api, model, asks[api]([names[1]!, 'other', names[0]!]));
  const again = (later.sent!.tools as Fields[]).map((tool) => tool.function?.name ?? tool.name);
  expect(again).toEqual([declared[1], 'other', declared[0]]);
});

test('a call of a tool that is no longer declared has its short name, which is read back', async () => {
  const asked = {
    ...asks.messages([long('a')]),
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
    tool_choice: null,
  };
  const { sent } = await at.ask('messages', 'chat', asked);
  const [, short] = namesIn(sent!);
  expect(short).toMatch(/^[\w-]{64}$/);
  at.says(calls.chat.whole([short!]));
  expect((await at.ask('messages', 'chat', asked)).answer.content[0].name).toBe(long('a'));
  at.says({});
});

test('a name that another tool has is given to no other', async () => {
  const short = new ToolNames([]).of(long('a'));
  const names = new ToolNames([{ name: long('a') }, { name: short }]);
  const other = names.of(long('a'));
  expect(other).not.toBe(short);
  expect(other).toMatch(/^[\w-]{64}$/);
  expect(names.of(short)).toBe(short);
  expect(names.own).toEqual(new Map([[other, long('a')]]));
  const { sent } = await at.ask('messages', 'responses', asks.messages([long('a'), short]));
  expect(namesIn(sent!).slice(0, 2)).toEqual([other, short]);
  expect(namesBeside(new Set())('f', ['f'])).toBe('f');
});

test('servers of messages and simulated models get the names as they are', async () => {
  const { sent } = await at.ask('chat', 'messages', asks.chat([long('a')]));
  expect(sent!.tools[0].name).toBe(long('a'));
  expect(sent!.messages[1].content[0].name).toBe(long('a'));
  const { answer } = await at.ask('messages', 'simulated', {
    ...asks.messages([long('a')]),
    messages: [{ role: 'user', content: 'x' }],
  });
  expect(answer.content.at(-1).name).toBe(long('a'));
});

test('a request that a thread has written has its names beside it', async () => {
  const upstream = at.models.get('chat')!.upstream;
  const request = { model: 'theirs', max_tokens: 9, messages: [{ role: 'user' as const, content: 'x' }] };
  const tools = [{ name: long('a'), input_schema: { type: 'object' } }];
  const [written] = upstream.written!({ ...request, tools }, 'answer');
  const { body, toolNames } = structuredClone(written) as { body: Uint8Array; toolNames: ReadonlyMap<string, string> };
  const [short] = namesIn(JSON.parse(Buffer.from(body).toString()));
  expect(toolNames).toEqual(new Map([[short, long('a')]]));
  at.says(calls.chat.whole([short!]));
  const options = { signal: new Canceller(), requestId: 'req_1' };
  const answer = await upstream.answer({ model: 'theirs', written: [{ body, toolNames }] }, options);
  expect(answer.content).toMatchObject([{ name: long('a') }]);
  const [plain] = upstream.written!({ ...request, tools: [{ name: 'f', input_schema: { type: 'object' } }] }, 'answer');
  expect(plain).toEqual({ body: expect.anything(), toolNames: undefined });
  at.says({});
});
