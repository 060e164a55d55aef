import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { chatRoute } from '../../../src/data/api/chat/chat.ts';
import { chatForm } from '../../../src/data/api/chat/chat-answer.ts';
import { messagesRoute } from '../../../src/data/api/messages/messages.ts';
import { repeatedOf } from '../../../src/data/api/responses/response-text.ts';
import { responsesRoute } from '../../../src/data/api/responses/responses.ts';
import { responsesForm } from '../../../src/data/api/responses/responses-form.ts';
import { packThought } from '../../../src/data/api/responses/thought.ts';
import { readMessage } from '../../../src/data/upstream/anthropic/anthropic-blocks.ts';
import { anthropicRequest } from '../../../src/data/upstream/anthropic/anthropic-request.ts';
import { readCompletion } from '../../../src/data/upstream/openai/chat-completion.ts';
import { chatRequest } from '../../../src/data/upstream/openai/chat-request.ts';
import { inexpressible, inexpressibleInResponses } from '../../../src/data/upstream/openai/inexpressible.ts';
import { readResponse } from '../../../src/data/upstream/openai/responses-answer.ts';
import { responsesRequest } from '../../../src/data/upstream/openai/responses-request.ts';
import type { Answer, AnswerBlock, GenerateRequest, InputBlock } from '../../../src/data/upstream/port.ts';
import { ToolNames } from '../../../src/data/upstream/tool-names.ts';
import { jsonText } from '../../../src/json/exact-number.ts';
import { serve, upstreamAt } from '../../upstream/mock.ts';
import { completion, json } from '../../upstream/openai/mock.ts';
import * as answers from '../../upstream/openai/responses-mock.ts';
import { options, request, user } from '../../upstream/requests.ts';
import { send } from '../call.ts';
import { hosted, model } from '../hosted.ts';
import { answer, ScriptedUpstream, usage } from '../scripted-upstream.ts';

/** Every row of the table of translations is true: each has an example here, found by the row's own words. */

type Fields = Readonly<Record<string, unknown>>;
const answerIds = { messages: 'msg_1', chat: 'chatcmpl-1', responses: 'resp_1' };
const routing = (upstream: ScriptedUpstream, api: keyof typeof answerIds, of: object = {}) => ({
  models: hosted(upstream, model(of)),
  clock: systemClock,
  answerId: () => answerIds[api],
});
type Example = () => void | Promise<void>;
type Examples = Readonly<Record<string, Example>>;

const page = readFileSync(new URL('../../../src/data/api/translation/README.md', import.meta.url), 'utf8');
/** The rows of each table, by the heading and whether they are of the request or of the answer. */
const tables = new Map<string, Map<string, string>>();
let heading = '';
for (const line of page.split('\n')) {
  if (line.startsWith('## ')) heading = line.slice(3);
  const [, name, rule] = /^\| (.+?) \| (?:(.*) )?\|$/.exec(line) ?? [];
  if (name === undefined || name === '---') continue;
  if (rule === undefined) tables.set(`${heading}, ${name}`, new Map());
  else [...tables.values()].at(-1)!.set(name, rule);
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const pdf = 'JVBERi0xLjQK';
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } };
const paper = {
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: pdf },
  title: 'a.pdf',
};
const pngUrl = `data:image/png;base64,${png}`;
const pdfUrl = `data:application/pdf;base64,${pdf}`;
const text = (said: string) => ({ type: 'text' as const, text: said });
const schema = { type: 'object', properties: { a: { type: 'string' } } };
const closed = { ...schema, required: ['a'], additionalProperties: false };
const call = { type: 'tool_use', id: 'c', name: 'f', input: { a: 1 } } as const;
const result = (content: unknown, more: object = {}) => ({ type: 'tool_result', tool_use_id: 'c', content, ...more });

/** Messages to chat completions. */

const sent = (over: Partial<GenerateRequest>): Fields => {
  const asked = request(over);
  expect(inexpressible(asked)).toBeNull();
  const dialect = { maxTokensName: 'max_completion_tokens', thinks: true } as const;
  return JSON.parse(jsonText(chatRequest(asked, false, dialect, new ToolNames(asked.tools))));
};
const refuses = (over: Partial<GenerateRequest>, path: string): void =>
  expect(inexpressible(request(over))?.path.join('.')).toBe(path);
const said = (...content: InputBlock[]) => ({
  messages: [user('x'), { role: 'assistant', content: [call] }, user(content)] as GenerateRequest['messages'],
});
const spoken = (...content: InputBlock[]) => sent({ messages: [user(content)] }).messages;
const read = (message: object, fields: object = {}, over: object = {}): Answer =>
  readCompletion(JSON.stringify(completion(message, fields, over)), 1000, String);

