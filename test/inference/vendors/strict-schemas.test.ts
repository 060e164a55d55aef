import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isStrict } from '../../../src/data/upstream/openai/strict-schema.ts';
import { type Api, type Fields, vendors } from './stage.ts';

/** OpenAI refuses strict schemas outside its subset; the client says whether one is strict (contract G). */

const fault = (schema: Fields | undefined): string | null => {
  if (schema === undefined) return null;
  const { type, properties = {}, required = [], additionalProperties, items } = schema;
  if (type === 'object' && additionalProperties !== false)
    return "'additionalProperties' is required to be supplied and to be false.";
  const missing = Object.keys(properties).find((name) => !required.includes(name));
  if (missing !== undefined) return `Missing '${missing}' in 'required'.`;
  return [...Object.values(properties), items].map((each) => fault(each as Fields)).find((each) => each) ?? null;
};
const judged = (format: Fields | undefined): string | null =>
  format?.type === 'json_schema' && format.strict === true ? fault(format.schema) : null;

let at: Awaited<ReturnType<typeof vendors>>;
beforeAll(async () => {
  at = await vendors({
    chat: ({ response_format: of }) => judged(of && { ...of.json_schema, type: of.type }),
    responses: ({ text }) => judged(text?.format),
  });
});
afterAll(() => at.close());

const a = { type: 'number' };
const full = {
  type: 'object',
  properties: { a, b: { type: 'string' } },
  required: ['a', 'b'],
  additionalProperties: false,
};
const optional = { ...full, required: ['a'] };
const open = { type: 'object', properties: { a } };
const nested = { ...full, properties: { a: { type: 'array', items: open }, b: open } };

const formatTold = ({ sent }: { readonly sent: Fields | null }): Fields =>
  sent?.text?.format ?? sent?.response_format.json_schema;
const asks: Readonly<Record<Api, (schema: Fields, strict?: boolean | null) => Fields>> = {
  messages: (schema) => ({ output_config: { format: { type: 'json_schema', schema } } }),
  chat: (schema, strict) => ({ response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict } } }),
  responses: (schema, strict) => ({ text: { format: { type: 'json_schema', name: 'n', schema, strict } } }),
};

describe.each(['chat', 'responses'] as const)('to %s', (model) => {
  test.each([
    ['an optional property', optional],
    ['an open object', open],
    ['open objects within', nested],
  ])('%s is not strict unless the client says so', async (_, schema) => {
    for (const api of ['messages', 'chat', 'responses'] as const) {
      const answer = await at.ask(api, model, asks[api](schema));
      expect(answer.status, JSON.stringify(answer.answer)).toBe(200);
      expect(formatTold(answer)).toMatchObject({ strict: false, schema });
      if (api === 'messages') continue;
      expect(formatTold(await at.ask(api, model, asks[api](schema, null))).strict).toBe(false);
      expect(formatTold(await at.ask(api, model, asks[api](schema, false))).strict).toBe(false);
      const strictly = await at.ask(api, model, asks[api](schema, true));
      expect([strictly.status, formatTold(strictly).strict]).toEqual([400, true]);
    }
  });

  test('a schema within the subset is strict unless the client says otherwise', async () => {
    for (const api of ['messages', 'chat', 'responses'] as const) {
      expect(formatTold(await at.ask(api, model, asks[api](full)))).toMatchObject({ strict: true, schema: full });
      if (api !== 'messages') expect(formatTold(await at.ask(api, model, asks[api](full, false))).strict).toBe(false);
    }
  });
});

test('servers of messages are told of no strict', async () => {
  for (const api of ['chat', 'responses'] as const) {
    const { sent } = await at.ask(api, 'messages', asks[api](full, true));
    expect(sent!.output_config).toEqual({ format: { type: 'json_schema', schema: full } });
  }
});

describe('the subset', () => {
  const of = (more: object) => ({ ...full, properties: { a, b: more } });
  const deep = (levels: number): object => (levels === 0 ? a : { type: 'array', items: deep(levels - 1) });
  test.each<[string, object, boolean]>([
    ['bounds', of({ type: 'integer', minimum: 1, multipleOf: 2 }), true],
    ['a type or null', of({ type: ['string', 'null'], enum: ['x', null] }), true],
    ['anyOf within', of({ anyOf: [a, { $ref: '#/$defs/x' }] }), true],
    ['definitions', { ...full, $defs: { x: full } }, true],
    ['open definitions', { ...full, $defs: { x: open } }, false],
    ['an open object in anyOf', of({ anyOf: [open, a] }), false],
    ['an object or null that is open', of({ type: ['object', 'null'], properties: {}, required: [] }), false],
    ['allOf', of({ allOf: [a] }), false],
    ['a default', of({ type: 'string', default: 'x' }), false],
    ['another format', of({ type: 'string', format: 'uri' }), false],
    ['no type', of({ enum: ['x'] }), false],
    ['a list of anything', of({ type: 'array' }), false],
    ['true for a schema', { ...full, properties: { a, b: true } }, false],
    ['anyOf at the top', { ...full, anyOf: [full] }, false],
    ['another type at the top', { type: 'array', items: full }, false],
    ['nine levels', of(deep(8)), true],
    ['eleven levels', of(deep(9)), false],
  ])('%s', (_, schema, expected) => {
    expect(isStrict({ type: 'json_schema', schema: schema as Fields })).toBe(expected);
  });
});
