// Lane: middle: it runs at length
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { z } from 'zod';
import { chatRules } from '../../src/data/api/chat/chat-rules.ts';
import { countRules, messagesRules } from '../../src/data/api/messages/messages-rules.ts';
import { responsesRules } from '../../src/data/api/responses/responses-rules.ts';
import { conforms } from '../../src/data/request/conforms.ts';
import { anywhere, here, type Prepare, preparing, type RequestRules } from '../../src/data/request/prepare.ts';
import type { Prepared } from '../../src/data/request/prepared.ts';
import type { Passing } from '../../src/data/upstream/port.ts';
import { Refused } from '../../src/http/refused.ts';
import { parseJson } from '../../src/http/request/json.ts';
import { Document } from '../../src/json/document.ts';
import { ExactNumber } from '../../src/json/exact-number.ts';
import { hosted, model } from './hosted.ts';
import { jsonTexts } from './json-texts.ts';
import { ScriptedUpstream } from './scripted-upstream.ts';

/** What is read of a body that passes. */

vi.setConfig({ testTimeout: 120_000 });

const passing = {} as Passing;
const upstream = Object.assign(new ScriptedUpstream(), {
  passing: { messages: { ...passing, countTokens: async () => null }, chat: passing, responses: passing },
});
const prices = { prompt: '1', completion: '1', image: '1', web_search: '1' };
const models = hosted(
  upstream,
  model({ max_output_length: 3000, pricing: prices }),
  model({ id: 'long' }),
  model({ id: 'theirs', dedicated_to: 'org_1' }),
);
const principal = { organizationId: 'org_1', allowedModels: null, modelAliases: null };
const prepared = (prepare: Prepare<unknown>, text: string): Prepared<unknown> | Refused =>
  prepare(Buffer.from(text), principal, anywhere)!;

const readers = {
  messages: preparing(models, messagesRules),
  count: preparing(models, countRules),
  chat: preparing(models, chatRules),
  responses: preparing(models, responsesRules),
};
type Api = keyof typeof readers;
const usual = {
  messages: { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] },
  count: { model: 'm', messages: [{ role: 'user', content: 'Hello' }] },
  chat: { model: 'm', messages: [{ role: 'user', content: 'Hello' }] },
  responses: { model: 'm', input: 'Hello' },
} as const;
const read = (api: Api, over: object = {}) => prepared(readers[api], JSON.stringify({ ...usual[api], ...over }));
const taken = (api: Api, over: object = {}): Prepared<unknown> => {
  const made = read(api, over);
  if (made instanceof Refused) throw new Error(`refused: ${made.refusal.message}`);
  return made;
};
const sentBy = (api: Api, over: object = {}): unknown => {
  const { sent } = taken(api, over);
  return sent !== null && 'body' in sent ? JSON.parse(sent.body.toString()) : null;
};

