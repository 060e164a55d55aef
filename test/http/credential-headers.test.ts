import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type LimitedService, limitedService } from '../inference/limited-service.ts';
import { request, send } from './raw-client.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });

let service: LimitedService;
let key: string;
beforeAll(async () => {
  service = await limitedService();
  key = service.key({ permissions: new Set(['models:read']) });
});
afterAll(() => service.stop());

const ask = async (...headers: string[]) => {
  const { answers, closed } = await send(service.port, request('GET /v1/models', headers), { answers: 1 });
  const [answer] = answers;
  const body = JSON.parse(answer?.body ?? '{}');
  return { status: answer?.status, code: body.error?.code, message: body.error?.message, answer, closed };
};

describe('a credential header that holds no credential', () => {
  test.each([
    ['an empty Authorization', ['Authorization:']],
    ['an Authorization of blanks', ['Authorization:   ']],
    ['a scheme alone', ['Authorization: Bearer']],
    ['two blanks behind the scheme', ['Authorization: Bearer  $key']],
    ['two blanks behind a scheme in small letters', ['Authorization: bearer  $key']],
    ['two words behind the scheme', ['Authorization: Bearer $key more']],
    ['another scheme', ['Authorization: Basic $key']],
    ['a key without a scheme', ['Authorization: $key']],
    ['an empty x-api-key', ['x-api-key:']],
    ['an empty Authorization beside a good x-api-key', ['Authorization:', 'x-api-key: $key']],
    ['both empty', ['Authorization:', 'x-api-key:']],
  ])('is 401, not 400: %s', async (_, headers) => {
    const { status, code, message, answer, closed } = await ask(...headers.map((each) => each.replace('$key', key)));
    expect([status, code]).toEqual([401, 'missing_credentials']);
    expect(answer?.headers.get('www-authenticate')).toBe('Bearer realm="api"');
    expect(message).toContain('"Authorization: Bearer <key>"');
    expect(answer?.body).not.toContain(key);
    expect(closed).toBe(false);
  });

  test('says what is wrong with an Authorization that was sent', async () => {
    const { message } = await ask(`Authorization: Bearer  ${key}`);
    expect(message).toContain('one space');
  });
});

test('an empty x-api-key beside a good Authorization is ignored, as the SDK sends it with authToken', async () => {
  expect((await ask(`Authorization: Bearer ${key}`, 'x-api-key:')).status).toBe(200);
  expect((await ask('x-api-key:', `Authorization: Bearer ${key}`)).status).toBe(200);
});

test('what is sent twice, or holds bytes that no key has, is still 400', async () => {
  for (const headers of [
    [`Authorization: Bearer ${key}`, 'Authorization:'],
    ['x-api-key:', `x-api-key: ${key}`],
    [`Authorization: Bearer ${key}\tx`],
    [`x-api-key: ${key}\u00e9x`],
  ]) {
    expect([headers, (await ask(...headers)).code]).toEqual([headers, 'invalid_request']);
  }
});
