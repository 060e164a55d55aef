import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fields, vendors } from './stage.ts';

/** Servers of chat completions take results of tools as text, directly behind the calls (contract G.1). */

const misplaced = ({ messages }: Fields): string | null => {
  let open: readonly string[] = [];
  for (const { role, content, tool_calls: calls, tool_call_id: id } of messages) {
    if (role === 'tool') {
      if (typeof content !== 'string') return 'Invalid content of a tool.';
      if (!open.includes(id)) return 'A tool must follow tool_calls.';
      open = open.filter((each) => each !== id);
    } else if (open.length > 0) return `tool_calls must be followed by tool messages: ${open}`;
    else if (calls !== undefined) open = calls.map((call: Fields) => call.id);
  }
  return open.length === 0 ? null : 'tool_calls without tool messages';
};
let at: Awaited<ReturnType<typeof vendors>>;
beforeAll(async () => {
  at = await vendors({ chat: misplaced });
});
afterAll(() => at.close());

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const url = `data:image/png;base64,${png}`;
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } };
const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQ=' } };
const tools = [{ name: 'Read', input_schema: { type: 'object' } }];
const calls = (...ids: readonly string[]) => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'tool_use', id, name: 'Read', input: {} })),
});
const result = (id: string, content: unknown, more: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
});
const from = (label: string, ...parts: readonly object[]) => [
  { type: 'text', text: `Of the result of the call ${label}:` },
  ...parts,
];
const picture = { type: 'image_url', image_url: { url } };
const paper = {
  type: 'file',
  file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQ=' },
};

test('an agent of messages: several results, and what the user says', async () => {
  const { status, sent } = await at.ask('messages', 'chat', {
    tools,
    messages: [
      { role: 'user', content: 'x' },
      calls('a', 'b', 'c'),
      {
        role: 'user',
        content: [
          result('a', [{ type: 'text', text: 'of a' }, image]),
          result('b', [image, pdf], { is_error: true }),
          result('c', 'plain'),
          { type: 'text', text: 'and' },
        ],
      },
      { role: 'assistant', content: 'seen' },
      { role: 'user', content: 'more' },
    ],
  });
  expect(status).toBe(200);
  expect(sent!.messages.slice(2)).toEqual([
    { role: 'tool', tool_call_id: 'a', content: 'of a' },
    { role: 'tool', tool_call_id: 'b', content: 'Error: See the next message.' },
    { role: 'tool', tool_call_id: 'c', content: 'plain' },
    { role: 'user', content: [...from('a', picture), ...from('b', picture, paper), { type: 'text', text: 'and' }] },
    { role: 'assistant', content: 'seen' },
    { role: 'user', content: 'more' },
  ]);
});

test('a turn in several messages: all results come first', async () => {
  const { status, sent } = await at.ask('messages', 'chat', {
    tools,
    messages: [
      { role: 'user', content: 'x' },
      calls('a', 'b'),
      { role: 'system', content: 'A note.' },
      { role: 'user', content: [result('a', [image])] },
      { role: 'user', content: [result('b', [])], output_config: { effort: 'low' } },
    ],
  });
  expect(status).toBe(200);
  expect(sent!.messages.slice(2)).toEqual([
    { role: 'tool', tool_call_id: 'a', content: 'See the next message.' },
    { role: 'tool', tool_call_id: 'b', content: '' },
    { role: 'system', content: 'A note.' },
    { role: 'user', content: from('a', picture) },
  ]);
});

test('Codex: view_image', async () => {
  const { status, sent } = await at.ask('responses', 'chat', {
    tools: [{ type: 'function', name: 'view_image', parameters: { type: 'object', properties: {} } }],
    input: [
      { role: 'user', content: 'x' },
      { type: 'function_call', call_id: 'a', name: 'view_image', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_image', image_url: url }] },
    ],
  });
  expect(status).toBe(200);
  expect(sent!.messages.slice(2)).toEqual([
    { role: 'tool', tool_call_id: 'a', content: 'See the next message.' },
    { role: 'user', content: from('a', picture) },
  ]);
});

test('what a tool has found is named', async () => {
  const long = `mcp__${'n'.repeat(90)}`;
  const asked = {
    tools: [...tools, { name: long, input_schema: { type: 'object' }, defer_loading: true }],
    messages: [
      { role: 'user', content: 'x' },
      calls('a'),
      {
        role: 'user',
        content: [
          result(
            'a',
            ['Read', long].map((tool_name) => ({ type: 'tool_reference', tool_name })),
          ),
        ],
      },
    ],
  };
  const chat = await at.ask('messages', 'chat', asked);
  const short = chat.sent!.tools[1].function.name;
  expect(short).toHaveLength(64);
  expect(chat.sent!.messages.slice(2)).toEqual([{ role: 'tool', tool_call_id: 'a', content: `Read\n${short}` }]);
  const { sent } = await at.ask('messages', 'responses', asked);
  expect(sent!.input.at(-1).output).toEqual(['Read', short].map((text) => ({ type: 'input_text', text })));
  expect((await at.ask('messages', 'messages', asked)).sent!.messages).toEqual(asked.messages);
  expect((await at.ask('messages', 'simulated', asked)).status).toBe(200);
  const nameless = {
    ...asked,
    messages: [...asked.messages.slice(0, 2), { role: 'user', content: [result('a', [{ type: 'tool_reference' }])] }],
  };
  expect((await at.ask('messages', 'chat', nameless)).status).toBe(422);
});