const { string, number, anyJson, mostly, objectOf, listOf, flag } = jsonTexts({
  strings: ['"\\u0041\\ud83d\\ude00\\/"', '"x"'],
  numbers: ['0.5', '1.0', '-0', '9007199254740993', '1e2', '0', '129'],
  names: ['a', 't\\u0065xt', 'type', 'content', 'É', 'name'],
});
const any = (...texts: readonly string[]) => fc.oneof(fc.constantFrom(...texts), number, anyJson);
const members: Readonly<Record<string, fc.Arbitrary<string>>> = {
  model: fc.constantFrom('"m"', '"\\u006d"', '""'),
  messages: listOf(objectOf({ role: string, content: fc.oneof(string, listOf(anyJson), fc.constant('null')) })),
  input: fc.oneof(string, listOf(objectOf({ role: string }))),
  max_tokens: any('1', '999990', '999991', '7.0', 'null'),
  max_completion_tokens: any('1', '999990', 'null'),
  max_output_tokens: any('5', 'null'),
  n: any('1', '128'),
  best_of: any('2', 'null'),
  num_predict: any('null'),
  system: fc.oneof(string, listOf(anyJson)),
  instructions: string,
  stream: flag,
  stream_options: objectOf({ include_usage: flag }),
  temperature: number,
  top_p: mostly(number),
  top_k: fc.constant('null'),
  stop: fc.oneof(string, listOf(string)),
  stop_sequences: listOf(string),
  tools: listOf(objectOf({ name: string })),
  tool_choice: objectOf({ name: string, disable_parallel_tool_use: flag }),
  thinking: objectOf({ budget_tokens: any('1024', '-3', '2.0', '1000000') }),
  output_config: objectOf({ format: objectOf({ type: string, schema: objectOf({ a: anyJson }) }) }),
  metadata: anyJson,
  store: flag,
  policy_ids: fc.oneof(
    listOf(fc.oneof(string, fc.constantFrom('"p"', `"${'é'.repeat(200)}"`, `"${'é'.repeat(201)}"`))),
    fc.array(fc.constant('"p"'), { minLength: 19, maxLength: 21 }).map((all) => `[${all.join(',')}]`),
  ),
};
/** A usual body with some members that may be wrong. */
const bodyOf = (api: Api) =>
  fc.uniqueArray(fc.constantFrom(...Object.keys(members)), { maxLength: 3 }).chain((names) =>
    fc.tuple(...names.map((name) => mostly(members[name]!))).map((values) => {
      const plain = Object.entries(usual[api]).map(([name, value]) => [name, JSON.stringify(value)] as const);
      const all = new Map([...plain, ...names.map((name, at) => [name, values[at]!] as const)]);
      return `{${[...all].map(([name, value]) => `"${name}":${value}`).join(',')}}`;
    }),
  );

const tape = new Document();
const rules: readonly (readonly [Api, RequestRules<never>])[] = [
  ['messages', messagesRules],
  ['count', countRules],
  ['chat', chatRules],
  ['responses', responsesRules],
] as never;

const hasExact = (value: unknown): boolean =>
  value instanceof ExactNumber || (typeof value === 'object' && value !== null && Object.values(value).some(hasExact));

test.each(rules)('%s: what is checked on the tape is what the schema says', (api, { passing: { schema } }) => {
  const check = conforms(schema as z.ZodObject);
  let valid = 0;
  fc.assert(
    fc.property(bodyOf(api), (text) => {
      const value = parseJson(Buffer.from(text));
      if (value instanceof Refused || !tape.scan(Buffer.from(text))) return;
      const { success } = schema.safeParse(value);
      if (success) valid += 1;
      // To zod a number that keeps its digits is an object.
      const isObject = success && hasExact(value);
      expect([check(tape, 0), text]).toEqual([isObject ? expect.anything() : success, text]);
    }),
    { numRuns: 2000 },
  );
  expect(valid).toBeGreaterThan(300);
  expect(valid).toBeLessThan(1900);
});

const parts = fc.constantFrom<unknown>(
  'x',
  { type: 'text', text: 'é"\n' },
  { type: 'thinking', thinking: 'hm' },
  { type: 'image', source: { type: 'base64', media_type: 'image/svg+xml', data: 'PHN2Zz4=' } },
  { type: 'document', title: 't', source: { type: 'text', data: 'abc' } },
  { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'abc' }] } },
  { type: 'tool_use', id: 't', name: 'f', input: { type: 'image', b: [null, true] } },
  { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'r' }] },
  { type: 'image_url', image_url: { url: 'data:image/svg+xml;utf8,<svg/>' } },
  { type: 'file', file: { file_data: 'AAAA' } },
  { type: 'refusal', refusal: 'no' },
  { type: 'input_text', text: 'abc' },
  { type: 'input_file', file_data: 'AAAA' },
  { type: 'input_audio', input_audio: { data: 'AAAA' } },
  { type: 'computer_screenshot', image_url: 'data:image/svg+xml,x' },
  { type: 'reasoning', id: 'r', encrypted_content: 'e' },
  { type: 'function_call', name: 'f', arguments: '{}' },
  { type: 'other', of: { deep: ['x'] } },
);
const tools = fc.constantFrom<unknown>(
  { name: 'f', description: 'd', input_schema: { type: 'object' }, extra: 'x' },
  { type: 'function', function: { name: 'f', parameters: { a: 'b' }, strict: true } },
  { type: 'function', name: 'f', parameters: null },
  { type: 'web_search_20250305', name: 'web_search' },
  { type: 'web_search', max_uses: 3 },
);
const escaped = (text: string): string => {
  const letters = [...text].map((each) =>
    /[a-z/]/.test(each) ? `\\u00${each.charCodeAt(0).toString(16)}` : JSON.stringify(each).slice(1, -1),
  );
  return `"${letters.join('')}"`;
};
/** The same value in other letters, and with blanks. */
const otherwise = (value: unknown): string => {
  if (typeof value === 'string') return escaped(value);
  if (Array.isArray(value)) return `[ ${value.map(otherwise).join(' ,\n')} ]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, member]) => ` ${escaped(name)} :${otherwise(member)}`)
    .join(',')}}`;
};

