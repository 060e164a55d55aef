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
    ['a tab behind the scheme', ['Authorization: Bearer\t$key']],
    ['a tab behind the token', ['Authorization: Bearer $key\tx']],
    ['a byte beyond ASCII in the token', ['Authorization: Bearer $key\u00e9x']],
    ['the same behind a scheme in small letters', ['Authorization: bearer $key\u00e9x']],
    ['a byte beyond ASCII before the scheme', ['Authorization: x\u00e9Bearer $key']],
    ['a byte beyond ASCII in an x-api-key', ['x-api-key: $key\u00e9x']],
    ['a tab in an x-api-key', ['x-api-key: $key\tx']],
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

test.each(['', 'gwp_nobody', 'two words', 'a\tb', '\u00e9x', '\u00ff'.repeat(20)])(
  'an x-api-key of %j beside a good Authorization is ignored',
  async (value) => {
    expect((await ask(`Authorization: Bearer ${key}`, `x-api-key: ${value}`)).status).toBe(200);
    expect((await ask(`x-api-key: ${value}`, `Authorization: Bearer ${key}`)).status).toBe(200);
  },
);

test('what is sent twice is still 400', async () => {
  for (const headers of [
    [`Authorization: Bearer ${key}`, 'Authorization:'],
    ['x-api-key:', `x-api-key: ${key}`],
  ]) {
    expect([headers, (await ask(...headers)).code]).toEqual([headers, 'invalid_request']);
  }
});
