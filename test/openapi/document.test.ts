import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { wholeGateway } from '../support/whole-gateway.ts';
import { document } from './document.ts';

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
