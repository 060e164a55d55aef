import { describe, expect, test } from 'vitest';
import type { TextApi } from '../../src/apis.ts';
import { streamedText } from '../../src/rules/text/answer-stream.ts';
import { answerText } from '../../src/rules/text/answer-text.ts';
import { readField } from '../../src/rules/text/fields.ts';
import { responseOf, scoreIn } from './rule.ts';

/** Places in answers where a text could slip past a rule of the response direction: each is seen, whole and streamed. */

const rule =
  'response.text.contains("nightfall") || response.tool_calls.exists(c, c.arguments.contains("nightfall") || c.name == "nightfall")';
/** Judged in both copies, as policies are. */
const isSeen = (answer: ReturnType<typeof answerText>): boolean => {
  const view = responseOf(answer);
  return [view, view.folded].some((copy) => scoreIn(rule, copy, 'response') === 10_000);
};
const whole = (endpoint: TextApi, body: object | string) =>
  answerText(endpoint, typeof body === 'string' ? body : JSON.stringify(body));
const frame = (event: object | string): string =>
  typeof event === 'string' ? event : `data: ${JSON.stringify(event)}\n\n`;
const streamed = (endpoint: TextApi, events: readonly (object | string)[]) => {
  const collected = streamedText(endpoint);
  for (const event of events) collected.add(frame(event));
  return collected.text();
};

const choice = (fields: object) => ({ id: 'chatcmpl-1', model: 'm', choices: [{ index: 0, ...fields }] });
const said = (message: object) =>
  choice({ message: { role: 'assistant', content: null, ...message }, finish_reason: 'stop' });
const item = (...output: readonly object[]) => ({ id: 'resp_1', object: 'response', status: 'completed', output });
const block = (...content: readonly object[]) => ({ id: 'msg_1', role: 'assistant', content, stop_reason: 'end_turn' });