const toChat: Examples = {
  'text of user, assistant, system; system messages in the middle': () => {
    const messages = [
      user('a'),
      { role: 'assistant' as const, content: 'b' },
      { role: 'system' as const, content: 'c' },
      user('d'),
    ];
    expect(sent({ system: 'S', messages }).messages).toEqual([{ role: 'system', content: 'S' }, ...messages]);
  },
  '`max_tokens`, `temperature`, `top_p`, up to four `stop_sequences`, `metadata.user_id`': () =>
    expect(
      sent({
        max_tokens: 7,
        temperature: 0.5,
        top_p: 0.25,
        stop_sequences: ['1', '2', '3', '4'],
        metadata: { user_id: 'u' },
      }),
    ).toMatchObject({
      max_completion_tokens: 7,
      temperature: 0.5,
      top_p: 0.25,
      stop: ['1', '2', '3', '4'],
      user: 'u',
    }),
  'a `user_id` of more than 64 characters': () => {
    const user_id = 'u'.repeat(65);
    const { user: told } = sent({ metadata: { user_id } });
    expect(told).toMatch(/^user_sha_[\w-]{43}$/);
    expect(sent({ metadata: { user_id } }).user).toBe(told);
    expect(sent({ metadata: { user_id: `${user_id}u` } }).user).not.toBe(told);
    expect(sent({ metadata: { user_id: user_id.slice(1) } }).user).toBe(user_id.slice(1));
  },
  'more `stop_sequences`, `top_k`': () => {
    refuses({ stop_sequences: ['1', '2', '3', '4', '5'] }, 'stop_sequences');
    refuses({ top_k: 1 }, 'top_k');
  },
  'tools, `strict`, `tool_choice`, `disable_parallel_tool_use`': () =>
    expect(
      sent({
        tools: [{ name: 'f', description: 'd', input_schema: schema, strict: true }],
        tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true },
      }),
    ).toMatchObject({
      tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: schema, strict: true } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      parallel_tool_calls: false,
    }),
  'names of tools of more than 64 characters': () => {
    const name = 'n'.repeat(65);
    const { tools } = sent({ tools: [{ name, input_schema: schema }] });
    expect(tools).toMatchObject([{ function: { name: expect.stringMatching(/^n{53}_[\w-]{10}$/) } }]);
  },
  '`input_examples`, and every field of a tool or block that contract G.1 and G.2 do not name, except `caller: {"type":"direct"}`':
    () => {
      refuses({ tools: [{ name: 'f', input_schema: schema, input_examples: [{}] }] }, 'tools.0.input_examples');
      refuses({ messages: [user([{ ...text('a'), other: 1 }])] }, 'messages.0.content.0.other');
      const direct = { ...call, caller: { type: 'direct' } };
      expect(sent({ messages: [user('x'), { role: 'assistant', content: [direct] }] }).messages).toHaveLength(2);
    },
  'calls and their results': () =>
    expect(sent(said(result([text('b')]))).messages).toEqual([
      user('x'),
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'b' },
    ]),
  'several texts in one message or result, and no other part': () => {
    const two = [text('a'), text('b')];
    const messages = [user('x'), { role: 'assistant' as const, content: [...two, call] }, user([result(two), ...two])];
    expect(sent({ system: two, messages }).messages).toMatchObject([
      { role: 'system', content: 'a\nb' },
      { role: 'user', content: 'x' },
      { role: 'assistant', content: 'a\nb' },
      { role: 'tool', content: 'a\nb' },
      { role: 'user', content: 'a\nb' },
    ]);
    expect(spoken(...two, image)).toMatchObject([{ content: [text('a'), text('b'), { type: 'image_url' }] }]);
  },
  'ids of calls and results': () => {
    const idsOf = (id: string) => {
      const messages = [
        user('x'),
        { role: 'assistant' as const, content: [{ ...call, id }] },
        user([{ ...result('b'), tool_use_id: id }]),
      ];
      const [, asked, told] = sent({ messages }).messages as [Fields, { tool_calls: [Fields] }, Fields];
      expect(asked.tool_calls[0].id).toBe(told.tool_call_id);
      return told.tool_call_id;
    };
    expect(idsOf('functions.Bash:0')).toBe('functions.Bash:0');
    expect(idsOf('x'.repeat(40))).toBe('x'.repeat(40));
    expect(idsOf('x'.repeat(41))).toMatch(/^call_sha_.{31}$/);
  },
  'text or a system message before a result in one turn': () => {
    expect((sent(said(text('a'), result('b'))).messages as Fields[]).slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'c', content: 'b' },
      { role: 'user', content: 'a' },
    ]);
    const [asked, called, told] = said(result('b')).messages;
    const note = { role: 'system' as const, content: 'a' };
    expect((sent({ messages: [asked!, called!, note, told!] }).messages as Fields[]).slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'c', content: 'b' },
      note,
    ]);
  },
  'text after a call in one turn': () =>
    expect(sent({ messages: [user('x'), { role: 'assistant', content: [call, text('a')] }] }).messages).toMatchObject([
      {},
      { content: 'a', tool_calls: [{ id: 'c' }] },
    ]),
  '`is_error`': () =>
    expect((sent(said(result('b', { is_error: true }))).messages as Fields[])[2]).toMatchObject({
      content: 'Error: b',
    }),
  'images, documents in a result': () => {
    const moved = [text('Of the result of the call c:'), { type: 'image_url', image_url: { url: pngUrl } }];
    expect((sent(said(text('a'), result([image]))).messages as Fields[]).slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'c', content: 'See the next message.' },
      { role: 'user', content: [...moved, text('a')] },
    ]);
    expect((sent(said(result([text('b'), image, paper]))).messages as Fields[]).slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'c', content: 'b' },
      { role: 'user', content: [...moved, { type: 'file', file: { filename: 'a.pdf', file_data: pdfUrl } }] },
    ]);
  },
  '`tool_reference` in a result': () =>
    expect(
      (sent(said(result([{ type: 'tool_reference', tool_name: 'f' }, text('b')]))).messages as Fields[]).slice(2),
    ).toEqual([{ role: 'tool', tool_call_id: 'c', content: 'f\nb' }]),
  images: () =>
    expect(spoken(text('x'), image)).toMatchObject([
      { content: [text('x'), { type: 'image_url', image_url: { url: pngUrl } }] },
    ]),
  'documents: PDF with a title': () =>
    expect(spoken(paper)).toMatchObject([
      { content: [{ type: 'file', file: { filename: 'a.pdf', file_data: pdfUrl } }] },
    ]),
  'documents: PDF without a title': () =>
    expect(spoken({ ...paper, title: undefined })).toMatchObject([
      { content: [{ file: { filename: 'document.pdf' } }] },
    ]),
  'documents of text or blocks, `context`, `citations`': () => {
    refuses(
      { messages: [user([{ type: 'document', source: { type: 'text', data: 'a' } }])] },
      'messages.0.content.0.source',
    );
    refuses(
      { messages: [user([{ type: 'document', source: { type: 'content', content: [] } }])] },
      'messages.0.content.0.source',
    );
    refuses({ messages: [user([{ ...paper, context: 'c' }])] }, 'messages.0.content.0.context');
    refuses({ messages: [user([{ ...paper, citations: { enabled: true } }])] }, 'messages.0.content.0.citations');
  },
  '`thinking` `disabled`, `adaptive` with an effort': () => {
    expect(sent({ thinking: { type: 'disabled' } }).reasoning_effort).toBe('none');
    expect(sent({ thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }).reasoning_effort).toBe('high');
  },
  '`adaptive` without an effort': () =>
    expect(sent({ thinking: { type: 'adaptive' } }).reasoning_effort).toBe('medium'),
  '`enabled` with a budget, `between_tools`': () => {
    refuses({ thinking: { type: 'enabled', budget_tokens: 2000 } }, 'thinking.budget_tokens');
    refuses({ thinking: { type: 'between_tools' } }, 'thinking.type');
  },
  'efforts of messages': () => {
    const messages = (['low', 'high', null] as const).map((effort) => ({ ...user('x'), output_config: { effort } }));
    const output_config = { effort: 'max' };
    expect(sent({ thinking: { type: 'adaptive' }, output_config, messages }).reasoning_effort).toBe('high');
  },
  'an effort without adaptive thinking': () => {
    expect(sent({ output_config: { effort: 'low' } })).not.toHaveProperty('reasoning_effort');
    const thinking = { type: 'disabled' as const };
    expect(sent({ output_config: { effort: 'low' }, thinking }).reasoning_effort).toBe('none');
  },
  'thinking with a signature, redacted thinking, `citations` of a text': () => {
    const thoughts = [
      { type: 'thinking', thinking: 'a', signature: 's' },
      { type: 'redacted_thinking', data: 'a' },
    ];
    const cited = { ...text('b'), citations: [{}] };
    expect(sent({ messages: [{ role: 'assistant', content: [...thoughts, cited] }] }).messages).toEqual([
      { role: 'assistant', content: 'b' },
    ]);
  },
  'thinking without a signature, as such a model gives it': () =>
    expect(
      sent({
        messages: [{ role: 'assistant', content: [{ type: 'thinking', thinking: 'a', signature: '' }, text('b')] }],
      }).messages,
    ).toEqual([{ role: 'assistant', content: 'b', reasoning_content: 'a' }]),
  '`thinking.display: "omitted"`': async () => {
    const thinks = { supported_features: ['reasoning'] };
    const upstream = new ScriptedUpstream().answers(answer({ content: [thinking, text('a')] }));
    const body = {
      model: 'm',
      max_tokens: 5,
      messages: [user('x')],
      thinking: { type: 'adaptive', display: 'omitted' },
    };
    const got = await send(messagesRoute(routing(upstream, 'messages', thinks)), body);
    expect(got.body.content).toEqual([{ ...thinking, thinking: '' }, text('a')]);
    expect(sent({ thinking: { type: 'adaptive', display: 'omitted' } }).reasoning_effort).toBe('medium');
  },
  '`output_config.format`': () => {
    for (const [of, strict] of [
      [schema, false],
      [closed, true],
    ] as const) {
      expect(sent({ output_config: { format: { type: 'json_schema', schema: of } } }).response_format).toMatchObject({
        type: 'json_schema',
        json_schema: { strict, schema: of },
      });
    }
    expect(
      sent({ output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } }).response_format,
    ).toEqual({ type: 'json_object' });
  },
  'a final assistant message': async () => {
    const body = { model: 'm', max_tokens: 5, messages: [user('x'), { role: 'assistant', content: 'y' }] };
    const statusOf = async (prefill: boolean) => {
      const far = messagesRoute(routing(new ScriptedUpstream(), 'messages', { prefill }));
      return (await send(far, body)).status;
    };
    expect([await statusOf(false), await statusOf(true)]).toEqual([422, 200]);
  },
  '`cache_control`': () =>
    expect(spoken({ ...text('a'), cache_control: { type: 'ephemeral' } })).toEqual([{ role: 'user', content: 'a' }]),
  '`eager_input_streaming` of a tool, `allowed_callers` of `direct` alone': () => {
    const tool = { name: 'f', input_schema: schema };
    const hinted = { ...tool, eager_input_streaming: true, allowed_callers: ['direct'] };
    expect(sent({ tools: [hinted] })).toEqual(sent({ tools: [tool] }));
    expect(writtenOf({ tools: [hinted] })).toEqual(writtenOf({ tools: [tool] }));
  },
  '`defer_loading` of a tool': () =>
    expect(sent({ tools: [{ name: 'f', input_schema: schema, defer_loading: true }] }).tools).toEqual([
      { type: 'function', function: { name: 'f', parameters: schema } },
    ]),
};

