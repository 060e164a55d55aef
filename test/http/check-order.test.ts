import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { fault } from '../../src/errors.ts';
import { route } from '../../src/http/route.ts';
import { request, send } from './raw-client.ts';
import { type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let service: Service;
let acted = 0;
beforeAll(async () => {
  service = await startService({}, () => [
    route({
      method: 'POST',
      path: '/v1/organization/ordered/{id}',
      operation: 'ordered',
      summary: 'Everything that can be checked',
      tag: 'Organization',
      family: 'admin',
      access: { credential: 'admin', permission: 'x' },
      params: z.object({ id: z.string().max(5) }),
      query: z.object({ limit: z.coerce.number().int().max(9).optional() }),
      headers: { 'Idempotency-Key': z.string().min(8) },
      body: z.strictObject({ name: z.string() }),
      bodyLimit: 100,
      find: ({ params }) => {
        if (params.id === 'none') throw fault('project_not_found');
      },
      replies: { 200: { description: 'Done.' } },
      handle: () => {
        acted++;
        return { status: 200, body: {} };
      },
    }),
  ]);
});
afterAll(() => service.stop());

/** One fault per step of contract F.2, in its order; each request has this fault and all that come after it. */
const steps = [
  { status: 401, code: 'invalid_api_key', credential: 'Authorization: Bearer bad' },
  { status: 403, code: 'insufficient_permissions', credential: 'Authorization: Bearer weak' },
  { status: 422, code: 'validation_failed', param: 'id', id: 'toolong' },
  { status: 422, code: 'validation_failed', param: 'query.limit', query: '?limit=99' },
  { status: 422, code: 'validation_failed', param: 'header.Idempotency-Key', key: 'Idempotency-Key: short' },
  { status: 404, code: 'project_not_found', id: 'none' },
  { status: 415, code: 'unsupported_media_type', type: 'Content-Type: text/plain' },
  { status: 413, code: 'request_too_large', body: 'x'.repeat(200) },
  { status: 400, code: 'invalid_json', body: '{"name":' },
  { status: 422, code: 'validation_failed', param: 'name', body: '{"name":1}' },
] as const;

interface Parts {
  credential?: string;
  id?: string;
  query?: string;
  key?: string;
  type?: string;
  body?: string;
}

const build = (parts: Parts): string => {
  const { credential = 'Authorization: Bearer good', id = 'a', query = '', key = 'Idempotency-Key: 12345678' } = parts;
  const { type = 'Content-Type: application/json', body = '{"name":"a"}' } = parts;
  return request(
    `POST /v1/organization/ordered/${id}${query}`,
    [credential, key, type, `Content-Length: ${body.length}`],
    body,
  );
};

describe('the check order', () => {
  test.each(steps.map((step, at) => [at, step.code, step] as const))(
    'step %i is %s, whatever else is wrong',
    async (at, _, step) => {
      // Later faults first, so that this step's own parts win.
      const parts: Parts = Object.assign({}, ...steps.slice(at).reverse());
      const { answers } = await send(service.port, build(parts), { answers: 1 });
      const { error } = JSON.parse(answers[0]!.body);
      expect({ status: answers[0]!.status, code: error.code }).toEqual({ status: step.status, code: step.code });
      if ('param' in step) expect(error.param).toBe(step.param);
      expect(acted).toBe(0);
    },
  );

  test('(canary) with nothing wrong the handler acts', async () => {
    expect((await send(service.port, build({}), { answers: 1 })).statuses).toEqual([200]);
    expect(acted).toBe(1);
  });

  test('an unknown route and method need no credential', async () => {
    expect((await send(service.port, request('GET /v1/nope'), { answers: 1 })).statuses).toEqual([404]);
    expect((await send(service.port, request('DELETE /v1/models'), { answers: 1 })).statuses).toEqual([405]);
  });
});
