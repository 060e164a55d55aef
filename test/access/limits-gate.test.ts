import { afterEach, describe, expect, test, vi } from 'vitest';
import { inspect } from '../../src/limits/inspect.ts';
import {
  type Asked,
  type LimitedOptions,
  type LimitedService,
  limitedService,
  message,
} from '../inference/limited-service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });

let service: LimitedService;
const begin = async (options: LimitedOptions = {}): Promise<LimitedService> => {
  service = await limitedService(options);
  return service;
};
afterEach(() => service.stop());

const models = (token: string | null, headers: Record<string, string> = {}) =>
  service.ask(token, 'GET', '/v1/models', { headers });
const gist = ({ status, body }: Asked): string => `${status} ${body?.error?.code ?? ''}`.trim();
const limitHeaders = ({ headers }: Asked): string[] =>
  [...headers.keys()].filter((name) => name.startsWith('x-ratelimit'));
const requests = (scope: 'key' | 'project' | 'organization', id: string) =>
  inspect(service.windows.inference, scope, id, service.clock.monotonic())?.windows[0]?.used;

describe('an unknown credential', () => {
  const stranger = (n: number) => `gwp_${String(n).padStart(49, '0')}`;

  test('is refused with 401 sixty times a minute and address, then with 429', async () => {
    await begin();
    for (let n = 0; n < 60; n++) expect(gist(await models(stranger(n)))).toBe('401 invalid_api_key');
    service.clock.advance(20_000);
    const refused = await models(stranger(61));
    expect(gist(refused)).toBe('429 rate_limit_exceeded');
    expect(refused.headers.get('retry-after')).toBe('40');
    expect(limitHeaders(refused)).toEqual([]);
    expect(refused.body.error.message).toBe(
      'Rate limit exceeded: too many requests with unknown credentials came from this address. Try again in 40 seconds.',
    );
    expect((await service.ask(stranger(62), 'GET', '/v1/organization/things')).status).toBe(429);
    const sent = await service.ask(stranger(63), 'POST', '/v1/messages', { body: message(5) });
    expect([sent.status, sent.body.error.type]).toEqual([429, 'rate_limit_error']);
  });

  test('takes nothing from valid ones behind the same address, nor from who sends none', async () => {
    await begin();
    const mine = service.key();
    for (let n = 0; n < 70; n++) await models(stranger(n));
    expect((await models(mine)).status).toBe(200);
    expect(gist(await models(null))).toBe('401 missing_credentials');
    expect(requests('key', 'key_1')).toBe(1);
  });

  test('counts for the address that trusted proxies name', async () => {
    await begin({ trustedProxies: '127.0.0.0/8, 10.1.0.0/16' });
    const from = (forwarded: string) => models(stranger(1), { 'x-forwarded-for': forwarded });
    for (let n = 0; n < 60; n++) expect((await from('1.1.1.1, 203.0.113.7, 10.1.2.3')).status).toBe(401);
    expect((await from('8.8.8.8, 203.0.113.7')).status).toBe(429);
    expect((await from('203.0.113.7, 203.0.113.8')).status).toBe(401);
    expect((await models(stranger(1))).status).toBe(401);
  });

  test('counts for the peer where nobody is trusted, whatever it says', async () => {
    await begin();
    for (let n = 0; n < 60; n++) await models(stranger(1), { 'x-forwarded-for': `203.0.113.${n}` });
    expect((await models(stranger(1), { 'x-forwarded-for': '203.0.113.99' })).status).toBe(429);
  });
});

describe('a key that does not work any more', () => {
  test('is counted in its own window and nobody else’s', async () => {
    await begin();
    for (const reason of ['api_key_revoked', 'api_key_suspended', 'api_key_expired'] as const) {
      const mine = service.inactiveKey(reason, reason);
      for (let n = 0; n < 60; n++) {
        const answer = await models(mine);
        expect(gist(answer)).toBe(`401 ${reason}`);
      }
      const refused = await models(mine);
      expect(gist(refused)).toBe('429 rate_limit_exceeded');
      expect(refused.headers.get('retry-after')).toBe('60');
      expect(refused.body.error.message).toMatch(/this API key is limited to 60 requests per minute/);
      expect(requests('key', reason)).toBe(60);
    }
    expect([requests('project', 'proj_1'), requests('organization', 'org_1')]).toEqual([0, 0]);
    expect((await models(service.key())).headers.get('x-ratelimit-remaining-requests')).toBe('59');
  });

  test('is counted there from the moment at which it expires', async () => {
    await begin();
    const mine = service.key({ expiresAt: service.clock.wall() + 5_000 });
    expect((await models(mine)).status).toBe(200);
    service.clock.advance(5_000);
    expect(gist(await models(mine))).toBe('401 api_key_expired');
    expect([requests('key', 'key_1'), requests('organization', 'org_1')]).toEqual([2, 1]);
  });

  test('that has been deleted is as good as unknown', async () => {
    await begin();
    const mine = service.inactiveKey('invalid_api_key');
    for (let n = 0; n < 60; n++) expect(gist(await models(mine))).toBe('401 invalid_api_key');
    expect(gist(await models(mine))).toBe('429 rate_limit_exceeded');
    expect(requests('key', 'key_1')).toBeUndefined();
  });
});

