import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { fault, refusal } from '../../src/errors.ts';
import { type Access, type Route, route } from '../../src/http/route.ts';
import { type RawAnswer, request, send } from './raw-client.ts';
import { credential, gate, type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const origin = 'https://console.example';
const origins = [origin, 'http://localhost:3000'];
const things = '/v1/organization/things';

const closed = (method: 'GET' | 'POST', path: string, access: Access): Route =>
  route({
    method,
    path,
    operation: method + path,
    summary: 'For tests',
    tag: 'Organization',
    family: access.credential === 'client' ? 'oauth' : 'admin',
    access,
    ...(method === 'POST' && { body: z.object({}) }),
    replies: { 200: { description: 'Done.' } },
    handle: () => ({ status: 200, body: {} }),
  });
const onlyForServers = { credential: 'admin', permission: 'policies:read', adminKeyOnly: true } as const;
/** What no page may have to do with, and a refusal that cannot be sent as it is. */
const more = (): Route[] => [
  {
    ...closed('GET', '/v1/unsound', { credential: 'none' }),
    handle: () => {
      throw fault('project_not_found', { headers: { 'x-bad': 'a\r\nb' } });
    },
  },
  closed('GET', '/v1/policies', onlyForServers),
  closed('POST', '/v1/policies', onlyForServers),
  closed('POST', '/v1/token', { credential: 'client' }),
];

let on: Service;
let off: Service;
beforeAll(async () => {
  on = await startService({ corsOrigins: origins }, more);
  off = await startService({}, more);
});
afterAll(() => Promise.all([on.stop(), off.stop()]));

interface Ask {
  readonly at?: Service;
  readonly body?: string;
  readonly chunks?: string;
  readonly isHead?: boolean;
}
const ask = async (line: string, headers: readonly string[] = [], options: Ask = {}) => {
  const { at = on, body, chunks, isHead = false } = options;
  const all = body === undefined ? headers : [...headers, `Content-Length: ${body.length}`];
  const { answers } = await send(at.port, request(line, all, body ?? chunks), { answers: 1, isHead });
  return answers[0]!;
};
const from = (who: string): string => `Origin: ${who}`;
const json = 'Content-Type: application/json';
const preflight = (path: string, who = origin, headers = '', at = on): Promise<RawAnswer> =>
  ask(
    `OPTIONS ${path}`,
    [from(who), 'Access-Control-Request-Method: POST', ...(headers && [`Access-Control-Request-Headers: ${headers}`])],
    { at },
  );
const corsOf = ({ headers }: RawAnswer) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));
const listOf = (text: string | undefined): string[] => (text ?? '').split(', ').sort();

describe('OPTIONS', () => {
  test.each([
    ['/v1/models', 'GET, HEAD, OPTIONS'],
    ['/v1/models/a', 'GET, HEAD, OPTIONS'],
    ['/v1/messages', 'POST, OPTIONS'],
    [things, 'POST, GET, HEAD, OPTIONS'],
    [`${things}/x`, 'DELETE, OPTIONS'],
    ['/v1/policies', 'GET, HEAD, POST, OPTIONS'],
    ['/v1/token', 'POST, OPTIONS'],
  ])('of %s tells its methods to anybody, whether CORS is on or off', async (path, allow) => {
    for (const at of [on, off]) {
      const answer = await ask(`OPTIONS ${path}`, [], { at });
      expect([answer.status, answer.headers.get('allow'), answer.body]).toEqual([204, allow, '']);
      expect(corsOf(answer)).toEqual({});
      expect((await ask(`DELETE ${path}`, [credential, 'Content-Length: 0'], { at })).status === 405).toBe(
        !allow.includes('DELETE'),
      );
    }
  });
  test('of an unknown route is 404', async () => {
    for (const at of [on, off]) {
      const answer = await preflight('/v1/nowhere', origin, '', at);
      expect([answer.status, JSON.parse(answer.body).error.code]).toEqual([404, 'route_not_found']);
    }
  });
  test('has no length and leaves its connection open, or says that it is the last', async () => {
    const pieces = ['', 'Content-Length: 0', '', ''].map((line) => request(`OPTIONS ${things}`, line ? [line] : []));
    for (const [lot, all] of [
      [0.9, 4],
      [0, 1],
    ] as const) {
      // Some answers without a body are the last of their connection, by lot.
      const drawn = vi.spyOn(Math, 'random').mockReturnValue(lot);
      const { answers, rest } = await send(on.port, '', { pieces, inTurn: true, answers: all });
      drawn.mockRestore();
      expect([answers.map(({ status }) => status), rest]).toEqual([new Array(all).fill(204), '']);
      for (const { headers } of answers) {
        // RFC 9110, 8.6.
        expect(headers.has('content-length')).toBe(false);
        expect(headers.get('connection')).toBe(lot === 0 ? 'close' : undefined);
      }
    }
  });
});

