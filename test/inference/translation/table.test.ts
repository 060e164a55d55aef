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
import { readCompletion } from '../../../src/data/upstream/openai/chat-completion.ts';
import { chatRequest } from '../../../src/data/upstream/openai/chat-request.ts';
import { inexpressible } from '../../../src/data/upstream/openai/inexpressible.ts';
import type { Answer, AnswerBlock, GenerateRequest, InputBlock } from '../../../src/data/upstream/port.ts';
import { jsonText } from '../../../src/json/exact-number.ts';
import { serve, upstreamAt } from '../../upstream/mock.ts';
import { completion, json } from '../../upstream/openai/mock.ts';
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
const call = { type: 'tool_use', id: 'c', name: 'f', input: { a: 1 } } as const;
const result = (content: unknown, more: object = {}) => ({ type: 'tool_result', tool_use_id: 'c', content, ...more });

/** Messages to chat completions. */

const sent = (over: Partial<GenerateRequest>): Fields => {
  const asked = request(over);
  expect(inexpressible(asked)).toBeNull();
  return JSON.parse(jsonText(chatRequest(asked, false, { maxTokensName: 'max_completion_tokens', thinks: true })));
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
      user([text('d'), text('e')]),
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
  '`input_examples`, and every field of a tool or block that contract G.1 and G.2 do not name, except `caller: {"type":"direct"}`':
    () => {
      refuses({ tools: [{ name: 'f', input_schema: schema, input_examples: [{}] }] }, 'tools.0.input_examples');
      refuses({ tools: [{ name: 'f', input_schema: schema, defer_loading: true }] }, 'tools.0.defer_loading');
      refuses({ messages: [user([{ ...text('a'), other: 1 }])] }, 'messages.0.content.0.other');
      const direct = { ...call, caller: { type: 'direct' } };
      expect(sent({ messages: [user('x'), { role: 'assistant', content: [direct] }] }).messages).toHaveLength(2);
    },
  'calls and their results, including several text blocks': () =>
    expect(sent(said(result([text('a'), text('b')]))).messages).toEqual([
      user('x'),
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: [text('a'), text('b')] },
    ]),
  'text before a result in one turn': () =>
    expect((sent(said(text('a'), result('b'))).messages as Fields[]).slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'c', content: 'b' },
      { role: 'user', content: 'a' },
    ]),
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
    for (const part of [image, paper]) refuses(said(result([part])), 'messages.2.content.0.content.0');
  },
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
  '`enabled` with a budget, `between_tools`, `display: "omitted"`, an effort without adaptive thinking, an effort of one message':
    () => {
      refuses({ thinking: { type: 'enabled', budget_tokens: 2000 } }, 'thinking.budget_tokens');
      refuses({ thinking: { type: 'between_tools' } }, 'thinking.type');
      refuses({ thinking: { type: 'adaptive', display: 'omitted' } }, 'thinking.display');
      refuses({ output_config: { effort: 'low' } }, 'output_config.effort');
      refuses({ messages: [{ ...user('x'), output_config: { effort: 'low' } }] }, 'messages.0.output_config');
    },
  'thinking with a signature, redacted thinking': () => {
    refuses(
      { messages: [{ role: 'assistant', content: [{ type: 'thinking', thinking: 'a', signature: 's' }] }] },
      'messages.0.content.0.signature',
    );
    refuses(
      { messages: [{ role: 'assistant', content: [{ type: 'redacted_thinking', data: 'a' }] }] },
      'messages.0.content.0',
    );
  },
  'thinking without a signature, as such a model gives it': () =>
    expect(
      sent({
        messages: [{ role: 'assistant', content: [{ type: 'thinking', thinking: 'a', signature: '' }, text('b')] }],
      }).messages,
    ).toEqual([{ role: 'assistant', content: 'b', reasoning_content: 'a' }]),
  '`output_config.format`': () => {
    expect(sent({ output_config: { format: { type: 'json_schema', schema } } }).response_format).toMatchObject({
      type: 'json_schema',
      json_schema: { strict: true, schema },
    });
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

/** Chat completions and responses to messages. */

const route = { chat: chatRoute, responses: responsesRoute };
const inputs = { chat: { messages: [{ role: 'user', content: 'x' }] }, responses: { input: 'x' } };
type Api = keyof typeof route;

const asked = async (api: Api, fields: object) => {
  const upstream = new ScriptedUpstream();
  const { status, body } = await send(route[api](routing(upstream, api)), {
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
  '`refusal` of an assistant message': () =>
    arrives(
      'chat',
      { messages: [user('x'), { role: 'assistant', refusal: 'No.' }, user('y')] },
      { messages: [{}, { content: [text('No.')] }, {}] },
    ),
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
  '`end_turn`, `stop_sequence`, `max_tokens`, `tool_use`': () =>
    expect(reasons.map((stop_reason) => written('chat', { stop_reason }).choices[0].finish_reason)).toEqual([
      'stop',
      'stop',
      'length',
      'tool_calls',
    ]),
  'tokens of input, output, cached input': () => {
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
  '`reasoning.effort`': efforts('responses', (effort) => ({ reasoning: { effort } })),
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
  '`end_turn`, `stop_sequence`, `tool_use`': () => {
    for (const stop_reason of ['end_turn', 'stop_sequence', 'tool_use'] as const)
      expect(written('responses', { stop_reason }).status).toBe('completed');
  },
  '`max_tokens`': () =>
    expect(written('responses', { stop_reason: 'max_tokens' })).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    }),
  'tokens of input, output, cached input': () =>
    expect(
      written('responses', {
        usage: usage({ input_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 4, output_tokens: 3 }),
      }).usage,
    ).toMatchObject({
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 3,
    }),
};

const examples: Readonly<Record<string, Examples>> = {
  'A messages client on an `openai` upstream, of the request': toChat,
  'A messages client on an `openai` upstream, of the answer': ofChat,
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