describe('a key that was rotated, and its successor', () => {
  const ofLine = { sharesWindows: true };
  const successor = { id: 'key_2', windowsOf: 'key_1', ...ofLine };

  test('are refused with the windows of both, whichever asks, and are told so', async () => {
    await begin();
    const [old, fresh] = [service.key(ofLine), service.key(successor)];
    for (let n = 0; n < 60; n++) expect((await models(n % 2 === 0 ? old : fresh)).status).toBe(200);
    for (const token of [old, fresh]) {
      const { body } = await models(token);
      expect(body.error.message).toBe(
        'Rate limit exceeded: this API key, together with those that it was rotated from or to, is limited to 60 requests per minute. Try again in 60 seconds.',
      );
    }
    expect((await models(service.key({ id: 'key_3' }))).status).toBe(200);
  });

  test('that does not work any more takes nothing from the other: it counts for the address', async () => {
    await begin();
    for (const [reason, fields] of [
      ['api_key_expired', ofLine],
      ['api_key_revoked', successor],
      ['api_key_suspended', ofLine],
    ] as const) {
      const dead = service.inactiveKey(reason, 'key_1', fields);
      for (let n = 0; n < 60; n++) expect(gist(await models(dead))).toBe(`401 ${reason}`);
      const refused = await models(dead);
      expect(gist(refused)).toBe('429 rate_limit_exceeded');
      expect(limitHeaders(refused)).toEqual([]);
      service.clock.advance(60_000);
    }
    expect(requests('key', 'key_1')).toBeUndefined();
    expect((await models(service.key(successor))).headers.get('x-ratelimit-remaining-requests')).toBe('59');
  });
});

const administration = {
  credentialRpm: 5,
  credentialConcurrent: 2,
  organizationRpm: 8,
  organizationConcurrent: 3,
};
const things = (token: string) => service.ask(token, 'GET', '/v1/organization/things');
const told = ({ headers }: Asked): string =>
  ['limit', 'remaining', 'reset', 'scope', 'metric'].map((name) => headers.get(`x-ratelimit-${name}`)).join(' ');

describe('the administration', () => {
  test('tells on every answer which of its four limits is the tightest', async () => {
    await begin({ administration });
    // One of its two is in flight, which is less than four of five.
    expect(told(await things(service.adminKey()))).toBe('2 1 2 credential concurrent_requests');
    expect(limitHeaders(await things(service.adminKey())).length).toBe(5);
    for (let n = 0; n < 2; n++) await things(service.adminKey());
    expect(told(await things(service.adminKey({ permissions: new Set() })))).toBe('5 0 61 credential requests');
  });

  test('counts a minute of its credential, and of its organization', async () => {
    await begin({ administration });
    for (let n = 0; n < 5; n++) expect((await things(service.adminKey())).status).toBe(200);
    service.clock.advance(15_000);
    const refused = await things(service.adminKey());
    expect(gist(refused)).toBe('429 rate_limit_exceeded');
    expect(told(refused)).toBe('5 0 61 credential requests');
    expect(refused.headers.get('retry-after')).toBe('45');
    expect(refused.body.error.message).toMatch(
      /^Rate limit exceeded: this credential is limited to 5 requests per min/,
    );
    for (let n = 0; n < 2; n++) expect((await things(service.adminKey({ id: 'akey_2' }))).status).toBe(200);
    const third = await things(service.adminKey({ id: 'akey_2' }));
    expect(third.body.error.message).toMatch(/^Rate limit exceeded: the organization is limited to 8 requests per min/);
    expect(told(third)).toBe('8 0 61 organization requests');
    expect((await things(service.adminKey({ id: 'akey_3', organizationId: 'org_2' }))).status).toBe(200);
  });

  test('counts what is in flight of its credential, and of its organization', async () => {
    await begin({ administration });
    service.upstream.free = false;
    const make = (id: string) => service.ask(service.adminKey({ id }), 'POST', '/v1/organization/things');
    const open = [make('akey_1'), make('akey_1')];
    await expect.poll(() => service.upstream.held).toBe(2);
    const refused = await make('akey_1');
    expect(told(refused)).toBe('2 0 2 credential concurrent_requests');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    open.push(make('akey_2'));
    await expect.poll(() => service.upstream.held).toBe(3);
    expect(told(await make('akey_3'))).toBe('3 0 2 organization concurrent_requests');
    service.upstream.release(3);
    for (const { status } of await Promise.all(open)) expect(status).toBe(200);
    service.upstream.free = true;
    expect(service.windows.administration.tickets.open).toBe(0);
  });

  test('a 429 comes before a 403, a 404 of the path and a bad body', async () => {
    await begin({ administration });
    for (let n = 0; n < 5; n++) await things(service.adminKey());
    expect((await things(service.adminKey({ permissions: new Set() }))).status).toBe(429);
    const bad = await service.ask(service.adminKey(), 'POST', '/v1/organization/things', { body: '{' });
    expect(bad.status).toBe(429);
    expect((await service.ask(service.adminKey(), 'GET', '/v1/organization/none')).status).toBe(429);
  });
});

describe('a credential of the wrong kind', () => {
  test('is counted where its own kind is', async () => {
    await begin({ administration });
    for (let n = 0; n < 5; n++) {
      const answer = await models(service.adminKey());
      expect(gist(answer)).toBe('403 credential_type_not_allowed');
    }
    expect(gist(await models(service.adminKey()))).toBe('429 rate_limit_exceeded');
    expect(requests('organization', 'org_1')).toBeUndefined();
    const mine = service.key();
    for (let n = 0; n < 60; n++) expect((await things(mine)).status).toBe(403);
    const refused = await things(mine);
    expect(refused.status).toBe(429);
    expect((await models(mine)).status).toBe(429);
    expect(inspect(service.windows.administration, 'credential', 'key_1', 0)).toBeNull();
  });
});
