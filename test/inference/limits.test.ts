import { afterEach, describe, expect, test, vi } from 'vitest';
import { limitsFor, type Scope, type Tier } from '../../src/domain/organization/tiers.ts';
import { countRequest } from '../../src/limits/count-request.ts';
import { limitSubject } from '../../src/limits/window/window-store.ts';
import { callsOf, quota } from './limited-calls.ts';
import {
  type Asked,
  inputTokens,
  type LimitedOptions,
  type LimitedService,
  limitedService,
  message,
} from './limited-service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });

let service: LimitedService;
const begin = async (options: LimitedOptions = {}): Promise<LimitedService> => {
  service = await limitedService(options);
  return service;
};
afterEach(async () => {
  expect(service.troubles).toEqual([]);
  await service.stop();
});

const scopes: readonly Scope[] = ['key', 'project', 'organization'];
/** A key that meets the others at this scope and nowhere inside it. */
const meetingAt = (scope: Scope, n: number): string =>
  service.key(
    scope === 'key' ? {} : scope === 'project' ? { id: `key_${n}` } : { id: `key_${n}`, projectId: `proj_${n}` },
  );
const { models, write, usedAt, inFlight } = callsOf(() => service);
const whose = { key: 'this API key', project: 'the project', organization: 'the organization' };

describe.each(([0, 1] as const).flatMap((tier) => scopes.map((scope) => [tier, scope] as const)))(
  'tier %i, at the scope of the %s',
  (tier: Tier, scope: Scope) => {
    const limits = limitsFor(tier, scope);

    test('the limit of requests a minute is the last that is answered', async () => {
      await begin({ tier });
      const tokens = Array.from({ length: scope === 'key' ? 1 : 3 }, (_, n) => meetingAt(scope, n));
      for (let n = 1; n <= limits.rpm; n++) {
        expect((await models(tokens[n % tokens.length]!)).status).toBe(200);
      }
      service.clock.advance(1_500);
      const refused = await models(tokens[0]!);
      expect(refused.status).toBe(429);
      expect(refused.headers.get('retry-after')).toBe('59');
      expect(refused.headers.get('x-should-retry')).toBeNull();
      expect(refused.body.error).toEqual({
        code: 'rate_limit_exceeded',
        type: 'rate_limit_error',
        message: `Rate limit exceeded: ${whose[scope]} is limited to ${limits.rpm} requests per minute. Try again in 59 seconds.`,
        param: null,
        request_id: refused.headers.get('request-id'),
        doc_url: null,
      });
      expect(quota(refused).slice(0, 2)).toEqual([String(limits.rpm), '0']);
      service.clock.advance(59_000);
      expect((await models(tokens[0]!)).status).toBe(200);
    });

    test('the limit of tokens a minute is the last that is reserved', async () => {
      await begin({ tier });
      const own = limitsFor(tier, 'key').tpm;
      // An answer whose usage outgrows nothing: half a key's minute each, from keys that meet here.
      const each = Math.min(999_000, own / 2 - inputTokens);
      service.upstream.usage = { ...service.upstream.usage, input_tokens: inputTokens, output_tokens: each };
      const tokens = Array.from({ length: scope === 'key' ? 1 : 6 }, (_, n) => meetingAt(scope, n));
      let taken = 0;
      for (let n = 0; taken + each + inputTokens <= limits.tpm - 2 * inputTokens; n++) {
        expect((await write(tokens[n % tokens.length]!, each)).status).toBe(200);
        taken += each + inputTokens;
      }
      const left = limits.tpm - taken;
      const last = tokens[scope === 'key' ? 0 : 5]!;
      const refused = await write(last, left - inputTokens + 1);
      expect(refused.status).toBe(429);
      expect(refused.body).toEqual({
        type: 'error',
        error: {
          type: 'rate_limit_error',
          message: `Rate limit exceeded: ${whose[scope]} is limited to ${limits.tpm} tokens per minute. Try again in 61 seconds.`,
        },
        request_id: refused.headers.get('request-id'),
      });
      // The buckets are of a second and count until they are surely over (contract F.1): 61 s for what fell at its beginning.
      expect([refused.headers.get('retry-after'), refused.headers.get('x-should-retry')]).toEqual(['61', 'false']);
      expect(quota(refused, 'tokens')).toEqual([String(limits.tpm), String(left), '61s']);
      expect((await write(last, left - inputTokens)).status).toBe(200);
      expect(usedAt(scope, 'concurrent_requests')).toBe(0);
    });

    test('the limit of requests in flight is the last that is let in', async () => {
      await begin({ tier });
      service.upstream.free = false;
      const tokens = Array.from({ length: limits.concurrent }, (_, n) => meetingAt(scope, n));
      const open = tokens.map((token) => write(token, 10));
      await expect.poll(() => service.upstream.held).toBe(limits.concurrent);
      const refused = await write(meetingAt(scope, 0), 10);
      expect(refused.status).toBe(429);
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(refused.body.error.message).toBe(
        `Rate limit exceeded: ${whose[scope]} is limited to ${limits.concurrent} concurrent requests. Try again in 1 second.`,
      );
      service.upstream.release();
      await Promise.race(open);
      service.upstream.free = true;
      expect((await write(meetingAt(scope, 0), 10)).status).toBe(200);
      service.upstream.release(limits.concurrent);
      for (const { status } of await Promise.all(open)) expect(status).toBe(200);
      expect(service.windows.inference.tickets.open).toBe(0);
    });
  },
);

