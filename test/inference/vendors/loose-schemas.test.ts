import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Fields, vendors } from './stage.ts';

/** Servers of messages want every object of a format closed (contract G.1). */

const openIn = (schema: Fields | undefined): boolean =>
  schema !== undefined &&
  ((schema.type === 'object' && schema.additionalProperties !== false) ||
    [
      ...Object.values(schema.properties ?? {}),
      ...Object.values(schema.$defs ?? {}),
      schema.items,
      ...(schema.anyOf ?? []),
    ].some((each) => openIn(each as Fields | undefined)));
let at: Awaited<ReturnType<typeof vendors>>;
beforeAll(async () => {
  at = await vendors({
    messages: ({ output_config: output }) =>
      openIn(output?.format?.schema)
        ? "For 'object' type, 'additionalProperties' must be explicitly set to false"
        : null,
  });
});
afterAll(() => at.close());

const chat = (schema: Fields, strict?: boolean) =>
  at.ask('chat', 'messages', { response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict } } });
const responses = (schema: Fields, strict?: boolean) =>
  at.ask('responses', 'messages', { text: { format: { type: 'json_schema', name: 'n', schema, strict } } });
const messages = (schema: Fields) =>
  at.ask('messages', 'messages', { output_config: { format: { type: 'json_schema', schema } } });

const a = { type: 'number' };
const of = (more: Fields): Fields => ({ type: 'object', properties: { a: more } });
const closedOf = (more: Fields): Fields => ({ ...of(more), additionalProperties: false });

test.each<[string, Fields, Fields]>([
  ['an object', of(a), closedOf(a)],
  ['what is closed', closedOf(a), closedOf(a)],
  ['objects within', of({ type: 'array', items: of(a) }), closedOf({ type: 'array', items: closedOf(a) })],
  ['one of several', of({ anyOf: [of(a), a] }), closedOf({ anyOf: [closedOf(a), a] })],
  [
    'an object or null',
    of({ ...of(a), type: ['object', 'null'] }),
    closedOf({ ...closedOf(a), type: ['object', 'null'] }),
  ],
  [
    'definitions',
    { ...of({ $ref: '#/$defs/x' }), $defs: { x: of(a) } },
    { ...closedOf({ $ref: '#/$defs/x' }), $defs: { x: closedOf(a) } },
  ],
  [
    'properties of the names of keywords',
    of({ ...of(a), properties: { allOf: a } }),
    closedOf({ ...closedOf(a), properties: { allOf: a } }),
  ],
])('%s is closed on the way', async (_, schema, expected) => {
  for (const ask of [chat, responses, messages]) {
    const { status, text, sent } = await ask(schema);
    expect(status, text).toBe(200);
    expect(sent!.output_config).toEqual({ format: { type: 'json_schema', schema: expected } });
  }
});

describe('what closing would change', () => {
  const each: [string, Fields, string][] = [
    ['a free map', of({ type: 'object' }), 'properties.a'],
    ['a map of numbers', of({ type: 'object', additionalProperties: a }), 'properties.a.additionalProperties'],
    ['an explicit true', { ...of(a), additionalProperties: true }, 'additionalProperties'],
    ['allOf', { allOf: [of(a), of(a)] }, 'allOf'],
    ['names by a pattern', of({ type: 'object', patternProperties: { x: a } }), 'properties.a.patternProperties'],
    ['a required name that is not described', { ...of(a), required: ['b'] }, 'required'],
    ['properties of branches', { ...of(a), anyOf: [of(a)] }, 'anyOf'],
  ];

  test.each(each)('%s is refused by its place', async (_, schema, path) => {
    for (const strict of [undefined, true]) {
      const { status, answer, sent } = await chat(schema, strict);
      expect([status, answer.error.code, answer.error.param, sent]).toEqual([
        400,
        'unsupported_parameter',
        `response_format.json_schema.schema.${path}`,
        null,
      ]);
    }
    expect((await responses(schema)).answer.error.param).toBe(`text.format.schema.${path}`);
    const { status, answer } = await messages(schema);
    expect([status, answer.error.param]).toEqual([422, `output_config.format.schema.${path}`]);
  });

  test.each(each)('%s is told in words to a client that relies on nothing', async (_, schema) => {
    for (const ask of [chat, responses]) {
      const { status, sent } = await ask(schema, false);
      expect([status, sent!.output_config]).toEqual([200, undefined]);
      expect(sent!.system).toEqual([{ type: 'text', text: expect.stringContaining(JSON.stringify(schema)) }]);
    }
  });
});

test('any object is asked for in words, after those of the client', async () => {
  const words = { type: 'text', text: 'Answer with one JSON object, and with nothing else.' };
  const system = { role: 'system', content: 'Be short.' };
  const asked = await at.ask('chat', 'messages', {
    messages: [system, { role: 'user', content: 'x' }],
    response_format: { type: 'json_object' },
  });
  expect(asked.sent).toMatchObject({ system: [{ type: 'text', text: 'Be short.' }, words] });
  expect(asked.sent).not.toHaveProperty('output_config');
  const other = await at.ask('responses', 'messages', {
    text: { format: { type: 'json_object' } },
    reasoning: { effort: 'low' },
  });
  expect(other.sent).toMatchObject({ system: [words], output_config: { effort: 'low' } });
});
