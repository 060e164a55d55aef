import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { quickChatBody } from '../../../src/data/api/chat/quick-passing.ts';
import { passingChat } from '../../../src/data/api/chat/read-passing.ts';
import { quickModel } from '../../../src/data/request/body-reader.ts';
import { Refused } from '../../../src/http/refused.ts';
import { parseJson } from '../../../src/http/request/json.ts';
import { Document, lentDocument } from '../../../src/json/document.ts';
import { edited } from '../../../src/json/edits.ts';
import { hosted, model } from '../hosted.ts';
import { jsonTexts } from '../json-texts.ts';
import { ScriptedUpstream } from '../scripted-upstream.ts';

/** What is read without being parsed is what the schema and the rules would have read of it. */

vi.setConfig({ testTimeout: 120_000 });

const tape = new Document();
const upstream = hosted(new ScriptedUpstream(), model({ max_output_length: 3000 })).get('m')!;

const quickly = (text: string) => {
  const bytes = Buffer.from(text);
  if (!tape.scan(bytes)) return null;
  const name = quickModel(tape);
  return name === null ? null : quickChatBody(tape, bytes, name, upstream);
};

const slowly = (text: string) => {
  const bytes = Buffer.from(text);
  const value = parseJson(bytes);
  return value instanceof Refused ? value : passingChat.loose(value, upstream, lentDocument);
};

/** Whether it is read quickly; if so, as slowly. */
const agree = (text: string): boolean => {
  const quick = quickly(text);
  if (quick === null) return false;
  const slow = slowly(text);
  if (slow instanceof Refused) throw new Error(`read although it has to be refused: ${text}`);
  const { fields, estimatedTokens, maxTokens, grows, edits, hidesUsage, modelStart, modelEnd } = quick;
  expect({ estimatedTokens, maxTokens, grows }).toEqual({
    estimatedTokens: slow.estimatedTokens,
    maxTokens: slow.maxTokens,
    grows: slow.grows,
  });
  expect({ ...fields, policy_ids: null }).toEqual({ ...slow.fields, policy_ids: null });
  expect(JSON.parse(Buffer.from(text).toString('utf8', modelStart, modelEnd))).toBe(fields.model);
  const sent = (all: typeof edits = []): unknown => JSON.parse(edited(Buffer.from(text), all).toString());
  expect(sent(edits)).toEqual(sent(slow.edits));
  expect(hidesUsage).toBe(slow.hidesUsage);
  const { stream, stream_options: options } = sent(edits) as Record<string, Record<string, unknown>>;
  if ((stream as unknown) === true) expect(options!.include_usage).toBe(true);
  return true;
};

const { string, number, anyJson, objectOf, listOf, constant, flag } = jsonTexts({
  strings: ['"\\u0041\\ud83d\\ude00\\/"', '"data:image/svg+xml;utf8,<svg/>"', '"data:im\\u0061ge/svg+xml"'],
  numbers: ['0.5', '1.0', '9007199254740993', '0.0000001', '1e2'],
  names: ['a', 't\\u0065xt', 'type', 'é', 'file_id', 'text', 'audio'],
});
const called = objectOf({ name: string, arguments: string });
const part = fc.oneof(
  objectOf({ type: constant('text'), text: string }, ['type']),
  objectOf({ type: constant('refusal'), refusal: string }, ['type']),
  objectOf({ type: constant('image_url'), image_url: objectOf({ url: string }) }, ['type']),
  objectOf({ type: constant('file'), file: objectOf({ file_data: string }) }, ['type']),
  objectOf({ type: constant('video_url'), video_url: objectOf({ url: string }) }, ['type']),
);
const body = objectOf(
  {
    model: fc.constantFrom('"m"', '"other model"', '"\\u006d"'),
    messages: listOf(
      objectOf({
        role: string,
        content: fc.oneof(string, listOf(part), fc.constant('null')),
        tool_calls: fc.oneof(
          listOf(objectOf({ id: string, type: string, function: called, custom: called })),
          fc.constant('null'),
        ),
        tool_call_id: string,
        name: string,
        reasoning_content: string,
        function_call: called,
        audio: fc.constant('null'),
      }),
      1,
    ),
    max_tokens: fc.constantFrom('null', '1', '999990', '7.0'),
    max_completion_tokens: fc.constantFrom('null', '1', '999990', '50'),
    n: fc.constantFrom('null', '1', '128', '2'),
    stream: flag,
    stream_options: fc.oneof(objectOf({ include_usage: flag, include_obfuscation: flag }), fc.constant('null')),
    temperature: fc.oneof(number, fc.constant('null')),
    top_p: number,
    stop: fc.oneof(string, listOf(string), fc.constant('null')),
    tools: fc.oneof(
      listOf(
        objectOf({
          type: string,
          function: objectOf({ name: string, description: string, parameters: fc.oneof(anyJson, fc.constant('null')) }),
          more: anyJson,
        }),
      ),
      fc.constant('null'),
    ),
    functions: listOf(called),
    response_format: objectOf({
      type: string,
      json_schema: objectOf({ name: string, description: string, schema: anyJson }),
    }),
    store: fc.constantFrom('false', 'null'),
    background: fc.constantFrom('false', 'null'),
    conversation: fc.constant('null'),
    policy_ids: fc.constant('null'),
    logit_bias: anyJson,
    chat_template_kwargs: anyJson,
  },
  ['model', 'messages'],
);