const wholeAnswers: Readonly<Record<TextApi, Readonly<Record<string, object | string>>>> = {
  'chat.completions': {
    text: said({ content: 'nightfall' }),
    'text in parts': said({
      content: [
        { type: 'text', text: 'night' },
        { type: 'text', text: 'fall' },
      ],
    }),
    'a part that is a text': said({ content: ['nightfall'] }),
    'a refusal': said({ refusal: 'nightfall' }),
    'the arguments of a call': said({
      tool_calls: [{ type: 'function', function: { name: 'f', arguments: '{"a":"night\\u0066all"}' } }],
    }),
    'the name of a call': said({
      tool_calls: [{ type: 'function', function: { name: 'nightfall', arguments: '{}' } }],
    }),
    'arguments that are no text': said({
      tool_calls: [{ type: 'function', function: { name: 'f', arguments: { a: 'nightfall' } } }],
    }),
    'the name of a call in full-width letters': said({
      tool_calls: [{ type: 'function', function: { name: 'ｎｉｇｈｔｆａｌｌ', arguments: '{}' } }],
    }),
    'a custom call': said({ tool_calls: [{ type: 'custom', custom: { name: 't', input: 'nightfall' } }] }),
    'a call of a type to come': said({ tool_calls: [{ type: 'new', new: { words: 'nightfall' } }] }),
    'a call in the old form': said({ function_call: { name: 'f', arguments: 'nightfall' } }),
    'what is spoken': said({ audio: { id: 'a', transcript: 'nightfall' } }),
    reasoning: said({ reasoning_content: 'nightfall' }),
    sources: said({ annotations: [{ type: 'url_citation', url_citation: { title: 'nightfall' } }] }),
    'a second choice': { choices: [said({}).choices[0], { index: 1, message: { content: 'nightfall' } }] },
    'a text completion': choice({ text: 'nightfall' }),
    'a choice that is a text': { choices: ['nightfall'] },
    'a message that is a text': choice({ message: 'nightfall' }),
    'log probabilities': choice({ message: {}, logprobs: { content: [{ token: 'nightfall' }] } }),
    'a reason to stop': choice({ message: {}, finish_reason: 'nightfall' }),
    'a member beside the choices': { ...said({}), note: ['nightfall'] },
    'a member that comes twice': '{"choices":[{"message":{"content":"nightfall","content":"Hi"}}]}',
    'an answer that is no object': '["nightfall"]',
  },
  responses: {
    text: item({ type: 'message', content: [{ type: 'output_text', text: 'nightfall' }] }),
    'text over two parts': item({
      type: 'message',
      content: [
        { type: 'output_text', text: 'night' },
        { type: 'output_text', text: 'fall' },
      ],
    }),
    'a refusal': item({ type: 'message', content: [{ type: 'refusal', refusal: 'nightfall' }] }),
    'a source': item({
      type: 'message',
      content: [{ type: 'output_text', text: '', annotations: [{ type: 'file_citation', filename: 'nightfall' }] }],
    }),
    'the arguments of a call': item({ type: 'function_call', name: 'f', arguments: '{"a":"nightfall"}' }),
    'the input of a custom tool': item({ type: 'custom_tool_call', name: 't', input: 'nightfall' }),
    'the output of a tool of a server': item({ type: 'mcp_call', name: 't', arguments: '{}', output: 'nightfall' }),
    'the action of a tool of the provider': item({ type: 'web_search_call', action: { query: 'nightfall' } }),
    'code that was run': item({ type: 'code_interpreter_call', code: 'nightfall', outputs: [] }),
    'the summary of reasoning': item({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'nightfall' }] }),
    'reasoning that is called encrypted': item({ type: 'reasoning', summary: [], encrypted_content: 'nightfall' }),
    'an item that nobody knows': item({ type: 'new_item', words: ['nightfall'] }),
    'why it is not complete': { ...item(), status: 'incomplete', incomplete_details: { reason: 'nightfall' } },
    'an error': { ...item(), status: 'failed', error: { message: 'nightfall' } },
    'a member of its own': { ...item(), output_text: 'nightfall' },
  },
  messages: {
    text: block({ type: 'text', text: 'night' }, { type: 'text', text: 'fall' }),
    thinking: block({ type: 'thinking', thinking: 'nightfall', signature: '' }),
    'a source': block({ type: 'text', text: '', citations: [{ cited_text: 'nightfall' }] }),
    'the input of a tool': block({ type: 'tool_use', id: 't', name: 'f', input: { a: 'nightfall' } }),
    'a member of a call': block({ type: 'tool_use', id: 't', name: 'f', input: {}, caller: { note: 'nightfall' } }),
    'the input of a tool of the provider': block({
      type: 'server_tool_use',
      id: 't',
      name: 'f',
      input: { a: 'nightfall' },
    }),
    'the result of a tool of the provider': block({
      type: 'web_search_tool_result',
      content: [{ title: 'nightfall' }],
    }),
    'a block that nobody knows': block({ type: 'new', words: 'nightfall' }),
    'a sequence that stopped it': { ...block(), stop_sequence: 'nightfall' },
    'a member of its own': { ...block(), container: { id: 'nightfall' } },
  },
};

const chunk = (delta: object, more: object = {}) => choice({ delta, ...more });
const completed = {
  type: 'response.completed',
  response: item({ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }),
};
const piece = (delta: string, type = 'response.output_text.delta', more: object = {}) => ({
  ...{ type, item_id: 'msg_0123456789abcdef', output_index: 0, content_index: 0, delta },
  ...more,
});
const start = (content_block: object) => ({ type: 'content_block_start', index: 0, content_block });
const delta = (of: object) => ({ type: 'content_block_delta', index: 0, delta: of });