describe('GET /v1/credits', () => {
  const credits = (token: string) => service.ask(token, 'GET', '/v1/credits');

  test('can be read 60 times a minute by a key, beside its inference', async () => {
    await begin();
    const mine = service.key();
    expect((await models(mine)).status).toBe(200);
    for (let n = 0; n < 60; n++) expect((await credits(mine)).status).toBe(200);
    service.clock.advance(10_000);
    const refused = await credits(mine);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('50');
    expect(quota(refused)).toEqual(['60', '0', '50s']);
    // The tokens are those of inference, as on every inference answer.
    expect(quota(refused, 'tokens')).toEqual(['1000000', '1000000', '0s']);
    expect(quota(await models(mine))[1]).toBe('58');
  });

  test('can be read 300 times a minute by an organization', async () => {
    await begin();
    const keys = Array.from({ length: 6 }, (_, n) => service.key({ id: `key_${n}`, projectId: `proj_${n}` }));
    for (let n = 0; n < 300; n++) expect((await credits(keys[n % 6]!)).status).toBe(200);
    const refused = await credits(keys[0]!);
    expect(refused.body.error.message).toMatch(/^Rate limit exceeded: the organization is limited to 300 requests per/);
    expect((await credits(service.key({ id: 'other', organizationId: 'org_2' }))).status).toBe(200);
  });
});

test('every attempt counts, whatever comes of it, and every answer tells what is left', async () => {
  await begin();
  const mine = service.key();
  const few = service.key({ permissions: new Set() });
  const attempts: [number, () => Promise<Asked>][] = [
    [200, () => models(mine)],
    [403, () => models(few)],
    [403, () => service.ask(service.key({ organizationStatus: 'suspended' }), 'POST', '/v1/messages', { body: '{}' })],
    [403, () => service.ask(mine, 'GET', '/v1/organization/things')],
    [415, () => service.ask(mine, 'POST', '/v1/messages', { body: '{}', headers: { 'content-type': 'text/plain' } })],
    [400, () => service.ask(mine, 'POST', '/v1/messages', { body: '{' })],
    [422, () => write(mine, 0)],
    [404, () => write(mine, 5, { model: 'none' })],
    [422, () => write(mine, 5, { temperature: 9 })],
    [200, () => write(mine, 5)],
    [200, () => write(mine, 5, { stream: true })],
  ];
  for (const [at, [status, attempt]] of attempts.entries()) {
    const answer = await attempt();
    expect(`${at}: ${answer.status}`).toBe(`${at}: ${status}`);
    expect(quota(answer)).toEqual(['60', String(59 - at), '60s']);
  }
  expect(service.upstream.asked).toHaveLength(2);
  expect(usedAt('organization', 'requests_per_day')).toBe(attempts.length);
  expect(inFlight()).toEqual([0, 0, 0]);
});