const ofChat: Examples = {
  'text, calls, order of calls': () => {
    const calls = ['a', 'b'].map((id) => ({ id, function: { name: 'f', arguments: '{"a":1}' } }));
    expect(read({ content: 'x', tool_calls: calls }).content).toMatchObject([
      text('x'),
      { ...call, id: 'a' },
      { id: 'b' },
    ]);
  },
  'ids of calls': async () => {
    const calls = ['functions.f:0', 'c'].map((id) => ({ id, function: { name: 'f', arguments: '{"a":1}' } }));
    const upstream = new ScriptedUpstream().answers(read({ tool_calls: calls }));
    const got = await send(messagesRoute(routing(upstream, 'messages')), {
      model: 'm',
      max_tokens: 5,
      messages: [user('x')],
    });
    expect(got.body.content.map(({ id }: { id: string }) => id)).toEqual(['call_b64_ZnVuY3Rpb25zLmY6MA', 'c']);
  },
  'a call whose arguments are cut off by the end of the answer': () => {
    const cut = [{ id: 'c', function: { name: 'f', arguments: '{"a":' } }];
    expect(read({ content: 'x', tool_calls: cut }, { finish_reason: 'length' }).content).toEqual([text('x')]);
  },
  thinking: () =>
    expect(read({ content: 'x', reasoning_content: 'y' }).content[0]).toEqual({
      type: 'thinking',
      thinking: 'y',
      signature: '',
    }),
  'a refusal': () => expect(read({ content: null, refusal: 'No.' }).content).toEqual([text('No.')]),
  '`stop`, `length`, `tool_calls`': () => {
    const reasons = ['stop', 'length', 'tool_calls'].map((finish_reason) => {
      const calls = finish_reason === 'tool_calls' ? [{ id: 'c', function: { name: 'f', arguments: '' } }] : [];
      return read({ content: 'x', tool_calls: calls }, { finish_reason }).stop_reason;
    });
    expect(reasons).toEqual(['end_turn', 'max_tokens', 'tool_use']);
  },
  'a matched stop sequence': () => {
    const matched = read({ content: 'x' }, { stop_reason: 'END' });
    expect(matched).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
    expect(read({ content: 'x' })).toMatchObject({ stop_reason: 'end_turn', stop_sequence: null });
  },
  '`content_filter`': () => {
    const fields = { finish_reason: 'content_filter' };
    expect(() => read({ content: null }, fields)).toThrow(expect.objectContaining({ code: 'content_refused' }));
    expect(read({ content: 'x' }, fields).stop_reason).toBe('end_turn');
  },
  'tokens of input, output, cached input': () => {
    const told = { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 4 } };
    expect(read({ content: 'x' }, {}, { usage: told }).usage).toMatchObject({
      input_tokens: 5,
      cache_read_input_tokens: 4,
      output_tokens: 3,
    });
  },
  'tokens written to a cache': () => {
    const told = { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cache_write_tokens: 4 } };
    expect(read({ content: 'x' }, {}, { usage: told }).usage).toMatchObject({
      input_tokens: 5,
      cache_creation_input_tokens: 4,
    });
  },
  errors: async () => {
    for (const [status, code, message] of [
      [400, 'invalid_request', 'Why.'],
      [413, 'request_too_large', 'Why.'],
      [422, 'invalid_request', 'Why.'],
      [500, 'provider_error', expect.not.stringContaining('Why')],
    ] as const) {
      const mock = await serve((incoming, response) => {
        incoming.resume();
        json(response, { error: { message: 'Why.', type: 'x', param: null, code: null } }, status);
      });
      const upstream = upstreamAt(mock.url, { kind: 'openai' });
      await expect(upstream.answer(request(), options())).rejects.toMatchObject({ code, message });
      await upstream.close();
      await mock.close();
    }
  },
};