test('a body is read as if it were parsed', () => {
  let quick = 0;
  fc.assert(
    fc.property(body, (text) => {
      if (agree(text)) quick += 1;
    }),
    { numRuns: 3000 },
  );
  // Rare things are in many of them; what usual clients send is in the test below.
  expect(quick).toBeGreaterThan(300);
});

const usual = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };

test.each<[string, object]>([
  ['the least that there is', usual],
  ['a stream', { ...usual, stream: true }],
  [
    'everything that an agent sends',
    {
      ...usual,
      messages: [
        { role: 'system', content: 'Be "brief"\n' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'é' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          refusal: null,
          tool_calls: [{ id: 't', type: 'function', function: { name: 'Read', arguments: '{"path":"a\\\\b"}' } }],
        },
        { role: 'tool', tool_call_id: 't', content: '1\n2' },
      ],
      tools: [{ type: 'function', function: { name: 'Read', parameters: { type: 'object' }, strict: true } }],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } },
      max_completion_tokens: 100,
      reasoning_effort: 'high',
      stream: true,
      stream_options: { include_usage: true },
      store: false,
      metadata: { a: 'b' },
      temperature: 1,
    },
  ],
])('%s is read without being parsed', (_, value) => {
  expect(agree(JSON.stringify(value))).toBe(true);
});

test.each<[string, object]>([
  ['a model without a name', { model: '' }],
  ['no messages', { messages: [] }],
  ['no token', { max_tokens: 0 }],
  ['a token too many', { max_completion_tokens: 999_991 }],
  ['half a token', { max_tokens: 1.5 }],
  ['no choice', { n: 0 }],
  ['too many choices', { n: 129 }],
  ['policies', { policy_ids: ['pol_1'] }],
  ['an empty list of policies, which is taken out', { policy_ids: [] }],
  ['a file', { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] }],
  ['what is to be kept', { store: true }],
  ['a conversation', { conversation: 'c' }],
  ['a spoken answer', { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }],
  ['a stream that is a word', { stream: 'true' }],
])('%s is left to the schema', (_, over) => {
  expect(quickly(JSON.stringify({ ...usual, ...over }))).toBeNull();
});

describe('what is reserved for the answer', () => {
  const reserved = (over: object): number => {
    const text = JSON.stringify({ ...usual, ...over });
    expect(agree(text)).toBe(true);
    return quickly(text)!.maxTokens;
  };

  test.each<[object, number]>([
    [{ max_tokens: 7 }, 7],
    [{ max_completion_tokens: 9 }, 9],
    [{ max_tokens: 1, max_completion_tokens: 999_990 }, 999_990],
    [{ max_tokens: 999_990, max_completion_tokens: 1 }, 999_990],
    [{ max_tokens: 5, n: 3 }, 15],
    [{ n: 2 }, 6000],
    [{ max_tokens: null }, 3000],
  ])('%j', (over, expected) => {
    expect(reserved(over)).toBe(expected);
  });

  test('without a bound is 4,096 tokens at most', () => {
    const large = hosted(new ScriptedUpstream(), model()).get('m')!;
    const bytes = Buffer.from(JSON.stringify(usual));
    expect(tape.scan(bytes)).toBe(true);
    expect(quickChatBody(tape, bytes, 'm', large)).toMatchObject({ maxTokens: 4096, grows: true });
  });
});
