import { afterEach, describe, expect, test, vi } from 'vitest';
import { inspect } from '../../src/limits/inspect.ts';
import { type Asked, type LimitedOptions, type LimitedService, limitedService } from './limited-service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });

/** Whom the usage headers are sent to: everybody who is identified, whatever the answer (spec; contract F.5). */

let service: LimitedService;
const begin = async (options: LimitedOptions = {}): Promise<LimitedService> => {
  service = await limitedService(options);
  return service;
};
afterEach(() => service.stop());

const administration = { credentialRpm: 9, credentialConcurrent: 9, organizationRpm: 10, organizationConcurrent: 10 };
const gist = ({ status, body }: Asked): string => `${status} ${body?.error?.code ?? ''}`.trim();
const told = ({ headers }: Asked): Record<string, string> =>
  Object.fromEntries(
    [...headers].filter(([name]) => name.startsWith('x-ratelimit')).map(([name, value]) => [name.slice(12), value]),
  );
const requestsLeft = (answer: Asked) => [told(answer)['limit-requests'], told(answer)['remaining-requests']];
const ask = (token: string | null, method: string, path: string, headers = {}) =>
  service.ask(token, method, path, { headers });
const count = (scope: 'key' | 'project' | 'organization', id: string) =>
  inspect(service.windows.inference, scope, id, service.clock.monotonic())?.windows[0]?.used;

describe('a key that does not work is told of its own windows', () => {
  test.each(['api_key_revoked', 'api_key_suspended', 'api_key_expired'] as const)('%s', async (reason) => {
    await begin();
    // Somebody else has used more of the project and the organization than is left to the key.
    for (let n = 0; n < 50; n++) await ask(service.key({ id: 'key_2' }), 'GET', '/v1/models');
    const mine = service.inactiveKey(reason);
    const first = await ask(mine, 'GET', '/v1/models');
    expect(gist(first)).toBe(`401 ${reason}`);
    expect(told(first)).toEqual({
      'limit-requests': '60',
      'remaining-requests': '59',
      'reset-requests': '60s',
      'limit-tokens': '1000000',
      'remaining-tokens': '1000000',
      'reset-tokens': '0s',
    });
    for (let n = 0; n < 59; n++) await ask(mine, 'GET', '/v1/models');
    const refused = await ask(mine, 'GET', '/v1/models');
    expect(gist(refused)).toBe('429 rate_limit_exceeded');
    expect(requestsLeft(refused)).toEqual(['60', '0']);
    expect(refused.headers.get('retry-after')).toBe('60');
  });
  test('of the balance, on the route of the balance', async () => {
    await begin();
    await ask(service.inactiveKey('api_key_revoked'), 'GET', '/v1/models');
    const answer = await ask(service.inactiveKey('api_key_revoked'), 'GET', '/v1/credits');
    expect([gist(answer), ...requestsLeft(answer)]).toEqual(['401 api_key_revoked', '60', '59']);
    expect(told(answer)['remaining-tokens']).toBe('1000000');
  });
  test('of the administration, where it administers', async () => {
    await begin({ administration });
    const over = service.adminKey({ expiresAt: service.clock.wall() });
    for (let n = 0; n < 4; n++) await ask(service.adminKey({ id: 'akey_2' }), 'GET', '/v1/organization/things');
    const answer = await ask(over, 'GET', '/v1/organization/things');
    expect(gist(answer)).toBe('401 api_key_expired');
    expect(told(answer)).toMatchObject({ limit: '9', remaining: '8', scope: 'credential', metric: 'requests' });
  });
  test('and one that nobody knows any more is told of none', async () => {
    await begin();
    expect(told(await ask(service.inactiveKey('invalid_api_key'), 'GET', '/v1/models'))).toEqual({});
  });
});

describe('a credential of another kind is told of the windows that it has', () => {
  test('an Admin key at the models', async () => {
    await begin({ administration });
    const answer = await ask(service.adminKey(), 'GET', '/v1/models');
    expect(gist(answer)).toBe('403 credential_type_not_allowed');
    expect(told(answer)).toMatchObject({ limit: '9', remaining: '8', scope: 'credential' });
    expect('limit-requests' in told(answer)).toBe(false);
  });
  test('a project key at the administration', async () => {
    await begin();
    const answer = await ask(service.key(), 'GET', '/v1/organization/things');
    expect(gist(answer)).toBe('403 credential_type_not_allowed');
    expect(requestsLeft(answer)).toEqual(['60', '59']);
    expect('limit' in told(answer)).toBe(false);
  });
});

const nowhere = [
  ['an unknown route', 'GET', '/v1/none', '404 route_not_found'],
  ['an unknown route of the administration', 'POST', '/v1/organization/none', '404 route_not_found'],
  ['an unknown method', 'DELETE', '/v1/models', '405 method_not_allowed'],
] as const;

describe.each(nowhere)('%s', (_, method, path, gone) => {
  test('counts for the key that is sent, and tells it so', async () => {
    await begin();
    const answer = await ask(service.key(), method, path);
    expect([gist(answer), ...requestsLeft(answer)]).toEqual([gone, '60', '59']);
    expect([count('key', 'key_1'), count('organization', 'org_1')]).toEqual([1, 1]);
    for (let n = 0; n < 59; n++) await ask(service.key(), method, path);
    const refused = await ask(service.key(), method, path);
    expect([refused.status, ...requestsLeft(refused)]).toEqual([429, '60', '0']);
    expect(service.windows.inference.tickets.open).toBe(0);
  });
  test('counts for an Admin key', async () => {
    await begin({ administration });
    const answer = await ask(service.adminKey(), method, path);
    expect([gist(answer), told(answer).limit, told(answer).remaining]).toEqual([gone, '9', '8']);
    expect(service.windows.administration.tickets.open).toBe(0);
  });
  test('counts for a key that does not work in its own window', async () => {
    await begin();
    const answer = await ask(service.inactiveKey('api_key_revoked'), method, path);
    expect([gist(answer), ...requestsLeft(answer)]).toEqual([gone, '60', '59']);
    expect([count('key', 'key_1'), count('organization', 'org_1')]).toEqual([1, 0]);
  });
  test('needs no credential, and tells who has none of nothing', async () => {
    await begin();
    for (const headers of [{}, { authorization: 'Basic eDp5' }, { authorization: 'Bearer ' }]) {
      const answer = await ask(null, method, path, headers);
      expect([gist(answer), told(answer)]).toEqual([gone, {}]);
    }
  });
  test('tells whoever guesses no more than a route does', async () => {
    await begin();
    const guess = (n: number) => `gwp_${String(n).padStart(49, '0')}`;
    for (let n = 0; n < 60; n++) expect(gist(await ask(guess(n), method, path))).toBe(gone);
    expect(gist(await ask(guess(61), method, path))).toBe('429 rate_limit_exceeded');
    expect(gist(await ask(service.key(), method, path))).toBe(gone);
  });
});

test('x-api-key identifies where the routes of the path read it, and nowhere else', async () => {
  await begin();
  const key = { 'x-api-key': service.key() };
  expect(requestsLeft(await ask(null, 'DELETE', '/v1/models', key))).toEqual(['60', '59']);
  expect(told(await ask(null, 'DELETE', '/v1/organization/things', key))).toEqual({});
  expect(told(await ask(null, 'GET', '/v1/none', key))).toEqual({});
});

test('another method of the balance counts where the balance does', async () => {
  await begin();
  expect(requestsLeft(await ask(service.key(), 'POST', '/v1/credits'))).toEqual(['60', '59']);
  expect(count('key', 'key_1') ?? 0).toBe(0);
});
