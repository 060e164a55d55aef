// Lane: rest: it runs at length
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { document, resolved, type Schema, strictly } from './document.ts';

/**
 * Bodies of messages made from the schema of the document itself: every alternative of every union once, and then each
 * with a null, a value of another type or a foreign member in each place. Whatever it is, it is answered and no 5xx.
 */

vi.setConfig({ testTimeout: 600_000 });

let at: Awaited<ReturnType<typeof wholeGateway>>;
let key: string;
beforeAll(async () => {
  const model = {
    id: 'm',
    context_length: 1_000_000,
    max_output_length: 999_990,
    min_thinking_tokens: 1,
    input_modalities: ['text', 'image', 'file'],
    upstream: { kind: 'simulated', output_tokens: 1, thinking_tokens: 1 },
  };
  const clock = { monotonic: () => 0, wall: () => 0 };
  const models = connect(loadModels(JSON.stringify({ models: [model] }), {}), { clock, sleep: async () => {} });
  at = await wholeGateway({ models });
  key = (await at.make.tenant()).projectKey.value;
});
afterAll(() => at.close());

const taken = document.paths['/v1/messages']?.post?.requestBody?.content['application/json']?.schema as Schema;
const body = resolved(strictly(taken));

/** Values that the schema takes: each of its alternatives, and each member in each of its own. */
const variants = (given: Schema): unknown[] => {
  const schema = resolved(given) as Schema & { readonly examples?: readonly unknown[] };
  if (schema.examples) return [...schema.examples];
  if ('const' in schema) return [schema.const];
  if (schema.enum) return [...schema.enum];
  const choice = schema.anyOf ?? schema.oneOf;
  if (choice) return choice.flatMap(variants);
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]) as (string | undefined)[];
  return types.flatMap((type) => ofType(type, schema));
};

const ofType = (type: string | undefined, schema: Schema): unknown[] => {
  switch (type) {
    case 'string':
      // Four characters: base64 as well.
      return ['x'.repeat(Math.max(4, schema.minLength ?? 0))];
    case 'integer':
    case 'number':
      return [Math.max(schema.minimum ?? 1, 1)];
    case 'boolean':
      return [schema.not?.const !== true];
    case 'null':
      return [null];
    case 'array':
      return variants(schema.items ?? {}).map((item) => [item]);
    case 'object':
      return objects(schema);
    default:
      return [{ any: 'thing' }];
  }
};

/** One object with the first variant of every member, and one for each further variant of each. */
const objects = ({ properties = {} }: Schema): object[] => {
  const members = Object.entries(properties).map(([name, inner]) => [name, variants(inner)] as const);
  const first = Object.fromEntries(members.map(([name, values]) => [name, values[0]]));
  return [first, ...members.flatMap(([name, values]) => values.slice(1).map((value) => ({ ...first, [name]: value })))];
};

interface Message {
  readonly role: string;
  readonly content: unknown;
}
const use = { role: 'assistant', content: [{ type: 'tool_use', id: 'xxxx', name: 'xxxx', input: {} }] };
const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'xxxx' }] };
/** The message where a conversation has it: calls of tools and their results stand beside each other. */
const conversation = (message: Message): unknown[] => {
  const text = JSON.stringify(message.content);
  if (text.includes('"tool_use_id"')) return [use, message];
  const around = [{ role: 'user', content: 'x' }, message];
  return text.includes('"tool_use"') ? [...around, result] : [...around, { role: 'user', content: 'x' }];
};

const least = { model: 'm', max_tokens: 10 };
const { messages, model: _, ...others } = body.properties as Record<string, Schema>;
/** Bodies with one message of each kind, and with one further member of each kind. */
const seeds = [
  ...variants(resolved(messages!).items!).map((message) => ({ ...least, messages: conversation(message as Message) })),
  ...Object.entries(others).flatMap(([name, schema]) =>
    variants(schema).map((value) => ({ ...least, messages: [{ role: 'user', content: 'x' }], [name]: value })),
  ),
];

/** Every name that the schema knows anywhere: foreign members have names that mean something elsewhere. */
const namesOf = (given: unknown): string[] => {
  if (typeof given !== 'object' || given === null) return [];
  const schema = resolved(given as Schema);
  return [...Object.keys(schema.properties ?? {}), ...Object.values(schema).flatMap(namesOf)];
};
const names = [...new Set([...namesOf(body), '__proto__', 'constructor', 'toJSON', 'length'])];
const odd = [null, [null], {}, [], '', 0, true, [{}], [[]]];

type Place = readonly (string | number)[];
const placesOf = (value: unknown, path: Place = []): Place[] => [
  path,
  ...(typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([step, inner]) =>
        placesOf(inner, [...path, Array.isArray(value) ? Number(step) : step]),
      )
    : []),
];
const valueAt = (value: unknown, path: Place): unknown =>
  path.reduce<unknown>((inner, step) => (inner as Record<string | number, unknown>)[step], value);
const replaced = (value: unknown, [step, ...rest]: Place, by: unknown): unknown => {
  if (step === undefined) return by;
  if (Array.isArray(value)) return value.map((item, i) => (i === step ? replaced(item, rest, by) : item));
  const inner = replaced((value as Record<string, unknown>)[step], rest, by);
  // Defined, not assigned: `__proto__` is a member like any other.
  return Object.defineProperty({ ...(value as object) }, step, { value: inner, enumerable: true, configurable: true });
};

function* mutants(seed: object): Generator<unknown> {
  for (const place of placesOf(seed).slice(1)) {
    for (const value of odd) yield replaced(seed, place, value);
    const here = valueAt(seed, place);
    if (typeof here !== 'object' || here === null || Array.isArray(here)) continue;
    for (const name of names) {
      if (Object.hasOwn(here, name)) continue;
      // Which odd value goes with which name changes from place to place.
      for (const value of [[null], odd[(name.length + place.length) % odd.length]]) {
        yield replaced(seed, [...place, name], value);
      }
    }
  }
}

test('no body that is made from the schema is answered with a 5xx', async () => {
  const post = (value: unknown) => at.call('POST', '/v1/messages', { body: value, headers: bearer(key) });
  let whole = 0;
  const seen = new Set<string>();
  for (const seed of seeds) {
    whole += (await post(seed)).status === 200 ? 1 : 0;
    for (const mutant of mutants(seed)) {
      const text = JSON.stringify(mutant);
      if (seen.has(text)) continue;
      seen.add(text);
      const { status, thrown } = await post(text);
      if (status >= 500) expect.fail(`${status} ${thrown instanceof Error ? thrown.stack : ''} for ${text}`);
    }
  }
  // Seeds that were refused would prove little, and so would a handful of mutants.
  expect(whole).toBeGreaterThan(25);
  expect(seen.size).toBeGreaterThan(3000);
});
