import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { messagesStateRefusal } from '../../src/data/api/messages/messages-state.ts';
import { type PassingBody, passingBody, passingCount } from '../../src/data/api/messages/passing-schema.ts';
import { type QuickBody, quickBody } from '../../src/data/api/messages/quick-passing.ts';
import { quickModel } from '../../src/data/request/body-reader.ts';
import { type Estimable, estimateInputTokens } from '../../src/data/upstream/estimate.ts';
import { Refused } from '../../src/http/refused.ts';
import { parseJson } from '../../src/http/request/json.ts';
import { Document } from '../../src/json/document.ts';
import { jsonTexts } from './json-texts.ts';

/** What is read without being parsed is what the schema and the rules would have read of it. */

vi.setConfig({ testTimeout: 120_000 });

const tape = new Document();

const quickly = (text: string, needsMax = true): QuickBody | null => {
  const bytes = Buffer.from(text);
  if (!tape.scan(bytes)) return null;
  const name = quickModel(tape);
  return name === null ? null : quickBody(tape, bytes, name, needsMax);
};

/** What reading it by parsing gives; null for a body that is refused, or names what Weir has to take out. */
const slowly = (text: string, needsMax = true): { fields: PassingBody; estimatedTokens: number } | null => {
  const value = parseJson(Buffer.from(text));
  if (value instanceof Refused) return null;
  const { data } = (needsMax ? passingBody : passingCount).safeParse(value);
  const fields = data as PassingBody | undefined;
  if (fields === undefined || messagesStateRefusal(fields) !== null || fields.policy_ids != null) return null;
  return { fields, estimatedTokens: estimateInputTokens(fields as unknown as Estimable) };
};

const agree = (text: string, needsMax = true): boolean => {
  const quick = quickly(text, needsMax);
  if (quick === null) return false;
  const slow = slowly(text, needsMax);
  if (slow === null) throw new Error(`read although it has to be refused: ${text}`);
  const { fields, estimatedTokens } = slow;
  expect(quick.fields).toEqual({
    model: fields.model,
    max_tokens: fields.max_tokens,
    stream: fields.stream === true,
    context_management: fields.context_management == null ? null : {},
    policy_ids: null,
  });
  expect(quick.estimatedTokens).toBe(estimatedTokens);
  const written = Buffer.from(text).toString('utf8', quick.modelStart, quick.modelEnd);
  expect(JSON.parse(written)).toBe(fields.model);
  return true;
};

const { string, number, anyJson, objectOf, listOf, flag } = jsonTexts({
  strings: ['"\\u0041\\ud83d\\ude00\\/"'],
  numbers: ['0.5', '1.0', '-0', '9007199254740993', '1e2', '0.0000001', '123456789012345678901'],
  names: ['a', 't\\u0065xt', 'type', 'é', 'file_id', 'text', '1'],
});
const object = fc
  .dictionary(fc.constantFrom('type', 'properties', 'x'), fc.integer())
  .map((value) => JSON.stringify(value));
const drawing = objectOf({
  media_type: fc.constantFrom('"image/svg+xml"', '"image\\/svg+xml"', '"image/png"'),
  data: string,
});
const block = fc.oneof(
  objectOf({ type: fc.constant('"text"'), text: string, citations: anyJson }, ['type']),
  objectOf({ type: fc.constant('"thinking"'), thinking: string, signature: string }, ['type']),
  objectOf({ type: fc.constant('"image"'), source: object }, ['type']),
  objectOf({ type: fc.constant('"image"'), source: drawing }, ['type']),
  objectOf({ type: fc.constant('"tool_use"'), id: string, name: string, input: anyJson }, ['type']),
  objectOf({ type: fc.constant('"tool_result"'), tool_use_id: string, content: fc.oneof(string, anyJson) }, ['type']),
  objectOf({ type: fc.constant('"server_tool_use"'), input: anyJson }, ['type']),
  objectOf({ type: fc.constant('"document"'), title: string }, ['type']),
);
const content = fc.oneof(string, listOf(block));
const body = objectOf(
  {
    model: fc.constantFrom('"m"', '"other model"', '"\\u006d"'),
    max_tokens: fc.constantFrom('1', '999990', '100', '7.0'),
    messages: listOf(objectOf({ role: string, content }), 1),
    system: fc.oneof(content, fc.constant('null')),
    stream: flag,
    temperature: number,
    top_p: number,
    top_k: fc.constantFrom('null', '40'),
    stop_sequences: listOf(string),
    tools: fc.oneof(
      listOf(objectOf({ name: string, description: string, input_schema: fc.oneof(object, anyJson), more: anyJson })),
      fc.constant('null'),
    ),
    mcp_servers: anyJson,
    tool_choice: objectOf({ type: string, name: string, disable_parallel_tool_use: flag }),
    thinking: objectOf({ type: string, budget_tokens: fc.constantFrom('1024', '-3', '2.0') }),
    output_config: objectOf({
      format: objectOf({ type: string, schema: fc.oneof(object, fc.constant('null')) }, ['type']),
    }),
    context_management: fc.oneof(object, fc.constant('null')),
    metadata: object,
    policy_ids: fc.constant('null'),
    thread: fc.constant('null'),
    container: fc.constant('null'),
    service_tier: anyJson,
  },
  ['model', 'max_tokens', 'messages'],
);

