import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { wholeGateway } from '../support/whole-gateway.ts';
import { document, resolved, type Schema } from './document.ts';

test('the document is OpenAPI 3.1, to the letter of its schema', async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(document) as never);
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
  expect(validator.version).toBe('3.1');
  // It does refuse what is none.
  const broken = structuredClone(document) as { paths: Record<string, unknown> };
  broken.paths['/v1/health'] = { fetch: {} };
  expect((await new Validator().validate(broken as never)).valid).toBe(false);
});

test('it is what the server serves', async () => {
  const at = await wholeGateway();
  const { body } = await at.call('GET', '/v1/openapi.json');
  expect(body).toEqual(document);
  await at.close();
});

test('whatever takes a key says which permission, and whether a token will do', () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const { security } of Object.values(methods)) {
      const names = security.flatMap((each) => Object.keys(each));
      if (path.startsWith('/v1/organization/policies')) expect(names, path).toEqual(['adminKey']);
      else if (path.startsWith('/v1/organization')) expect(names, path).toEqual(['adminKey', 'accessToken']);
    }
  }
});

test('it says how a credential is asked for, what is taken where nothing is sent, and whose errors one model has', () => {
  const responseOf = (path: string, status: number) =>
    document.paths[path]!.get!.responses[status] as {
      readonly headers: object;
      readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
    };
  for (const [path, status, isAsked] of [
    ['/v1/organization', 401, true],
    ['/v1/organization', 403, true],
    ['/v1/organization', 429, false],
    ['/v1/models', 401, true],
    ['/v1/models', 200, false],
  ] as const)
    expect('WWW-Authenticate' in responseOf(path, status).headers, `${path} ${status}`).toBe(isAsked);
  const defaults = document.paths['/v1/organization/projects']!.get!.parameters!.map(({ name, schema }) => [
    name,
    schema.default,
  ]);
  expect(Object.fromEntries(defaults)).toEqual({ limit: 20, order: 'asc', include_archived: false });
  const { schema } = responseOf('/v1/models/{model}', 404).content['application/json']!;
  expect(resolved(schema).anyOf?.map(({ $ref }) => $ref?.split('/').at(-1))).toEqual(['AdminError', 'MessagesError']);
});

/** Every schema of the document with where it stands. */
const schemasIn = (value: unknown, where: string): [where: string, schema: Schema][] => {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value).flatMap(([name, each]) => schemasIn(each, `${where}/${name}`));
  return [[where, value as Schema], ...inner];
};
/** Of what is said of a schema and is no type: bounds. */
const bounds = /\/(not|allOf|contains|propertyNames|examples)(\/|$)/;
const all = schemasIn(document, '').filter(([where]) => !bounds.test(where));

describe('what generators make of it:', () => {
  const names = Object.keys(document.components.schemas);

  test('every object and every choice has a name, and so has each resource, request and list', () => {
    const isNamed = (where: string): boolean => /^\/components\/schemas\/\w+$/.test(where);
    const isParameter = (where: string): boolean => where.includes('/parameters/');
    const nameless = all.filter(([where, { type, properties, anyOf, oneOf }]) => {
      if (isNamed(where) || isParameter(where)) return false;
      const choice = (anyOf ?? oneOf ?? []).filter((each) => each.type !== 'null');
      return (type === 'object' && Object.keys(properties ?? {}).length > 0) || choice.length > 1;
    });
    expect(nameless.map(([where]) => where)).toEqual([]);
    expect(names).toEqual(
      expect.arrayContaining([
        ...['Organization', 'Project', 'ProjectList', 'CreateProjectRequest', 'UpdateProjectRequest', 'DeletedProject'],
        ...['ProjectApiKey', 'ProjectApiKeyList', 'CreateProjectApiKeyRequest', 'AdminApiKey', 'AdminApiKeyList'],
        ...['Policy', 'PolicySummaryList', 'PolicyVersionList', 'AuditLog', 'AuditLogList', 'HistoryEventList'],
        ...['Model', 'ModelList', 'CreateMessageRequest', 'Message', 'CreateChatCompletionRequest', 'ChatCompletion'],
      ]),
    );
  });

  test('no name is one that languages have already', () => {
    const taken = [
      'System',
      'Object',
      'String',
      'Error',
      'Exception',
      'Type',
      'Response',
      'Request',
      'Function',
      'Map',
    ];
    expect(names.filter((name) => taken.includes(name))).toEqual([]);
    for (const name of names) expect(name).toMatch(/^[A-Z][A-Za-z0-9]+$/);
  });

  test('a number that may pass 2^31 is one of 64 bits, and no other is', () => {
    const whole = all.filter(([, { type }]) => type === 'integer');
    expect(whole.length).toBeGreaterThan(100);
    for (const [where, { maximum = Number.POSITIVE_INFINITY, format }] of whole)
      expect([where, format === 'int64']).toEqual([where, maximum >= 2 ** 31]);
  });

  test('no type is one to which nothing belongs', () => {
    for (const [where, { additionalProperties: others }] of all)
      expect([where, typeof others === 'object' && others.type === 'null']).toEqual([where, false]);
  });

  test('what passing models take and answer is said beside what strict ones do', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const judge = (schema: Schema) => ajv.compile({ ...schema, components: document.components });
    const of = (path: string) => document.paths[path]!.post!;
    const tool = { type: 'web_search_20250305', name: 'web_search', some_member: { of: 'tomorrow' } };
    const bodies: [path: string, body: object][] = [
      [
        '/v1/messages',
        { max_tokens: 9, messages: [{ role: 'user', content: [{ type: 'of_tomorrow' }] }], tools: [tool] },
      ],
      ['/v1/messages/count_tokens', { messages: [{ role: 'user', content: 'x' }], tools: [tool] }],
      ['/v1/chat/completions', { messages: [{ role: 'user', content: 'x', more: 1 }], logit_bias: { 1: 2 } }],
      ['/v1/responses', { input: [{ type: 'item_reference', id: 'x' }], background: true, unheard_of: 1 }],
    ];
    for (const [path, rest] of bodies) {
      const { schema } = of(path).requestBody!.content['application/json']!;
      const body = { model: 'm', ...rest };
      expect([path, judge(schema)(body)]).toEqual([path, true]);
      const [strict, passing] = resolved(schema).anyOf!.map(resolved) as (Schema & { description?: string })[];
      expect(passing!.additionalProperties).toEqual({});
      expect(passing!.description).toContain('Members that are not named here are allowed');
      expect(strict).not.toEqual(passing);
      // What limits is as it says for every model.
      expect(judge(schema)({ ...body, model: 7 })).toBe(false);
    }
    const answers = {
      '/v1/messages': { id: 'msg_1', type: 'message', model: 'm', stop_reason: 'of_tomorrow', more: {} },
      '/v1/chat/completions': { id: 'x', model: 'm', choices: [{ message: { content: null, audio: {} } }], more: 1 },
      '/v1/responses': { id: 'x', model: 'm', output: [{ type: 'web_search_call' }], more: 1 },
    };
    for (const [path, answer] of Object.entries(answers)) {
      const { content } = of(path).responses[200] as { content: Record<string, { schema: Schema }> };
      expect([path, judge(content['application/json']!.schema)(answer)]).toEqual([path, true]);
    }
  });
});