/** Messages to responses. */

const writtenOf = (over: Partial<GenerateRequest>): Fields => {
  const given = request(over);
  expect(inexpressibleInResponses(given)).toBeNull();
  return JSON.parse(jsonText(responsesRequest(given, false, true, new ToolNames(given.tools))));
};
const inputOf = (...messages: GenerateRequest['messages']) => writtenOf({ messages }).input as Fields[];
const refusesAll = (rows: readonly (readonly [Partial<GenerateRequest>, string])[]): void => {
  for (const [over, path] of rows) expect(inexpressibleInResponses(request(over))?.path.join('.')).toBe(path);
};
const assistant = (...content: InputBlock[]) => ({ role: 'assistant' as const, content });
const calledItem = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":1}' };
const resultItem = (given: unknown) => ({ type: 'function_call_output', call_id: 'c', output: given });
const imagePart = { type: 'input_image', image_url: pngUrl, detail: 'auto' };
const filePart = { type: 'input_file', filename: 'a.pdf', file_data: pdfUrl };
const answered = (output: readonly object[], fields: object = {}): Answer =>
  readResponse(JSON.stringify(answers.response(output, fields)), 1000, String);

const toResponses: Examples = {
  'a system prompt': () => {
    expect(writtenOf({ system: 'S' }).instructions).toBe('S');
    expect(writtenOf({ system: [text('S'), text('T')] }).instructions).toBe('S\nT');
  },
  'system messages in the middle, text of user and assistant': () =>
    expect(
      inputOf(
        user('a'),
        assistant(text('b'), text('c')),
        { role: 'system', content: 'd' },
        user([text('e'), text('f')]),
      ),
    ).toEqual([
      user('a'),
      { role: 'assistant', content: 'b' },
      { role: 'assistant', content: 'c' },
      { role: 'system', content: 'd' },
      { role: 'user', content: ['e', 'f'].map((each) => ({ type: 'input_text', text: each })) },
    ]),
  '`max_tokens`, `temperature`, `top_p`, `metadata.user_id`': () =>
    expect(writtenOf({ max_tokens: 7, temperature: 0.5, top_p: 0.25, metadata: { user_id: 'u' } })).toMatchObject({
      max_output_tokens: 7,
      temperature: 0.5,
      top_p: 0.25,
      user: 'u',
    }),
  '`max_tokens` below 16': async () => {
    const upstream = upstreamAt('http://127.0.0.1:9', { kind: 'openai', apis: ['responses'] });
    expect(upstream.leastTokens).toBe(16);
    await upstream.close();
  },
  '`stop_sequences`, `top_k`': () => {
    refusesAll([
      [{ stop_sequences: ['1'] }, 'stop_sequences'],
      [{ top_k: 1 }, 'top_k'],
    ]);
    expect(writtenOf({ stop_sequences: [] })).not.toHaveProperty('stop');
  },
  'tools, `tool_choice`, `disable_parallel_tool_use`': () => {
    const tool = { name: 'f', description: 'd', input_schema: schema };
    const choice = { type: 'tool', name: 'f', disable_parallel_tool_use: true } as const;
    const declaredTool = { type: 'function', name: 'f', description: 'd', parameters: schema };
    expect(writtenOf({ tools: [tool, { ...tool, strict: true }], tool_choice: choice })).toMatchObject({
      tools: [
        { ...declaredTool, strict: false },
        { ...declaredTool, strict: true },
      ],
      tool_choice: { type: 'function', name: 'f' },
      parallel_tool_calls: false,
    });
    expect(writtenOf({ tools: [tool], tool_choice: { type: 'any' } }).tool_choice).toBe('required');
  },
  'calls and their results, images and documents in a result': () =>
    expect(inputOf(user('x'), assistant(call), user([result([text('a'), image, paper])]))).toEqual([
      user('x'),
      calledItem,
      resultItem([{ type: 'input_text', text: 'a' }, imagePart, filePart]),
    ]),
  'text before a result in one turn': () =>
    expect(inputOf(user('x'), assistant(call), user([text('a'), result('b', { is_error: true })])).slice(2)).toEqual([
      resultItem('Error: b'),
      user('a'),
    ]),
  'text after a call in one turn': () =>
    expect(inputOf(user('x'), assistant(call, text('a'))).slice(1)).toEqual([
      calledItem,
      { role: 'assistant', content: 'a' },
    ]),
  'images, PDF': () =>
    expect(inputOf(user([image, paper]))).toEqual([{ role: 'user', content: [imagePart, filePart] }]),
  'thinking with a signature of such an upstream': () =>
    expect(inputOf(assistant({ type: 'thinking', thinking: 'a', signature: 'rs1:rs_1:e' }, text('b')))).toMatchObject([
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'a' }], encrypted_content: 'e' },
      { content: 'b' },
    ]),
  'thinking without a signature': () =>
    expect(inputOf(assistant({ type: 'thinking', thinking: 'a', signature: '' }, text('b')))).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'a' }] },
      { content: 'b' },
    ]),
  'thinking with another signature, redacted thinking': () =>
    expect(
      inputOf(
        assistant(
          { type: 'thinking', thinking: 'a', signature: 'EqQB+/==' },
          { type: 'redacted_thinking', data: 'a' },
          text('b'),
        ),
      ),
    ).toEqual([{ role: 'assistant', content: 'b' }]),
  'thinking that nothing of its turn follows': () =>
    expect(inputOf(assistant(text('b'), { type: 'thinking', thinking: 'a', signature: 'rs1:rs_1:e' }))).toEqual([
      { role: 'assistant', content: 'b' },
    ]),
  '`thinking` `disabled`, `adaptive`': () => {
    const reasoningOf = (over: Partial<GenerateRequest>) => writtenOf(over).reasoning;
    expect(reasoningOf({ thinking: { type: 'disabled' } })).toEqual({ effort: 'none' });
    expect(reasoningOf({ thinking: { type: 'adaptive' }, output_config: { effort: 'high' } })).toEqual({
      effort: 'high',
      summary: 'auto',
    });
    refusesAll([[{ thinking: { type: 'enabled', budget_tokens: 2000 } }, 'thinking.budget_tokens']]);
  },
  '`output_config.format`': () => {
    const formatOf = (of: object) =>
      writtenOf({ output_config: { format: { type: 'json_schema', schema: of as Fields } } }).text;
    expect(formatOf(schema)).toMatchObject({ format: { type: 'json_schema', name: 'answer', strict: false, schema } });
    expect(formatOf(closed)).toMatchObject({ format: { strict: true, schema: closed } });
    expect(formatOf({ type: 'object' })).toEqual({ format: { type: 'json_object' } });
  },
};