describe('a body that is passed on', () => {
  test('is read as if it were parsed', () => {
    let quick = 0;
    fc.assert(
      fc.property(body, fc.boolean(), (text, needsMax) => {
        if (agree(text, needsMax)) quick += 1;
      }),
      { numRuns: 3000 },
    );
    // Rare things are in many of them; what usual clients send is in the test below.
    expect(quick).toBeGreaterThan(300);
  });

  const usual = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };
  test.each([
    ['the least that there is', usual],
    [
      'everything that an agent sends',
      {
        ...usual,
        system: [{ type: 'text', text: 'Be "brief"\n', cache_control: { type: 'ephemeral' } }],
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'é' },
              { type: 'image', source: { type: 'base64', data: 'AA==' } },
            ],
          },
          {
            role: 'assistant',
            content: [{ type: 'tool_use', id: 't', name: 'Read', input: { path: 'a\\b', depth: [1, 0.5] } }],
          },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: '1\n2' }] }],
          },
        ],
        tools: [
          { name: 'Read', description: 'Reads', input_schema: { type: 'object', properties: {} } },
          { type: 'web_search_20250305', name: 'web_search' },
        ],
        tool_choice: { type: 'auto' },
        thinking: { type: 'enabled', budget_tokens: 1024 },
        output_config: { format: { type: 'json_schema', schema: { type: 'object' } }, effort: 'high' },
        context_management: { edits: [] },
        metadata: { user_id: 'u' },
        stream: true,
        temperature: 1,
      },
    ],
  ])('%s is read without being parsed', (_, value) => {
    expect(agree(JSON.stringify(value))).toBe(true);
  });

  test.each([
    ['a model without a name', { ...usual, model: '' }],
    ['no max_tokens', { ...usual, max_tokens: undefined }],
    ['no token', { ...usual, max_tokens: 0 }],
    ['a token too many', { ...usual, max_tokens: 999_991 }],
    ['half a token', { ...usual, max_tokens: 1.5 }],
    ['no messages', { ...usual, messages: [] }],
    ['a thread', { ...usual, thread: 'th_1' }],
    ['a container', { ...usual, container: 'c' }],
    ['policies', { ...usual, policy_ids: ['pol_1'] }],
    ['an empty list of policies, which is taken out', { ...usual, policy_ids: [] }],
    ['a file', { ...usual, messages: [{ role: 'user', content: [{ type: 'image', source: { file_id: 'f' } }] }] }],
    ['an output format without a type', { ...usual, output_config: { format: { schema: {} } } }],
    [
      'a document, whose pages are counted',
      { ...usual, messages: [{ role: 'user', content: [{ type: 'document' }] }] },
    ],
  ])('%s is left to the schema', (_, value) => {
    expect(quickly(JSON.stringify(value))).toBeNull();
  });

  test('max_tokens at its bounds is read', () => {
    for (const max_tokens of [1, 999_990]) expect(agree(JSON.stringify({ ...usual, max_tokens }))).toBe(true);
    expect(agree(JSON.stringify({ ...usual, max_tokens: undefined }), false)).toBe(true);
  });
});