describe('while CORS is off', () => {
  test('no origin is told anything of it', async () => {
    const answers = [
      await preflight(things, origin, 'authorization', off),
      await ask('GET /v1/models', [credential, from(origin)], { at: off }),
      await ask('GET /v1/models', [from(origin)], { at: off }),
    ];
    for (const answer of answers) {
      expect(corsOf(answer)).toEqual({});
      expect(answer.headers.has('vary')).toBe(false);
    }
  });
});

describe('a preflight of an allowed origin', () => {
  test('names the methods of the path and the headers that were asked for', async () => {
    for (const who of origins) {
      const answer = await preflight(things, who, 'authorization,content-type,idempotency-key');
      expect([answer.status, answer.body]).toEqual([204, '']);
      expect(corsOf(answer)).toMatchObject({
        'access-control-allow-origin': who,
        'access-control-allow-methods': 'POST, GET, HEAD, OPTIONS',
        'access-control-allow-headers': 'authorization, content-type, idempotency-key',
        'access-control-max-age': '7200',
      });
      expect(answer.headers.get('vary')).toBe('Origin');
      expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
    }
  });
  test('is granted every header that the SDKs send from a page', async () => {
    const sent =
      'anthropic-beta, anthropic-dangerous-direct-browser-access, anthropic-version, authorization, content-type, ' +
      'idempotency-key, openai-organization, openai-project, user-agent, x-api-key, x-stainless-arch, ' +
      'x-stainless-helper-method, x-stainless-retry-count, x-stainless-timeout';
    const answer = await preflight('/v1/messages', origin, sent.toUpperCase());
    expect(listOf(corsOf(answer)['access-control-allow-headers'])).toEqual(listOf(sent));
  });
  test('is granted no other header', async () => {
    const answer = await preflight(things, origin, 'x-forwarded-for, authorization,,*, x-stainless, cookie, x-other');
    expect(corsOf(answer)['access-control-allow-headers']).toBe('authorization');
    expect(corsOf(await preflight(things, origin, 'x-other'))).not.toHaveProperty('access-control-allow-headers');
    expect(corsOf(await preflight(things))).not.toHaveProperty('access-control-allow-headers');
  });
});

describe('an origin that is not on the list', () => {
  test.each([
    'https://evil.example',
    'https://console.example.evil.example',
    'https://console.exampl',
    'http://console.example',
    'https://console.example:8443',
    'https://console.example/',
    'https://CONSOLE.example',
    'https://console.example, https://console.example',
    'http://localhost',
    'null',
    '*',
    '',
  ])('gets no CORS header: %s', async (who) => {
    for (const answer of [
      await preflight(things, who, 'authorization'),
      await ask('GET /v1/models', [credential, from(who)]),
      await ask('GET /v1/models', [from(who)]),
    ]) {
      expect(corsOf(answer)).toEqual({});
      // An answer that differs by origin is not for a cache to give to another.
      expect(answer.headers.get('vary')).toBe('Origin');
    }
    expect((await preflight(things, who)).status).toBe(204);
  });
  test('nor does who has none', async () => {
    const answer = await ask('GET /v1/models', [credential]);
    expect([corsOf(answer), answer.headers.get('vary')]).toEqual([{}, 'Origin']);
  });
});

