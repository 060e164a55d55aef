import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { request, send } from './raw-client.ts';
import { credential, type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());
// Some answers without a body are the last of their connection, by lot: none of these.
beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0.9);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const one = async (method: 'GET' | 'HEAD', path: string, headers = [credential]) => {
  const options = { isHead: method === 'HEAD', answers: 1, settleMs: 20 };
  const { answers, rest } = await send(service.port, request(`${method} ${path}`, headers), options);
  return { ...answers[0]!, rest };
};
/** But for those that no two answers have alike. */
const lasting = (headers: ReadonlyMap<string, string>) =>
  Object.fromEntries([...headers].filter(([name]) => !/^(x-)?request-id$|^date$/.test(name)));

describe('HEAD has the status and the headers of GET, and no body', () => {
  test.each([
    ['/v1/models', 200],
    ['/v1/models/a%2Fb', 200],
    ['/v1/organization/things?limit=5', 200],
    ['/v1/organization/things?limit=500', 422],
    ['/v1/large?bytes=100000', 200],
    ['/v1/nowhere', 404],
  ])('%s', async (path, status) => {
    const [got, head] = [await one('GET', path), await one('HEAD', path)];
    expect([got.status, head.status]).toEqual([status, status]);
    expect(lasting(head.headers)).toEqual(lasting(got.headers));
    expect(Number(head.headers.get('content-length'))).toBe(got.body.length);
    expect(head.rest).toBe('');
  });
  test('also without a credential', async () => {
    const [got, head] = [await one('GET', '/v1/models', []), await one('HEAD', '/v1/models', [])];
    expect([got.status, head.status, head.rest]).toEqual([401, 401, '']);
    expect(lasting(head.headers)).toEqual(lasting(got.headers));
  });
  test('and the connection goes on', async () => {
    const pieces = [request('HEAD /v1/models', [credential]), request('HEAD /v1/marker')];
    const { statuses, rest } = await send(service.port, '', {
      pieces,
      inTurn: true,
      isHead: true,
      answers: 2,
      settleMs: 20,
    });
    expect([statuses, rest]).toEqual([[200, 200], '']);
  });
  test('and where there is no GET there is no HEAD', async () => {
    const { status, headers } = await one('HEAD', '/v1/messages');
    expect([status, headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
  });
});