const ofResponses: Examples = {
  'text, calls, order of both': () =>
    expect(
      answered([answers.call('c', 'f', '{"a":1}'), answers.message(answers.said('x')), answers.call('d', 'f', '')])
        .content,
    ).toMatchObject([call, text('x'), { id: 'd', input: {} }]),
  reasoning: () => {
    const item = answers.reasoning({ ...answers.summary('y'), encrypted_content: 'e' });
    expect(answered([item]).content).toEqual([{ type: 'thinking', thinking: 'y', signature: 'rs1:rs_01:e' }]);
  },
  'a refusal': () =>
    expect(answered([answers.message({ type: 'refusal', refusal: 'No.' })]).content).toEqual([text('No.')]),
  'calls of tools that the server runs itself': () =>
    expect(answered([{ type: 'web_search_call', id: 'ws_1', status: 'completed' }]).content).toEqual([]),
  'a call whose arguments are cut off by the end of the answer': () =>
    expect(
      answered([answers.message(answers.said('x')), answers.call('c', 'f', '{"a":')], { status: 'incomplete' }).content,
    ).toEqual([text('x')]),
  '`completed`, `incomplete`': () => {
    const reasonOf = (output: readonly object[], status: string) => answered(output, { status }).stop_reason;
    const words = answers.message(answers.said('x'));
    expect([
      reasonOf([words], 'completed'),
      reasonOf([answers.call('c', 'f', '{}')], 'completed'),
      reasonOf([words], 'incomplete'),
    ]).toEqual(['end_turn', 'tool_use', 'max_tokens']);
  },
  '`incomplete` by a `content_filter`': () => {
    const fields = { status: 'incomplete', incomplete_details: { reason: 'content_filter' } };
    expect(() => answered([], fields)).toThrow(expect.objectContaining({ code: 'content_refused' }));
    expect(answered([answers.message(answers.said('x'))], fields).stop_reason).toBe('end_turn');
  },
  '`failed`': () => {
    const fields = { status: 'failed', error: { code: 'context_length_exceeded', message: 'x' } };
    expect(() => answered([], fields)).toThrow(expect.objectContaining({ code: 'context_length_exceeded' }));
  },
  'tokens of input, output, cached input, reasoning': () =>
    expect(answered([]).usage).toMatchObject({
      input_tokens: 24,
      cache_read_input_tokens: 4,
      output_tokens: 57,
      reasoning_tokens: 9,
    }),
};