describe('a request that a limit refuses', () => {
  const exhausted = async () => {
    await begin();
    const mine = service.key();
    for (let n = 0; n < 60; n++) await models(mine);
    return mine;
  };

  test('is told so before anything else that is wrong with it', async () => {
    const mine = await exhausted();
    for (const attempt of [
      () => service.ask(mine, 'POST', '/v1/messages', { body: '{' }),
      () => service.ask(mine, 'POST', '/v1/messages', { body: 'x', headers: { 'content-type': 'text/plain' } }),
      () => write(mine, 0),
      () => write(mine, 5, { model: 'none' }),
      () => service.ask(service.key({ permissions: new Set() }), 'GET', '/v1/models'),
      () => service.ask(service.key({ organizationStatus: 'suspended' }), 'POST', '/v1/messages', { body: message(5) }),
    ]) {
      expect((await attempt()).status).toBe(429);
    }
    expect(service.upstream.asked).toHaveLength(0);
  });

  test('waits for the tokens that it would need, of which its body tells', async () => {
    await begin();
    const mine = service.key();
    service.upstream.usage = { ...service.upstream.usage, input_tokens: 0, output_tokens: 600_000 };
    for (let n = 0; n < 59; n++) await models(mine);
    service.clock.advance(30_000);
    expect((await write(mine, 700_000)).status).toBe(200);
    // Requests are free again in 30 s, 600,009 tokens in 61.
    const few = await write(mine, 100);
    expect([few.status, few.headers.get('retry-after')]).toEqual([429, '30']);
    const many = await write(mine, 500_000);
    expect(many.headers.get('retry-after')).toBe('61');
    expect(many.body.error.message).toMatch(/requests per minute\. Try again in 61 seconds\.$/);
    // What would be refused for another reason needs none.
    expect((await write(mine, 500_000, { model: 'none' })).headers.get('retry-after')).toBe('30');
    // Too large to be read for that: then the minute is taken as needed whole.
    const long = 'x'.repeat(1024 * 1024);
    const large = await write(mine, 1, { messages: [{ role: 'user', content: long }] });
    expect([large.status, large.headers.get('retry-after')]).toEqual([429, '61']);
    expect(large.headers.get('connection')).toBe('close');
  });

  test('is not to be sent again by itself when it has to wait for more than a minute', async () => {
    await begin({ tier: 1 });
    const mine = service.key();
    expect((await models(mine)).status).toBe(200);
    const subject = limitSubject('key_1', 'proj_1', 'org_1');
    for (let n = 1; n < 15_000; n++) countRequest(service.windows.inference, subject, service.clock.monotonic());
    service.clock.advance(60_000);
    const refused = await models(mine);
    expect(refused.body.error.message).toMatch(
      /^Rate limit exceeded: this API key is limited to 15000 requests per day\./,
    );
    // Until the ten minutes of the first are a day old.
    const seconds = Number(refused.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(86_000);
    expect(refused.headers.get('x-should-retry')).toBe('false');
    expect(quota(refused).slice(0, 2)).toEqual(['15000', '0']);
    service.clock.advance(seconds * 1000);
    expect((await models(mine)).status).toBe(200);
  });
});

test('count_tokens counts in the requests of its model, and takes none of its tokens', async () => {
  const own = { rpm: 3, rpd: null, tpm: 100, concurrent: null };
  const models = new Map([['m', own]]);
  await begin({ own: { ofKey: () => null, ofProject: () => ({ whole: null, models }) } });
  const token = service.key();
  const { messages, model } = message(5);
  const count = () => service.ask(token, 'POST', '/v1/messages/count_tokens', { body: { model, messages } });
  const first = await count();
  expect([first.status, quota(first)[0], quota(first)[1]]).toEqual([200, '3', '2']);
  expect([(await count()).status, (await count()).status]).toEqual([200, 200]);
  service.clock.advance(1_500);
  for (const refused of [await count(), await write(token, 5)]) {
    expect(refused.status).toBe(429);
    expect(refused.body.error.message).toContain('3 requests per minute for m');
  }
  expect(inFlight()).toEqual([0, 0, 0]);
  expect(usedAt('project', 'requests_per_minute')).toBe(5);
});
