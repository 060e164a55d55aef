import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Refused } from '../../src/http/refused.ts';
import { codePoints, decodePercent } from '../../src/http/request/percent.ts';
import { readParameters, router } from '../../src/http/routing/router.ts';
import { request, send } from './raw-client.ts';
import { credential, type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const ask = async (target: string, headers: readonly string[] = [credential], method = 'GET') => {
  const { answers } = await send(service.port, Buffer.from(request(`${method} ${target}`, headers), 'latin1'), {
    answers: 1,
  });
  const body = Buffer.from(answers[0]?.body ?? '', 'latin1').toString('utf8');
  return { status: answers[0]?.status, body: body.startsWith('{') ? JSON.parse(body) : body };
};
const outcome = async (target: string, headers?: readonly string[]) => {
  const { status, body } = await ask(target, headers);
  return [status, body.error?.code ?? body.id];
};

describe('a path with a trick in it', () => {
  const long = 'x'.repeat(200);
  test.each([
    ['/v1/models', 200, undefined],
    ['/v1/models/', 404, 'route_not_found'],
    ['//v1/models', 404, 'route_not_found'],
    ['/v1//models', 404, 'route_not_found'],
    ['/v1/./models', 404, 'route_not_found'],
    ['/v1/x/../models', 404, 'route_not_found'],
    ['/v1/%6dodels', 404, 'route_not_found'],
    ['/V1/models', 404, 'route_not_found'],
    ['/v1/Models', 404, 'route_not_found'],
    ['/v1/models;x=1', 404, 'route_not_found'],
    ['/v1/models%3f', 404, 'route_not_found'],
    ['/v1/models%00', 404, 'route_not_found'],
    ['/v1/models#x', 404, 'route_not_found'],
    ['/v1/models\\', 404, 'route_not_found'],
    ['/', 404, 'route_not_found'],
    ['/v1/models/meta%2Fllama-3', 200, 'meta/llama-3'],
    ['/v1/models/meta/llama-3', 200, 'meta/llama-3'],
    ['/v1/models/a%252Fb', 200, 'a%2Fb'],
    ['/v1/models/%C3%A9', 200, 'é'],
    ['/v1/models/%C3', 400, 'invalid_request'],
    ['/v1/models/%C0%AF', 400, 'invalid_request'],
    ['/v1/models/%E0%80%AF', 400, 'invalid_request'],
    ['/v1/models/%ED%A0%80', 400, 'invalid_request'],
    ['/v1/models/%00', 400, 'invalid_request'],
    ['/v1/models/a%', 400, 'invalid_request'],
    ['/v1/models/a%2', 400, 'invalid_request'],
    ['/v1/models/a%zz', 400, 'invalid_request'],
    ['/v1/models/..', 400, 'invalid_request'],
    ['/v1/models/%2e%2e', 400, 'invalid_request'],
    ['/v1/models/a/..', 400, 'invalid_request'],
    ['/v1/models/..%2Fadmin', 400, 'invalid_request'],
    ['/v1/models/.', 400, 'invalid_request'],
    [`/v1/models/${long}`, 200, long],
    [`/v1/models/${long}x`, 422, 'validation_failed'],
    [`/v1/models/${'%C3%A9'.repeat(200)}`, 200, 'é'.repeat(200)],
    [`/v1/models/${'%C3%A9'.repeat(201)}`, 422, 'validation_failed'],
    ['/v1/models/\x80', 400, 'invalid_request'],
  ])('%s is %i %s', async (target, status, code) => {
    expect(await outcome(target)).toEqual([status, code]);
  });

  test.each(['%2f', '%2F', 't1%2farchive', '..', '%2e%2e', '%2e', '%00', 'a%0', '%ff'])(
    'the id %s of a command is 400 and nothing happens',
    async (id) => {
      const before = service.effects.archived.length;
      const { status, body } = await ask(
        `/v1/organization/things/${id}/archive`,
        [credential, 'Content-Length: 0'],
        'POST',
      );
      expect([status, body.error?.code, body.error?.param]).toEqual([400, 'invalid_request', 'thing_id']);
      expect(service.effects.archived.length).toBe(before);
    },
  );

  test('no trick gets past the credential', async () => {
    for (const target of [
      '/v1/models/a',
      '/v1/models/%2e%2e',
      `/v1/models/${long}x`,
      '/v1/models/a%',
      '/v1/organization/things?limit=%',
    ]) {
      expect((await ask(target, [])).status, target).toBe(401);
    }
  });

  test('an empty id is another path', async () => {
    expect(await outcome('/v1/organization/things//archive')).toEqual([404, 'route_not_found']);
  });
});

describe('router', () => {
  const match = router([
    { method: 'GET', path: '/a' },
    { method: 'POST', path: '/a' },
    { method: 'GET', path: '/a/{id}' },
    { method: 'GET', path: '/a/fixed' },
    { method: 'GET', path: '/a/{id}/b' },
    { method: 'GET', path: '/a/fixed/c/{x}' },
    { method: 'GET', path: '/r/{rest*}' },
    { method: 'GET', path: '/r/one' },
  ] as const);
  const found = (path: string) => {
    const result = match(path);
    return result && [result.place.methods.get('GET')?.path, ...result.raw];
  };

  test.each([
    ['/a', ['/a']],
    ['/a/1', ['/a/{id}', '1']],
    ['/a/fixed', ['/a/fixed']],
    ['/a/fixed/b', ['/a/{id}/b', 'fixed']],
    ['/a/fixed/c/2', ['/a/fixed/c/{x}', '2']],
    ['/r/one', ['/r/one']],
    ['/r/one/two', ['/r/{rest*}', 'one/two']],
    ['/r/x', ['/r/{rest*}', 'x']],
    ['/r/', undefined],
    ['/a/', undefined],
    ['/a/1/c', undefined],
    ['', undefined],
    ['/toString', undefined],
    ['/a/__proto__', ['/a/{id}', '__proto__']],
  ])('%s', (path, expected) => {
    expect(found(path)).toEqual(expected);
  });

  test('names the methods of a path for the Allow header', () => {
    expect(match('/a')?.place.allow).toBe('GET, HEAD, POST, OPTIONS');
  });

  test('refuses two routes for one method and path, and paths it does not understand', () => {
    expect(() =>
      router([
        { method: 'GET', path: '/a' },
        { method: 'GET', path: '/a' },
      ]),
    ).toThrow(/Two routes/);
    expect(() => router([{ method: 'GET', path: '/a{b}' }])).toThrow(/not understood/);
    expect(() => router([{ method: 'GET', path: '/{a*}/b' }])).toThrow(/before its end/);
  });
});

describe('decodePercent', () => {
  test('undoes encodeURIComponent exactly once, for any text without NUL', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        if (text.includes('\0') || /[\ud800-\udfff]/.test(text.replace(/[\ud800-\udbff][\udc00-\udfff]/g, ''))) return;
        expect(decodePercent(encodeURIComponent(text))).toBe(text);
        expect(decodePercent(encodeURIComponent(encodeURIComponent(text)))).toBe(encodeURIComponent(text));
      }),
    );
  });

  test('accepts nothing that decodeURIComponent refuses, and never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'%0123456789abcdefABCDEFgz/.+ é'), maxLength: 20 }), (text) => {
        const decoded = decodePercent(text);
        if (decoded !== undefined) expect(decodeURIComponent(text)).toBe(decoded);
        const match = router([{ method: 'GET', path: '/{p*}' }] as const)(`/${text}`);
        const values = match && readParameters(match);
        if (values instanceof Refused) expect(['invalid_request', 'validation_failed']).toContain(values.refusal.code);
      }),
      { numRuns: 5000 },
    );
  });

  test('counts code points', () => {
    expect(codePoints('aé😀')).toBe(3);
  });
});