/** Chat completions and responses to messages. */

const route = { chat: chatRoute, responses: responsesRoute };
const inputs = { chat: { messages: [{ role: 'user', content: 'x' }] }, responses: { input: 'x' } };
type Api = keyof typeof route;

const asked = async (api: Api, fields: object, of: object = {}) => {
  const upstream = new ScriptedUpstream();
  const { status, body } = await send(route[api](routing(upstream, api, of)), {
    model: 'm',
    ...inputs[api],
    ...fields,
  });
  return { status, error: body.error as Fields | null, request: upstream.requests[0] as unknown as Fields };
};
const arrives = async (api: Api, fields: object, expected: object): Promise<void> =>
  expect((await asked(api, fields)).request).toMatchObject(expected);
const refusesOf = async (api: Api, fields: object, param: string): Promise<void> =>
  expect(await asked(api, fields)).toMatchObject({ status: 400, error: { code: 'unsupported_parameter', param } });

/** What a server of the messages API is sent for messages of a chat client. */
const reaches = async (messages: readonly object[], expected: Fields): Promise<void> => {
  const { request: got } = await asked('chat', { messages });
  const { system, messages: arrived } = anthropicRequest(got as unknown as GenerateRequest);
  expect({ system, messages: arrived }).toEqual({ system: undefined, ...expected });
};

const search = { type: 'web_search_20250305', name: 'web_search' };
/** What a server of the messages API is sent for a search. */
const searchesBy = async (api: Api, fields: object, expected: Fields): Promise<void> => {
  const { request: got } = await asked(api, fields, { supported_features: ['web_search'] });
  expect(anthropicRequest(got as unknown as GenerateRequest).tools).toEqual([expected]);
  expect((await asked(api, fields)).status).toBe(400);
};
const searched = (): void => {
  const use = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} };
  const found = { type: 'web_search_tool_result', tool_use_id: 's', content: [] };
  const content = [text('a'), use, found, { ...text('b'), citations: [{}] }];
  const message = { type: 'message', content, stop_reason: 'end_turn', usage: {} };
  expect(readMessage(JSON.stringify(message), 1000).content).toEqual([text('a'), text('b')]);
};

