import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { serve } from '../../src/http/listen/server.ts';
import { onSignal } from '../../src/telemetry.ts';
import { eventually, request, send } from './raw-client.ts';
import { credential, gate, type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let service: Service;
const failed: { requestId: string; error: unknown }[] = [];
let unsubscribe = (): void => {};
beforeAll(async () => {
  service = await startService({ handlerTimeoutMs: 150 });
  unsubscribe = onSignal((name, signal) => {
    if (name === 'request.failed') failed.push(signal as (typeof failed)[number]);
  });
});
afterEach(() => {
  failed.length = 0;
});
afterAll(async () => {
  unsubscribe();
  await service.stop();
});

const ask = async (line: string, headers: readonly string[] = [], isHead = false) => {
  const { answers } = await send(service.port, request(line, headers), { answers: 1, isHead });
  return answers[0]!;
};

describe('an answer', () => {
  test.each(['GET /v1/models', 'GET /nowhere', 'GET /v1/broken', 'DELETE /v1/models', 'GET /v1/marker'])(
    'to %s names its request in both headers',
    async (line) => {
      const { headers } = await ask(line, [credential]);
      expect(headers.get('request-id')).toMatch(/^req_\d{26}$/);
      expect(headers.get('x-request-id')).toBe(headers.get('request-id'));
    },
  );

  test.each([
    ['/v1/messages/x', ['type', 'error', 'request_id']],
    ['/v1/chat/x', ['error']],
    ['/v1/responses', ['error']],
    ['/v1/embeddings', ['error']],
    ['/v1/nowhere', ['error']],
  ])('for the unknown path %s is in the envelope of its prefix', async (path, members) => {
    const answer = await ask(`GET ${path}`);
    expect(answer.status).toBe(404);
    const body = JSON.parse(answer.body);
    expect(Object.keys(body)).toEqual(members);
    expect(body.error.code).toBe('route_not_found');
  });

  test.each(['PUT', 'PATCH', 'DELETE', 'TRACE', 'FOO', 'get'])(
    'for %s on a known path is 405 with Allow',
    async (method) => {
      const answer = await ask(`${method} /v1/organization/things`, ['Content-Length: 0']);
      expect(answer.status).toBe(405);
      expect(answer.headers.get('allow')).toBe('POST, GET, HEAD, OPTIONS');
      expect(JSON.parse(answer.body).error.code).toBe('method_not_allowed');
    },
  );

  test('for a parameter of the path that is too long says where it is', async () => {
    const long = 'a'.repeat(201);
    const { status, body } = await ask(`GET /v1/models/${long}`, [credential]);
    expect(status).toBe(422);
    expect(JSON.parse(body).detail).toMatchObject([{ loc: ['path', expect.any(String)], input: long }]);
  });

  test('for HEAD has no body, and the connection goes on', async () => {
    // Some answers without a body are the last of their connection, by lot: none of these.
    const drawn = vi.spyOn(Math, 'random').mockReturnValue(0.9);
    const pieces = [request('HEAD /v1/models', [credential]), request('HEAD /nowhere')];
    const { answers, rest } = await send(service.port, '', {
      pieces,
      inTurn: true,
      isHead: true,
      answers: 2,
      settleMs: 50,
    });
    drawn.mockRestore();
    expect(answers.map(({ status }) => status)).toEqual([200, 404]);
    expect(rest).toBe('');
  });

  test('carries no CORS header, whatever the origin', async () => {
    const { headers } = await ask('GET /v1/models', [credential, 'Origin: https://evil.example']);
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  test('of administration is not to be stored; others may be', async () => {
    expect((await ask('GET /v1/organization/things', [credential])).headers.get('cache-control')).toBe('no-store');
    expect((await ask('GET /v1/organization/things')).headers.get('cache-control')).toBe('no-store');
    expect((await ask('GET /v1/models', [credential])).headers.has('cache-control')).toBe(false);
  });

  test('of 401 has WWW-Authenticate', async () => {
    expect((await ask('GET /v1/models')).headers.get('www-authenticate')).toBe('Bearer realm="api"');
  });

  test('takes x-api-key only where the route says so, and Authorization wins', async () => {
    expect((await ask('GET /v1/models', ['x-api-key: good'])).status).toBe(200);
    expect((await ask('GET /v1/organization/things', ['x-api-key: good'])).status).toBe(401);
    expect((await ask('GET /v1/models', ['Authorization: Bearer bad', 'x-api-key: good'])).status).toBe(401);
  });

  test('knows the address of its client', async () => {
    const answer = await ask('DELETE /v1/organization/things/a', [credential, 'Content-Length: 0']);
    expect(JSON.parse(answer.body)).toEqual({ id: 'a', ip: '127.0.0.1' });
  });
});

describe('Expect: 100-continue', () => {
  test('is met before the body, whatever the answer will be', async () => {
    const head = request('POST /v1/organization/things/t1/archive', [
      credential,
      'Expect: 100-continue',
      'Content-Length: 2',
    ]);
    const pieces = [head, '{}'].map((piece) => Buffer.from(piece));
    const { statuses } = await send(service.port, '', { pieces, inTurn: true, answers: 2 });
    expect(statuses).toEqual([100, 200]);
  });
});

describe('a failure', () => {
  test.each(['throw', 'reject', 'cycle', 'header'])(
    'by %s is 500 with the request id and tells nothing',
    async (how) => {
      const answer = await ask(`GET /v1/broken?how=${how}`);
      expect(answer.status).toBe(500);
      const { error } = JSON.parse(answer.body);
      expect(error).toMatchObject({
        code: 'internal_error',
        request_id: answer.headers.get('request-id'),
        param: null,
      });
      expect(answer.body).not.toContain('secret');
      expect(failed).toHaveLength(1);
      expect(failed[0]?.requestId).toBe(error.request_id);
    },
  );

  test('to answer in time is 503, and is recorded', async () => {
    const answer = await ask('GET /v1/broken?how=never');
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.body).error.code).toBe('dependency_unavailable');
    expect(failed).toHaveLength(1);
    expect(service.server.inFlight).toBe(0);
  });

  test('of the gate or of the id maker does not end the process', async () => {
    const fail = () => {
      throw new Error('gate');
    };
    const broken = await startService({ gate: { isTooOld: false, judge: fail, meet: fail, judgeAgain: fail } });
    expect((await send(broken.port, request('GET /v1/models'), { answers: 1 })).statuses).toEqual([500]);
    await broken.stop();
    let calls = 0;
    const nameless = await startService({
      requestId: () => {
        if (calls++ === 0) throw new Error('id');
        return 'req_1';
      },
    });
    expect((await send(nameless.port, request('GET /v1/marker'), { closes: true })).closed).toBe(true);
    expect((await send(nameless.port, request('GET /v1/marker'), { answers: 1 })).statuses).toEqual([200]);
    await nameless.stop();
  });
});

describe('a large answer', () => {
  test.each([65_536, 65_537, 5_000_000])('of %i bytes arrives whole, and the connection goes on', async (bytes) => {
    const pieces = [request(`GET /v1/large?bytes=${bytes}`), request('GET /v1/marker')].map((piece) =>
      Buffer.from(piece),
    );
    const { answers } = await send(service.port, '', { pieces, inTurn: true, answers: 2 });
    expect(answers.map(({ body }) => body.length)[0]).toBe(bytes);
    expect(answers[1]?.status).toBe(200);
    await eventually(() => service.server.inFlight).toBe(0);
  });
});

describe('serve', () => {
  const options = {
    routes: [],
    gate,
    host: '127.0.0.1',
    requestId: () => 'req_1',
    clock: { wall: () => 0, monotonic: () => 0 },
  };

  test('says in one sentence that the port is in use', async () => {
    await expect(serve({ ...options, port: service.port })).rejects.toThrow(
      /^Cannot listen on HOST 127\.0\.0\.1 PORT \d+: another process has that port\.$/,
    );
  });

  test('a second server on the same fixed port is refused, not balanced', async () => {
    const first = await serve({ ...options, port: 0 });
    const { port } = first;
    await first.drain(0);
    const again = await serve({ ...options, port });
    await expect(serve({ ...options, port })).rejects.toThrow(/another process has that port/);
    await again.drain(0);
  });

  test('says in one sentence that the host cannot be bound', async () => {
    await expect(serve({ ...options, host: '203.0.113.1', port: 0 })).rejects.toThrow(
      /^Cannot listen on HOST 203\.0\.113\.1 PORT 0: this machine has no such address\.$/,
    );
  });
});