describe('an answer to an allowed origin', () => {
  const exposed = (answer: RawAnswer) => {
    const { 'access-control-expose-headers': names, ...others } = corsOf(answer);
    expect(others).toEqual({ 'access-control-allow-origin': origin });
    expect(answer.headers.get('vary')).toBe('Origin');
    return (names ?? '').toLowerCase().split(', ');
  };
  const own = [credential, from(origin)];
  test.each([
    ['GET /v1/models', own, 200, {}],
    ['HEAD /v1/models', own, 200, { isHead: true }],
    ['GET /v1/models', [from(origin)], 401, {}],
    ['GET /v1/models', ['Authorization: Bearer weak', from(origin)], 403, {}],
    ['GET /v1/nowhere', own, 404, {}],
    ['DELETE /v1/models', [...own, 'Content-Length: 0'], 405, {}],
    [
      `POST ${things}`,
      [...own, 'Idempotency-Key: 12345678', 'Transfer-Encoding: chunked'],
      411,
      { chunks: '0\r\n\r\n' },
    ],
    [`POST ${things}`, [...own, 'Content-Type: text/plain', 'Idempotency-Key: 12345678'], 415, { body: 'x' }],
    [`POST ${things}`, [...own, json, 'Idempotency-Key: 12345678'], 201, { body: '{"name":"n"}' }],
    [`POST ${things}`, [...own, json, 'Idempotency-Key: 12345678'], 413, { body: ' '.repeat(2_000_000) }],
    [`POST ${things}/absent/archive`, [...own, 'Content-Length: 0'], 404, {}],
    [`GET ${things}?limit=0`, own, 422, {}],
    ['GET /v1/broken', own, 500, {}],
    ['GET /v1/broken?how=header', own, 500, {}],
    ['GET /v1/unsound', own, 404, {}],
    ['GET /v1/marker', own, 200, {}],
    ['POST /v1/messages', [...own, json], 200, { body: '{"model":"m"}' }],
    ['GET /v1/models', [...own, 'Content-Length: 1', 'Content-Length: 2'], 400, {}],
  ] as const)('to %s %j of status %i may be read by its page', async (line, headers, status, options) => {
    const answer = await ask(line, headers, options);
    expect(answer.status).toBe(status);
    expect(exposed(answer)).toContain('request-id');
  });
  test('that is streamed may be read by its page', async () => {
    for (const pieces of [3, 0]) {
      const answer = await ask('POST /v1/chat/completions', [...own, json], { body: JSON.stringify({ pieces }) });
      expect(answer.headers.get('content-type')).toBe('text/event-stream');
      exposed(answer);
    }
    const failed = await ask('POST /v1/chat/completions', [...own, json], { body: '{"pieces":1,"fail":"before"}' });
    expect(failed.status).toBe(503);
    exposed(failed);
  });
  test('shows the page every header that the description has', async () => {
    const names = exposed(await ask('GET /v1/models', own));
    for (const name of [
      'request-id',
      'x-request-id',
      'retry-after',
      'x-should-retry',
      'x-ratelimit-limit-requests',
      'x-ratelimit-remaining-tokens',
      'x-ratelimit-reset-project-tokens',
      'x-ratelimit-scope',
      'x-ratelimit-metric',
      'www-authenticate',
      'idempotent-replayed',
      'etag',
    ])
      expect(names).toContain(name);
    expect(new Set(names).size).toBe(names.length);
  });
  test('that a limit has refused may be read by its page, beside the lines of its limits', async () => {
    const limited = await startService({
      corsOrigins: origins,
      gate: {
        ...gate,
        judge: (head, access, aim) => ({
          ...(gate.judge(head, access, aim) as object as Exclude<ReturnType<typeof gate.judge>, { code: string }>),
          limited: true,
          refusal: () => refusal('rate_limit_exceeded', { headers: { 'Retry-After': '3' } }),
          lines: () => '\r\nx-ratelimit-remaining-requests: 0',
        }),
      },
    });
    const answer = await ask('GET /v1/models', own, { at: limited });
    expect([answer.status, answer.headers.get('x-ratelimit-remaining-requests')]).toEqual([429, '0']);
    expect(exposed(answer)).toContain('retry-after');
    await limited.stop();
  });
});

describe('what no page may have to do with', () => {
  test.each([origin, 'https://evil.example', 'null', ''])('policies refuse the preflight of %j', async (who) => {
    for (const at of [on, off]) {
      for (const answer of [
        await preflight('/v1/policies', who, 'authorization', at),
        await ask('OPTIONS /v1/policies', [from(who)], { at }),
      ]) {
        expect([answer.status, JSON.parse(answer.body).error.code]).toEqual([403, 'browser_not_allowed']);
        expect(corsOf(answer)).toEqual({});
      }
    }
  });
  test.each([
    ['GET /v1/policies', [credential]],
    ['GET /v1/policies', []],
    ['PUT /v1/policies', [credential, 'Content-Length: 0']],
    ['POST /v1/token', [json, 'Content-Length: 2']],
    ['PUT /v1/token', ['Content-Length: 0']],
  ])('%s has no CORS header, with %j', async (line, headers) => {
    const body = line.startsWith('POST') ? '{}' : '';
    const { answers } = await send(on.port, request(line, [...headers, from(origin)], body), { answers: 1 });
    expect(answers).toHaveLength(1);
    expect(corsOf(answers[0]!)).toEqual({});
  });
  test('nor does the preflight of a token', async () => {
    const answer = await preflight('/v1/token');
    expect([answer.status, answer.headers.get('allow'), corsOf(answer)]).toEqual([204, 'POST, OPTIONS', {}]);
  });
});