const unbounded = (api: Api) => () => arrives(api, {}, { max_tokens: 999_990 });
/** Efforts, however the API writes them. */
const efforts = (api: Api, of: (effort: string) => object) => async () => {
  await arrives(api, of('high'), { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } });
  await arrives(api, of('minimal'), { output_config: { effort: 'low' } });
  await arrives(api, of('none'), { thinking: { type: 'disabled' } });
};
const called = { type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
const declared = { name: 'f', description: 'd', parameters: schema, strict: true };
const asTool = { name: 'f', description: 'd', input_schema: schema, strict: true };

const fromChat: Examples = {
  'text, leading system messages, tools, `tool_choice`, calls, results, images, PDF': () =>
    arrives(
      'chat',
      {
        messages: [
          { role: 'system', content: 'S' },
          {
            role: 'user',
            content: [
              text('a'),
              { type: 'image_url', image_url: { url: pngUrl } },
              { type: 'file', file: { file_data: pdfUrl, filename: 'a.pdf' } },
            ],
          },
          { role: 'assistant', content: null, tool_calls: [{ id: 'c', ...called }] },
          { role: 'tool', tool_call_id: 'c', content: 'b' },
        ],
        tools: [{ type: 'function', function: declared }],
        tool_choice: { type: 'function', function: { name: 'f' } },
      },
      {
        system: [text('S')],
        messages: [user([text('a'), image, paper]), { role: 'assistant', content: [call] }, user([result('b')])],
        tools: [asTool],
        tool_choice: { type: 'tool', name: 'f' },
      },
    ),
  '`max_completion_tokens`, `max_tokens`, `temperature`, `top_p`, `stop`, `user`': async () => {
    const fields = { temperature: 0.5, top_p: 0.25, stop: 'END', user: 'u' };
    const expected = {
      max_tokens: 7,
      temperature: 0.5,
      top_p: 0.25,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
    };
    await arrives('chat', { ...fields, max_completion_tokens: 7 }, expected);
    await arrives('chat', { ...fields, max_tokens: 7 }, expected);
  },
  'no maximum': unbounded('chat'),
  '`developer` messages': () =>
    arrives('chat', { messages: [{ role: 'developer', content: 'D' }, user('x')] }, { system: [text('D')] }),
  '`name` of a speaker': () =>
    reaches(
      [
        { role: 'system', content: 'S', name: 'ops' },
        { ...user('x'), name: 'Ann' },
        { ...user('y'), name: 'Bob' },
      ],
      { system: [text('S')], messages: [user([text('x'), text('y')])] },
    ),
  '`cache_control` of messages, parts and calls': async () => {
    const cache_control = { type: 'ephemeral' };
    await reaches(
      [
        { role: 'system', content: 'S', cache_control },
        user([{ ...text('a'), cache_control }, text('b')]),
        { role: 'assistant', content: 'd', tool_calls: [{ id: 'c', ...called }], cache_control },
        { role: 'tool', tool_call_id: 'c', content: [{ ...text('b'), cache_control }] },
        { role: 'assistant', tool_calls: [{ id: 'c2', ...called, cache_control }] },
        { role: 'tool', tool_call_id: 'c2', content: 'b' },
      ],
      {
        system: [{ ...text('S'), cache_control }],
        messages: [
          user([{ ...text('a'), cache_control }, text('b')]),
          { role: 'assistant', content: [text('d'), { ...call, cache_control }] },
          user([result([text('b')], { cache_control })]),
          { role: 'assistant', content: [{ ...call, id: 'c2', cache_control }] },
          user([{ ...result('b'), tool_use_id: 'c2' }]),
        ],
      },
    );
  },
  'ids of calls and results': () =>
    reaches(
      [
        user('x'),
        { role: 'assistant', tool_calls: [{ id: 'f:0', ...called }] },
        { role: 'tool', tool_call_id: 'f:0', content: 'b' },
      ],
      {
        messages: [
          user([text('x')]),
          { role: 'assistant', content: [{ ...call, id: 'call_b64_Zjow' }] },
          user([{ ...result('b'), tool_use_id: 'call_b64_Zjow' }]),
        ],
      },
    ),
  'blank texts of user and assistant': () =>
    reaches([user('x'), { role: 'assistant', content: ' \n' }, user([text(' '), text('y')])], {
      messages: [user([text('x'), text('y')])],
    }),
  'no message of a user, or an empty one': async () => {
    const goOn = { messages: [user([text('Continue.')])] };
    await reaches([{ role: 'developer', content: 'D' }], { system: [text('D')], ...goOn });
    await reaches([user('')], goOn);
    await reaches([user([text('')])], goOn);
  },
  '`refusal` of an assistant message': () =>
    arrives(
      'chat',
      { messages: [user('x'), { role: 'assistant', refusal: 'No.' }, user('y')] },
      { messages: [{}, { content: [text('No.')] }, {}] },
    ),
  '`reasoning_content` or `reasoning` of an answer; other thinking': async () => {
    const said = { role: 'assistant', content: 'a', reasoning_details: [{}], thinking_blocks: [{}], annotations: [{}] };
    const arrivesAs = async (more: object, content: object[]) =>
      arrives('chat', { messages: [user('x'), { ...said, ...more }, user('y')] }, { messages: [{}, { content }, {}] });
    const unsigned = { type: 'thinking', thinking: 'Hm.', signature: '' };
    await arrivesAs({ reasoning_content: 'Hm.' }, [unsigned, text('a')]);
    await arrivesAs({ reasoning: 'Hm.', reasoning_content: '' }, [unsigned, text('a')]);
    await arrivesAs({}, [text('a')]);
    const { messages } = anthropicRequest(
      request({ messages: [{ role: 'assistant', content: [unsigned, text('a')] }] }),
    );
    expect(messages[0]!.content).toEqual([text('a')]);
  },
  '`web_search_options`': async () => {
    const approximate = { city: 'Porto' };
    const user_location = { type: 'approximate', approximate };
    const asked = { web_search_options: { search_context_size: 'low', user_location } };
    await searchesBy('chat', asked, { ...search, user_location: { type: 'approximate', ...approximate } });
  },
  '`reasoning_effort`': efforts('chat', (reasoning_effort) => ({ reasoning_effort })),
  '`response_format`': () =>
    arrives(
      'chat',
      { response_format: { type: 'json_schema', json_schema: { name: 'n', description: 'd', strict: true, schema } } },
      { output_config: { format: { type: 'json_schema', schema } } },
    ),
  '`seed`': () => refusesOf('chat', { seed: 1 }, 'seed'),
};

const thinking = { type: 'thinking', thinking: 'Hm.', signature: 's' } as const;
const blocks: readonly AnswerBlock[] = [thinking, text('a'), text('b'), call];
const form = {
  chat: () => chatForm({ id: 'chatcmpl-1', model: 'm', created: 1, includeUsage: true }),
  responses: () =>
    responsesForm({
      id: 'resp_1',
      createdAt: 1,
      repeated: repeatedOf({ model: 'm', input: 'x' }),
      asSummary: false,
      searches: false,
      called: new Map(),
      now: () => 2,
    }),
};
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
const written = (api: Api, over: Partial<Answer> = {}): any => {
  const whole = form[api]().whole(answer({ content: blocks, ...over }));
  return typeof whole === 'string' ? JSON.parse(whole) : JSON.parse(JSON.stringify(whole));
};
const reasons = ['end_turn', 'stop_sequence', 'max_tokens', 'tool_use'] as const;

const toChatClient: Examples = {
  'text, calls': () =>
    expect(written('chat').choices[0].message).toMatchObject({ content: 'ab', tool_calls: [{ id: 'c', ...called }] }),
  'several blocks of text': () => expect(written('chat').choices[0].message.content).toBe('ab'),
  thinking: () => expect(JSON.stringify(written('chat'))).not.toContain('Hm.'),
  'searches and their results, citations': searched,
  '`end_turn`, `stop_sequence`, `max_tokens`, `tool_use`': () =>
    expect(reasons.map((stop_reason) => written('chat', { stop_reason }).choices[0].finish_reason)).toEqual([
      'stop',
      'stop',
      'length',
      'tool_calls',
    ]),
  'tokens of input, output, cached input, thinking': () => {
    const told = usage({
      input_tokens: 5,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 4,
      output_tokens: 3,
    });
    const expected = { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 4 } };
    expect(written('chat', { usage: told }).usage).toMatchObject({
      ...expected,
      completion_tokens_details: { reasoning_tokens: 0 },
    });
    expect(
      written('chat', { usage: { ...told, reasoning_tokens: 2 } }).usage.completion_tokens_details.reasoning_tokens,
    ).toBe(2);
  },
};

const functionCall = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":1}' };
const output = (given: unknown) => ({ type: 'function_call_output', call_id: 'c', output: given });