test.each(Object.keys(usual) as Api[])('%s: however a body is written, the same is read', (api) => {
  const content = fc.array(parts, { maxLength: 3 });
  const over = fc.record(
    {
      [api === 'responses' ? 'input' : 'messages']: fc.array(
        fc.record({ role: fc.constant('user'), content }, { requiredKeys: ['content'] }),
        { minLength: 1, maxLength: 3 },
      ),
      tools: fc.array(tools, { maxLength: 2 }),
      stream: fc.boolean(),
      stream_options: fc.constantFrom({}, { include_usage: false }, { include_usage: true }, null),
      context_management: fc.constantFrom({ edits: [{ type: 'compact_1' }] }, { edits: [] }, null),
      policy_ids: fc.constantFrom([], ['pol_1'], null),
      prediction: fc.constantFrom({ content: 'abcdef' }, { content: [] }, null),
      metadata: fc.constant({ models: 'x', file_id: 'f' }),
      unheard_of: parts,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(over, (more) => {
      const { sent, ...plain } = taken(api, more);
      const written = prepared(readers[api], otherwise({ ...usual[api], ...more }));
      if (written instanceof Refused || written.sent === null || sent === null) throw new Error('refused');
      const { sent: sentThen, ...then } = written;
      expect(then).toEqual(plain);
      const values = [sent, sentThen].map((each) => 'body' in each && JSON.parse(each.body.toString()));
      expect(values[0]).toEqual(values[1]);
      expect(values[0]).toMatchObject({ model: 'up-m' });
      expect(values[0]).not.toHaveProperty('policy_ids');
    }),
    { numRuns: 600 },
  );
});

test.each<[Api, object, number]>([
  ['messages', { output_format: { type: 'json_schema', schema: { d: 'x'.repeat(88) } } }, 8 + 51],
  ['messages', { messages: [{ role: 'user', content: ['x'.repeat(88)] }] }, 8 + 30],
  ['messages', { system: ['x'.repeat(88)] }, 8 + 31],
  ['messages', {}, 8 + 2],
  ['messages', { system: [{ type: 'text', text: 'abcd' }] }, 8 + 3],
  ['messages', { messages: [{ role: 'r'.repeat(70), content: [] }] }, 8 + 24],
  ['messages', { messages: [{ content: [{ type: 'document', source: { data: 'A'.repeat(65_537) } }] }] }, 8 + 3200],
  ['messages', { messages: [{ content: [{ type: 'document', title: 'abc', context: 'def' }] }] }, 8 + 1600 + 2],
  ['messages', { unheard_of: 'abc' }, 8 + Math.ceil((5 + 10 + 4 + 5) / 3)],
  ['messages', { output_config: { format: { type: 'x', schema: {} } } }, 8 + Math.ceil(7 / 3)],
  ['chat', {}, 8 + 2],
  ['chat', { messages: [{ content: [{ type: 'image_url', image_url: 'data:image/png,AA' }] }] }, 1608],
  ['chat', { messages: [{ content: [{ type: 'video_url', video_url: { url: 'A'.repeat(65_537) } }] }] }, 3208],
  ['chat', { messages: [{ content: null, tool_calls: [{ function: { name: 'abc', arguments: 'abc' } }] }] }, 10],
  ['responses', {}, 8 + 2],
  ['responses', { instructions: 'abcd' }, 8 + 3],
  ['responses', { input: [{ content: [{ type: 'input_file', file_data: 'A' }] }] }, 1608],
  ['responses', { input: [{ type: 'computer_call_output' }] }, 8 + 2],
])('%s with %j is estimated', (api, over, tokens) => {
  expect(taken(api, over).estimatedTokens).toBe(tokens);
});

const deep = { a: [{ file_id: 'f' }] };
test.each<[Api, object, string | null]>([
  ['messages', { model: '' }, 'model'],
  ['messages', { max_tokens: undefined }, 'max_tokens'],
  ['messages', { max_tokens: 0 }, 'max_tokens'],
  ['messages', { max_tokens: 999_991 }, 'max_tokens'],
  ['messages', { max_tokens: 1.5 }, 'max_tokens'],
  ['messages', { messages: [] }, 'messages'],
  ['messages', { thread: 'th_1' }, 'thread'],
  ['messages', { container: 'c' }, 'container'],
  ['messages', { x: deep }, 'x.a.0.file_id'],
  ['messages', { x: { FILE_ID: 1 } }, 'x.FILE_ID'],
  ['messages', { x: { '\ufb01le_id': 1 } }, 'x.\ufb01le_id'],
  ['messages', { max_to\u212aens: 1 }, 'max_to\u212aens'],
  ['messages', { output_config: { format: { schema: {} } } }, 'output_config.format.type'],
  ['messages', { n: 1 }, 'n'],
  ['chat', { messages: [] }, 'messages'],
  ['chat', { n: 0 }, 'n'],
  ['chat', { n: 129 }, 'n'],
  ['chat', { stream: 'true' }, 'stream'],
  ['chat', { store: true }, 'store'],
  ['chat', { conversation: 'c' }, 'conversation'],
  ['chat', { messages: [{ audio: { id: 'a' } }] }, 'messages.0.audio'],
  ['chat', { audio: { voice: { id: 'v' } } }, 'audio.voice'],
  ['chat', { max_output_tokens: 3 }, 'max_output_tokens'],
  ['responses', { input: [] }, 'input'],
  ['responses', { input: 3 }, 'input'],
  ['responses', { max_output_tokens: 0 }, 'max_output_tokens'],
  ['responses', { previous_response_id: 'r' }, 'previous_response_id'],
  ['responses', { input: [{}, { type: 'item_reference', id: 'x' }] }, 'input.1'],
  ['responses', { input: [{ id: 'x', status: 'done', content: [] }] }, 'input.0'],
  ['responses', { input: [{ type: 'reasoning', id: 'x', summary: ['s'] }] }, 'input.0'],
  ['responses', { tools: [{ type: 'code_interpreter', container: 'c' }] }, 'tools.0.container'],
  ['responses', { tools: [{ connector_id: 'c', authorization: '' }] }, 'tools.0.connector_id'],
  ['messages', { x: { input: deep, metadata: deep } }, null],
  ['chat', { background: false, store: null }, null],
  ['chat', { x: { file_id: null } }, null],
  ['responses', { tools: [{ connector_id: 'c', authorization: 'mine', container: {} }] }, null],
  ['responses', { input: [{ type: 'reasoning', id: 'x', encrypted_content: 'e' }] }, null],
  ['messages', { model: 'theirs', x: deep, container: 'c' }, null],
  ['responses', { model: 'theirs', previous_response_id: 'r' }, null],
])('%s with %j is refused at %s', (api, over, param) => {
  const made = read(api, over);
  expect(made instanceof Refused ? made.refusal.param : null).toBe(param);
  // Only to write the refusal a value is made.
  const bytes = Buffer.from(JSON.stringify({ ...usual[api], ...over }));
  const scanned = readers[api](bytes, principal, { ...here, mostParsed: 0 });
  // A thread is state that is refused without a place.
  expect(scanned instanceof Refused || scanned === null).toBe(param !== null);
});

describe('what is reserved for the answer', () => {
  test.each<[Api, object, number]>([
    ['messages', { max_tokens: 7.0 }, 7],
    ['count', {}, 0],
    ['chat', { max_tokens: 7 }, 7],
    ['chat', { max_completion_tokens: 9 }, 9],
    ['chat', { max_tokens: 1, max_completion_tokens: 999_990 }, 999_990],
    ['chat', { max_tokens: 999_990, max_completion_tokens: 1 }, 999_990],
    ['chat', { max_tokens: 5, n: 3 }, 15],
    ['chat', { max_tokens: 5, n: 2, best_of: 4 }, 20],
    ['chat', { max_tokens: 5, prediction: { content: 'abcd' } }, 7],
    ['chat', { n: 2 }, 6000],
    ['chat', { max_tokens: null }, 3000],
    ['chat', { model: 'long' }, 4096],
    ['responses', {}, 3000],
    ['responses', { max_output_tokens: 5 }, 5],
  ])('%s with %j', (api, over, expected) => {
    expect(taken(api, over).maxTokens).toBe(expected);
  });

  test('grows beyond it without a named maximum', () => {
    expect(taken('chat', { model: 'long', n: 2 })).toMatchObject({ grows: true, longest: 2 * 999_990 });
    expect(taken('responses', { model: 'long' })).toMatchObject({ grows: true, longest: 999_990 });
    expect(taken('chat', { max_tokens: 3 })).toMatchObject({ grows: false, longest: 3 });
  });
});

test.each<[Api, object, object]>([
  ['messages', { tools: [{ name: 'f' }, { type: 'custom' }] }, { turns: 1, searches: 0 }],
  ['messages', { tools: [{ type: 'web_search_1', max_uses: 5 }] }, { turns: 100, searches: 5 }],
  ['messages', { mcp_servers: [] }, { turns: 100 }],
  ['messages', { context_management: { edits: [{ type: 'compact_1' }] } }, { turns: 100 }],
  ['messages', { context_management: { edits: [{ type: 'clear' }] } }, { turns: 1, said: { managesContext: true } }],
  ['messages', { model: 'long', tools: [{ type: 'web_search' }] }, { searches: 1000 }],
  ['chat', { tools: [{ type: 'web_search', max_uses: 5 }] }, { turns: 1, searches: 100 }],
  ['responses', { tools: [{ type: 'web_search' }], max_tool_calls: 3 }, { turns: 100, searches: 3 }],
  ['responses', { input: [{ type: 'x', tools: [{ type: 'file_search' }] }] }, { turns: 100, searches: 100 }],
  ['responses', { model: 'long', max_tool_calls: 3 }, { searches: 1000 }],
  ['messages', { system: [{ type: 'image' }], input: [{ type: 'image' }] }, { images: 1 }],
  ['responses', { input: [{ content: [{ type: 'input_image' }] }], messages: [{ type: 'image' }] }, { images: 1 }],
])('%s with %j: %j', (api, over, expected) => {
  expect(taken(api, over)).toMatchObject(expected);
});

const stateless = { store: false, include: ['reasoning.encrypted_content'] };

test.each<[Api, object, object]>([
  ['messages', { policy_ids: null, x: 1 }, { ...usual.messages, model: 'up-m', x: 1 }],
  ['chat', { stream: true }, { ...usual.chat, model: 'up-m', stream: true, stream_options: { include_usage: true } }],
  [
    'chat',
    { stream: true, stream_options: { a: 1, include_usage: false } },
    { ...usual.chat, model: 'up-m', stream: true, stream_options: { a: 1, include_usage: true } },
  ],
  ['responses', {}, { ...usual.responses, model: 'up-m', ...stateless }],
  ['responses', { store: null }, { ...usual.responses, model: 'up-m', ...stateless }],
  ['responses', { model: 'theirs' }, { ...usual.responses, model: 'up-theirs' }],
])('%s with %j is sent as %j', (api, over, sent) => {
  expect(sentBy(api, over)).toEqual(sent);
});