const streams: Readonly<Record<TextApi, Readonly<Record<string, readonly (object | string)[]>>>> = {
  'chat.completions': {
    text: [chunk({ role: 'assistant', content: 'night' }), chunk({ role: 'assistant', content: 'fall' })],
    'text in parts': [
      chunk({ content: [{ type: 'text', text: 'night' }] }),
      chunk({ content: [{ type: 'text', text: 'fall' }] }),
    ],
    'text first as a text and then in parts': [
      chunk({ content: 'night' }),
      chunk({ content: [{ type: 'text', text: 'fall' }] }),
    ],
    'a refusal': [chunk({ refusal: 'night' }), chunk({ refusal: 'fall' })],
    'the arguments of a call': [
      chunk({ tool_calls: [{ index: 0, function: { name: 'f', arguments: '{"a":"night' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: 'fall"}' } }] }),
    ],
    'the arguments of a call without a number': [
      chunk({ tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{"a":"night' } }] }),
      chunk({ tool_calls: [{ function: { arguments: 'fall"}' } }] }),
    ],
    'the arguments of calls that only their ids tell apart': [
      chunk({ tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{"a":"night' } }] }),
      chunk({ tool_calls: [{ id: 'b', function: { name: 'g', arguments: '{' } }] }),
      chunk({ tool_calls: [{ id: 'a', function: { arguments: 'fall"}' } }] }),
      chunk({ tool_calls: [{ id: 'b', function: { arguments: '}' } }] }),
    ],
    'the name of one of two calls with one number': [
      chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] }),
      chunk({ tool_calls: [{ index: 0, id: 'b', function: { name: 'nightfall', arguments: '{}' } }] }),
    ],
    'the input of a custom call': [
      chunk({ tool_calls: [{ index: 0, type: 'custom', custom: { name: 't', input: 'night' } }] }),
      chunk({ tool_calls: [{ index: 0, custom: { input: 'fall' } }] }),
    ],
    'calls without a number': [
      chunk({ tool_calls: [{ function: { name: 'a', arguments: '{}' } }] }),
      chunk({ tool_calls: [{ function: { name: 'b', arguments: '{"a":"nightfall"}' } }] }),
    ],
    'a call in the old form': [
      chunk({ function_call: { name: 'f', arguments: 'night' } }),
      chunk({ function_call: { arguments: 'fall' } }),
    ],
    'what is spoken': [chunk({ audio: { transcript: 'night' } }), chunk({ audio: { transcript: 'fall' } })],
    reasoning: [chunk({ reasoning_content: 'night' }), chunk({ reasoning_content: 'fall' })],
    'a member that nobody knows': [chunk({ new: { deep: ['night'] } }), chunk({ new: { deep: ['nightfall'] } })],
    'a whole message': [choice({ message: { content: 'nightfall' } })],
    'a text completion': [choice({ text: 'night' }), choice({ text: 'fall' })],
    'a delta that is a text': [choice({ delta: 'nightfall' })],
    'a second choice': [
      { choices: [{ index: 1, delta: { content: 'night' } }] },
      { choices: [{ index: 1, delta: { content: 'fall' } }] },
    ],
    'a member beside the choices': [{ ...chunk({}), note: 'nightfall' }],
    'usage that another takes the place of': [
      { choices: [], usage: { note: 'nightfall' } },
      { choices: [], usage: { note: 'day' } },
    ],
    'when it was made': [{ ...chunk({ content: 'Hi' }), created: 'nightfall' }],
    'a member that comes twice': ['data: {"choices":[{"index":0,"delta":{"content":"nightfall","content":"Hi"}}]}\n\n'],
    'a member that comes twice, between data that is no JSON': [
      'data: "\n\ndata: {",":"nightfall",",":2}\n\ndata: "\n\n',
    ],
    'an event that is no object': ['data: ["nightfall"]\n\n'],
    'a comment': [': nightfall\n\n', chunk({ content: 'Hi' })],
  },
  responses: {
    text: [piece('night'), piece('fall'), completed],
    'text before it fails': [piece('night'), piece('fall'), { type: 'response.failed', response: item() }],
    'text before it is cut off': [piece('night'), piece('fall'), { type: 'response.incomplete', response: item() }],
    'text before it is broken off': [piece('night'), piece('fall')],
    'text that is otherwise when it is done': [
      piece('night'),
      piece('fall'),
      { type: 'response.output_text.done', text: 'Hi' },
      completed,
    ],
    'text that is otherwise only when it is done': [
      piece('Hi'),
      { type: 'response.output_text.done', text: 'nightfall' },
      completed,
    ],
    'a part that is done': [
      { type: 'response.content_part.done', part: { type: 'output_text', text: 'nightfall' } },
      completed,
    ],
    'an item that is done': [
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { type: 'message', content: [{ type: 'output_text', text: 'nightfall' }] },
      },
      completed,
    ],
    'an item that is replaced': [
      { type: 'response.output_item.added', output_index: 0, item: { type: 'new', words: 'nightfall' } },
      { type: 'response.output_item.done', output_index: 0, item: { type: 'message', content: [] } },
      completed,
    ],
    'a response that is replaced': [
      { type: 'response.in_progress', response: { output: [{ type: 'new', words: 'nightfall' }] } },
      completed,
    ],
    'a member of a response that is replaced': [
      { type: 'response.in_progress', response: { note: 'nightfall' } },
      completed,
    ],
    'the arguments of a call': [
      piece('{"a":"night', 'response.function_call_arguments.delta'),
      piece('fall"}', 'response.function_call_arguments.delta'),
      completed,
    ],
    'the input of a custom call': [
      piece('night', 'response.custom_tool_call_input.delta'),
      piece('fall', 'response.custom_tool_call_input.delta'),
      completed,
    ],
    'what is spoken': [
      piece('night', 'response.audio.transcript.delta'),
      piece('fall', 'response.audio.transcript.delta'),
      completed,
    ],
    reasoning: [
      piece('night', 'response.reasoning_summary_text.delta', { summary_index: 0 }),
      piece('fall', 'response.reasoning_summary_text.delta', { summary_index: 0 }),
      completed,
    ],
    'a source': [{ type: 'response.output_text.annotation.added', annotation: { title: 'nightfall' } }, completed],
    'an event that nobody knows': [{ type: 'response.new', words: 'nightfall' }, completed],
    'pieces that are objects': [
      { type: 'response.new.delta', delta: { words: 'night' } },
      { type: 'response.new.delta', delta: { words: 'fall' } },
      completed,
    ],
    'a comment beside an event': [`: nightfall\n${frame(completed)}`],
  },
  messages: {
    text: [
      start({ type: 'text', text: '' }),
      delta({ type: 'text_delta', text: 'night' }),
      delta({ type: 'text_delta', text: 'fall' }),
    ],
    thinking: [
      start({ type: 'thinking', thinking: '' }),
      delta({ type: 'thinking_delta', thinking: 'night' }),
      delta({ type: 'thinking_delta', thinking: 'fall' }),
    ],
    'the input of a tool': [
      start({ type: 'tool_use', id: 't', name: 'f', input: {} }),
      delta({ type: 'input_json_delta', partial_json: '{"a":"night' }),
      delta({ type: 'input_json_delta', partial_json: 'fall"}' }),
    ],
    'a source': [
      start({ type: 'text', text: '' }),
      delta({ type: 'citations_delta', citation: { cited_text: 'nightfall' } }),
    ],
    'a piece that nobody knows': [
      start({ type: 'text', text: '' }),
      delta({ type: 'new_delta', words: 'night' }),
      delta({ type: 'new_delta', words: 'fall' }),
    ],
    'a piece of no block': [delta({ type: 'text_delta', text: 'nightfall' })],
    'a block that is replaced': [start({ type: 'text', text: 'nightfall' }), start({ type: 'text', text: '' })],
    'the beginning': [{ type: 'message_start', message: { content: [{ type: 'text', text: 'nightfall' }] } }],
    'a sequence that stopped it': [{ type: 'message_delta', delta: { stop_sequence: 'nightfall' } }],
    'a sequence that another takes the place of': [
      { type: 'message_delta', delta: { stop_reason: 'stop_sequence', stop_sequence: 'nightfall' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null } },
    ],
    'a reason that another takes the place of': [
      { type: 'message_delta', delta: { stop_reason: 'nightfall' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    ],
    'usage that another takes the place of': [
      { type: 'message_delta', delta: {}, usage: { note: 'nightfall' } },
      { type: 'message_delta', delta: {}, usage: { note: 'day' } },
    ],
    'content that its end has': [{ type: 'message_delta', delta: { content: ['nightfall'] } }],
    'a model that its end has': [{ type: 'message_delta', delta: { model: 'nightfall' } }],
    'an event that nobody knows': [{ type: 'new', words: 'nightfall' }],
    'the name of an event': [`event: nightfall\n${frame({ type: 'ping' })}`],
  },
};

const endpoints = Object.keys(streams) as TextApi[];

describe.each(endpoints)('in %s', (endpoint) => {
  test.each(Object.keys(wholeAnswers[endpoint]))('a rule sees %s', (name) => {
    expect(isSeen(whole(endpoint, wholeAnswers[endpoint][name]!))).toBe(true);
  });
  test.each(Object.keys(streams[endpoint]))('a rule sees %s, streamed', (name) => {
    expect(isSeen(streamed(endpoint, streams[endpoint][name]!))).toBe(true);
  });
});

/** A call of a tool, whole and streamed, in each of the APIs. */
const called: Readonly<Record<TextApi, (name: string, sent: string) => readonly ReturnType<typeof answerText>[]>> = {
  'chat.completions': (name, sent) => [
    whole('chat.completions', said({ tool_calls: [{ type: 'function', function: { name, arguments: sent } }] })),
    whole('chat.completions', said({ function_call: { name, arguments: sent } })),
    streamed('chat.completions', [
      chunk({ tool_calls: [{ index: 0, function: { name, arguments: sent.slice(0, 4) } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: sent.slice(4) } }] }),
    ]),
  ],
  responses: (name, sent) => [
    whole('responses', item({ type: 'function_call', name, arguments: sent })),
    whole('responses', item({ type: 'mcp_call', name, arguments: sent })),
    streamed('responses', [
      { type: 'response.output_item.added', output_index: 0, item: { type: 'function_call', name, arguments: '' } },
      piece(sent, 'response.function_call_arguments.delta'),
      { type: 'response.completed', response: item({ type: 'function_call', name, arguments: sent }) },
    ]),
  ],
  messages: (name, sent) => [
    streamed('messages', [
      start({ type: 'tool_use', id: 't', name, input: {} }),
      delta({ type: 'input_json_delta', partial_json: sent.slice(0, 4) }),
      delta({ type: 'input_json_delta', partial_json: sent.slice(4) }),
    ]),
  ],
};
const holdsFor = (rule: string, answer: ReturnType<typeof answerText>): boolean => {
  const view = responseOf(answer);
  return [view, view.folded].some((copy) => scoreIn(rule, copy, 'response') === 10_000);
};

describe.each(endpoints)('a call in %s', (endpoint) => {
  test.each([
    ['its name', 'nightfall', '{}'],
    ['a value', 'f', '{"a":{"b":["nightfall"]}}'],
    ['a key', 'f', '{"nightfall":1}'],
    ['a text that is no JSON', 'f', 'go to nightfall'],
    ['an escape', 'f', '{"a":"night\\u0066all"}'],
    ['the first of two members of one name', 'f', '{"q":"nightfall","q":"x"}'],
  ])('is read in the text of the answer: %s', (_, name, sent) => {
    for (const answer of called[endpoint](name, sent)) {
      expect(holdsFor('response.text.contains("nightfall")', answer)).toBe(true);
    }
  });
  test.each([
    ['a value', '{"a":{"b":["nightfall"]}}', 'nightfall'],
    ['the first of two members of one name', '{"q":"nightfall","q":"x"}', 'nightfall'],
    ['the first of two members, deeper', '{"a":[{"q":"nightfall","q":"x"}]}', 'nightfall'],
    ['a number that hides another', '{"a":41,"a":2}', '41'],
    ['the digits of a number', '{"card":4111111111111111111}', '4111111111111111111'],
    ['the digits of a number, deeper', '{"a":[1.10]}', '1.10'],
  ])('is read in its arguments: %s', (_, sent, words) => {
    for (const answer of called[endpoint]('f', sent)) {
      expect(holdsFor(`response.tool_calls.exists(c, c.arguments.contains("${words}"))`, answer)).toBe(true);
    }
  });
});

test('the input of a call keeps the digits of its numbers, whole', () => {
  const document =
    '{"content":[{"type":"tool_use","id":"t","name":"f","input":{"card":4111111111111111111}}],"usage":{"output_tokens":5.0}}';
  const answer = whole('messages', document);
  expect(holdsFor('response.tool_calls.exists(c, c.arguments.contains(":4111111111111111111}"))', answer)).toBe(true);
  expect(answer.outputTokens).toBe(5);
});

describe('a response', () => {
  const text = (answer: ReturnType<typeof answerText>) => readField(responseOf(answer), 'response', 'text');
  test('is its text alone, where there is nothing else', () => {
    expect(
      text(
        whole('responses', {
          ...item({
            type: 'message',
            id: 'msg_0123456789abcdef',
            status: 'completed',
            role: 'assistant',
            content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
          }),
          instructions: 'secret',
          tools: [{ type: 'web_search' }],
          metadata: { a: 'b' },
        }),
      ),
    ).toBe('Hi');
    expect(
      text(
        whole('chat.completions', {
          ...said({ content: 'Hi' }),
          object: 'chat.completion',
          usage: { prompt_tokens: 1 },
        }),
      ),
    ).toBe('Hi');
    expect(
      text(
        whole('messages', { ...block({ type: 'text', text: 'Hi' }), type: 'message', model: 'm', stop_sequence: null }),
      ),
    ).toBe('Hi');
  });
  test('is the same text once, though its stream has it four times', () => {
    const done = { type: 'message', content: [{ type: 'output_text', text: 'Hi' }] };
    const events = [
      { type: 'response.created', response: { ...item(), status: 'in_progress' } },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'message', status: 'in_progress', content: [] },
      },
      piece('H', undefined, { obfuscation: 'nightfall' }),
      piece('i'),
      { type: 'response.output_text.done', item_id: 'msg_0123456789abcdef', text: 'Hi' },
      { type: 'response.content_part.done', part: done.content[0]! },
      { type: 'response.output_item.done', output_index: 0, item: done },
      completed,
    ];
    expect(text(streamed('responses', events))).toBe('Hi');
  });
  test('has the number of a call that is too large for a double', () => {
    const call = '{"type":"tool_use","id":"t","name":"n","input":{"a":[1e400,-1e400]}}';
    const event = `data: {"type":"content_block_start","index":0,"content_block":${call}}\n\n`;
    expect(text(streamed('messages', [event]))).toBe('n\na\nInfinity\n-Infinity');
  });
  test('names the tools that it calls', () => {
    const names = (...items: readonly object[]) =>
      readField(responseOf(whole('responses', item(...items))), 'response', 'tool_names');
    expect(
      names({ type: 'function_call', name: 'f', arguments: '{}' }, { type: 'local_shell_call', action: {} }),
    ).toEqual(['f', 'local_shell']);
  });
  test('that cannot be read cannot be judged', () => {
    const deep = `{"choices":[{"index":0,"delta":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}]}`;
    const collected = streamedText('chat.completions');
    collected.add(`data: ${deep}\n\n`);
    expect(() => collected.text()).toThrow();
  });
});