const fromResponses: Examples = {
  'text, instructions, tools, `tool_choice`, calls, results, images, PDF': () =>
    arrives(
      'responses',
      {
        instructions: 'S',
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'a' },
              { type: 'input_image', image_url: pngUrl },
              { type: 'input_file', file_data: pdfUrl, filename: 'a.pdf' },
            ],
          },
          functionCall,
          output('b'),
        ],
        tools: [{ type: 'function', ...declared }],
        tool_choice: { type: 'function', name: 'f' },
      },
      {
        system: [text('S')],
        messages: [user([text('a'), image, paper]), { role: 'assistant', content: [call] }, user([result('b')])],
        tools: [asTool],
        tool_choice: { type: 'tool', name: 'f' },
      },
    ),
  'images and documents in results of calls': () =>
    arrives(
      'responses',
      {
        input: [
          { role: 'user', content: 'x' },
          functionCall,
          output([
            { type: 'input_image', image_url: pngUrl },
            { type: 'input_file', file_data: pdfUrl, filename: 'a.pdf' },
          ]),
        ],
      },
      { messages: [{}, {}, user([result([image, paper])])] },
    ),
  '`max_output_tokens`, `temperature`, `top_p`, `user`': () =>
    arrives(
      'responses',
      { max_output_tokens: 7, temperature: 0.5, top_p: 0.25, user: 'u' },
      { max_tokens: 7, temperature: 0.5, top_p: 0.25, metadata: { user_id: 'u' } },
    ),
  'no maximum': unbounded('responses'),
  '`developer` messages': () =>
    arrives(
      'responses',
      {
        input: [
          { role: 'developer', content: 'D' },
          { role: 'user', content: 'x' },
        ],
      },
      { system: [text('D')] },
    ),
  'reasoning with `encrypted_content` of Weir': async () => {
    for (const thought of [thinking, { type: 'redacted_thinking', data: 'd' } as const]) {
      const input = [
        { role: 'user', content: 'x' },
        { type: 'reasoning', summary: [], encrypted_content: packThought(thought) },
        { role: 'assistant', content: 'a' },
        { role: 'user', content: 'y' },
      ];
      await arrives('responses', { input }, { messages: [{}, { content: [thought, text('a')] }, {}] });
    }
  },
  'other reasoning': async () => {
    const input = [
      { role: 'user', content: 'x' },
      { type: 'reasoning', summary: [], encrypted_content: 'sealed elsewhere' },
      { role: 'assistant', content: 'a' },
      { role: 'user', content: 'y' },
    ];
    await arrives('responses', { input }, { messages: [{}, { content: [text('a')] }, {}] });
  },
  '`reasoning.effort`': efforts('responses', (effort) => ({ reasoning: { effort } })),
  'a `web_search` tool': async () => {
    const user_location = { type: 'approximate', city: 'Porto' };
    const filters = { allowed_domains: ['a.example'] };
    const tools = [{ type: 'web_search', search_context_size: 'low', user_location, filters }];
    const made = { ...search, ...filters, user_location, max_uses: 3 };
    await searchesBy('responses', { tools, max_tool_calls: 3 }, made);
  },
  'functions in a `namespace`': () =>
    arrives(
      'responses',
      { tools: [{ type: 'namespace', name: 'n', description: 'N', tools: [{ type: 'function', ...declared }] }] },
      { tools: [{ ...asTool, name: 'n__f', description: 'N\n\nd' }] },
    ),
  '`reasoning.summary`: `concise`, `detailed`': async () => {
    for (const summary of ['auto', 'concise', 'detailed'])
      await arrives('responses', { reasoning: { summary } }, { thinking: { type: 'adaptive' } });
  },
  '`client_metadata`': async () => {
    const { request } = await asked('responses', { client_metadata: { a: 'b' } });
    expect(request).toEqual((await asked('responses', {})).request);
  },
  '`text.format`': () =>
    arrives(
      'responses',
      { text: { format: { type: 'json_schema', name: 'n', description: 'd', strict: true, schema } } },
      { output_config: { format: { type: 'json_schema', schema } } },
    ),
  '`store: true`': () => refusesOf('responses', { store: true }, 'store'),
};

const toResponsesClient: Examples = {
  'text, calls, reasoning, each as an item': () =>
    expect(written('responses').output).toMatchObject([
      { type: 'reasoning', content: [{ text: 'Hm.' }], encrypted_content: packThought(thinking) },
      { type: 'message', content: [{ text: 'a' }] },
      { type: 'message', content: [{ text: 'b' }] },
      functionCall,
    ]),
  'searches and their results, citations': searched,
  '`end_turn`, `stop_sequence`, `tool_use`': () => {
    for (const stop_reason of ['end_turn', 'stop_sequence', 'tool_use'] as const)
      expect(written('responses', { stop_reason }).status).toBe('completed');
  },
  '`max_tokens`': () =>
    expect(written('responses', { stop_reason: 'max_tokens' })).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    }),
  'tokens of input, output, cached input, thinking': () =>
    expect(
      written('responses', {
        usage: usage({
          input_tokens: 5,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 4,
          output_tokens: 3,
          reasoning_tokens: 2,
        }),
      }).usage,
    ).toMatchObject({
      output_tokens_details: { reasoning_tokens: 2 },
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 3,
    }),
};

const examples: Readonly<Record<string, Examples>> = {
  'A messages client on an `openai` upstream, of the request': toChat,
  'A messages client on an `openai` upstream, of the answer': ofChat,
  'A messages client on an `openai` upstream of responses alone, of the request': toResponses,
  'A messages client on an `openai` upstream of responses alone, of the answer': ofResponses,
  'A chat client on an `anthropic` upstream, of the request': fromChat,
  'A chat client on an `anthropic` upstream, of the answer': toChatClient,
  'A responses client on an `anthropic` upstream, of the request': fromResponses,
  'A responses client on an `anthropic` upstream, of the answer': toResponsesClient,
};

test('the tables are those that have examples', () => {
  expect([...tables.keys()]).toEqual(Object.keys(examples));
});

describe.each(Object.entries(examples))('%s', (name, all) => {
  test('each row has an example', () => {
    expect(Object.keys(all)).toEqual([...(tables.get(name)?.keys() ?? [])]);
  });

  test.each(Object.entries(all))('%s', (_, example) => example());
});
