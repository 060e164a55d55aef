import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { wholeGateway } from '../support/whole-gateway.ts';
import { document, type Schema } from './document.ts';

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
  expect(schema.anyOf?.map(({ $ref }) => $ref?.split('/').at(-1))).toEqual(['AdminError', 'MessagesError']);
});
