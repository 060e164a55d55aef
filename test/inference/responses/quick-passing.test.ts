import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { quickResponsesBody } from '../../../src/data/api/responses/quick-passing.ts';
import { passingResponses } from '../../../src/data/api/responses/read-passing.ts';
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
  return name === null ? null : quickResponsesBody(tape, bytes, name, upstream);
};

/** Whether it is read quickly; if so, as by parsing. */
const agree = (text: string): boolean => {
  const quick = quickly(text);
  if (quick === null) return false;
  const bytes = Buffer.from(text);
  const value = parseJson(bytes);
  const slow = value instanceof Refused ? value : passingResponses.loose(value, upstream, lentDocument);
  if (slow instanceof Refused) throw new Error(`read although it has to be refused: ${text}`);
  const { modelStart, modelEnd, edits, fields, ...need } = quick;
  const { edits: slowEdits, fields: slowFields, ...slowNeed } = slow;
  expect(need).toEqual(slowNeed);
  expect({ ...fields, policy_ids: null }).toEqual({ ...slowFields, policy_ids: null });
  expect(JSON.parse(bytes.toString('utf8', modelStart, modelEnd))).toBe(fields.model);
  const sent = edited(bytes, edits ?? []).toString();
  expect(sent).toBe(edited(bytes, slowEdits ?? []).toString());
  expect(JSON.parse(sent).store).toBe(false);
  return true;
};

const { string, number, anyJson, objectOf, listOf, constant, flag } = jsonTexts({
  strings: ['"\\u0041\\/"', '"data:image/svg+xml;utf8,<svg/>"', '"data:im\\u0061ge/svg+xml"'],
  numbers: ['0.5', '1.0', '9007199254740993', '1e2'],
  names: ['a', 't\\u0065xt', 'type', 'é', 'file_id', 'text', 'container'],
  values: ['"item_reference"'],
});

const part = fc.oneof(
  objectOf({ type: constant('input_text'), text: string }, ['type']),
  objectOf({ type: constant('output_text'), text: string, annotations: anyJson }, ['type']),
  objectOf({ type: constant('refusal'), refusal: string }, ['type']),
  objectOf({ type: constant('input_image'), image_url: string }, ['type']),
  objectOf({ type: constant('input_file'), file_data: string }, ['type']),
  objectOf({ type: constant('input_audio'), data: string }, ['type']),
  objectOf({ type: constant('computer_screenshot'), image_url: string }, ['type']),
  objectOf({ type: string, x: anyJson }),
);
const content = fc.oneof(string, listOf(part));
const item = fc.oneof(
  objectOf({ role: string, content }),
  objectOf({ type: constant('message'), role: string, content }, ['type']),
  objectOf({ type: constant('function_call'), call_id: string, name: string, arguments: string }, ['type']),
  objectOf({ type: constant('function_call_output'), call_id: string, output: content }, ['type']),
  objectOf({ type: constant('computer_call_output'), output: fc.oneof(part, anyJson) }, ['type']),
  objectOf({ type: constant('reasoning'), summary: anyJson, encrypted_content: string }, ['type']),
);
const body = objectOf(
  {
    model: fc.constantFrom('"m"', '"other model"', '"\\u006d"'),
    input: fc.oneof(string, listOf(item, 1)),
    instructions: fc.oneof(string, fc.constant('null')),
    max_output_tokens: fc.constantFrom('null', '1', '999990', '50'),
    stream: flag,
    temperature: fc.oneof(number, fc.constant('null')),
    top_p: number,
    tools: fc.oneof(
      listOf(
        objectOf({
          type: fc.constantFrom('"function"', '"web_search"'),
          name: string,
          description: string,
          parameters: fc.oneof(anyJson, fc.constant('null')),
          notes: anyJson,
        }),
      ),
      fc.constant('null'),
    ),
    text: objectOf({ format: objectOf({ type: string, description: string, schema: anyJson }) }),
    store: fc.constantFrom('false', 'null'),
    background: fc.constantFrom('false', 'null'),
    previous_response_id: fc.constant('null'),
    policy_ids: fc.constant('null'),
    metadata: anyJson,
    documents: anyJson,
  },
  ['model', 'input'],
);

test('a body is read as if it were parsed', () => {
  let quick = 0;
  fc.assert(
    fc.property(body, (text) => {
      if (agree(text)) quick += 1;
    }),
    { numRuns: 3000 },
  );
  // Rare things are in many of them.
  expect(quick).toBeGreaterThan(300);
});

const usual = { model: 'm', input: 'Hello' };

test.each<[string, object]>([
  ['a word', usual],
  [
    'a conversation',
    { ...usual, input: [{ role: 'user', content: [{ type: 'input_text', text: 'é' }] }], stream: true },
  ],
  ['what is not to be kept', { ...usual, store: false, max_output_tokens: 5 }],
])('%s is read without being parsed', (_, value) => {
  expect(agree(JSON.stringify(value))).toBe(true);
});

test.each<[string, object]>([
  ['a model without a name', { model: '' }],
  ['no input', { input: [] }],
  ['input that is a number', { input: 3 }],
  ['no token', { max_output_tokens: 0 }],
  ['a token too many', { max_output_tokens: 999_991 }],
  ['policies', { policy_ids: [] }],
  ['an item by its id', { input: [{ type: 'item_reference', id: 'x' }] }],
  ['an id alone', { input: [{ id: 'x' }] }],
  ['a container', { tools: [{ type: 'code_interpreter', container: 'c' }] }],
  ['a file', { input: [{ content: [{ type: 'input_image', file_id: 'f' }] }] }],
  ['what is to be kept', { store: true }],
  ['an earlier answer', { previous_response_id: 'resp_1' }],
])('%s is left to the schema', (_, over) => {
  expect(quickly(JSON.stringify({ ...usual, ...over }))).toBeNull();
});
