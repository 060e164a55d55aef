import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { call, errorOf, freshKey, paths } from '../e2e/calls.ts';
import { accepted, invalidUtf8, rejected } from '../http/json-cases.ts';
import { wire } from './stage.ts';

/** Bodies of the kinds of JSONTestSuite, sent to a running gateway. */

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let server: Awaited<ReturnType<typeof wire>>;
beforeAll(async () => {
  server = await wire();
});
afterAll(() => server.close());

describe('bodies of every form', () => {
  const routes = () => [
    { path: '/v1/messages', key: server.first.project_api_key },
    { path: paths.projects, key: server.first.admin_api_key },
  ];
  const send = async (raw: string | Uint8Array<ArrayBuffer>) =>
    Promise.all(
      routes().map(async ({ path, key }) => {
        const headers = { 'idempotency-key': freshKey() };
        const { status, body } = await call(server, 'POST', path, { key, raw, headers });
        return { status, code: errorOf(body).code };
      }),
    );

  test('that are JSON are read', async () => {
    for (const text of accepted) {
      for (const { status, code } of await send(text)) {
        expect([400, 422], text).toContain(status);
        expect(['invalid_json', 'internal_error'], text).not.toContain(code);
      }
    }
  });

  test('that are none are refused as that', async () => {
    const broken = invalidUtf8.map((bytes) =>
      Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]),
    );
    for (const body of [...rejected, ...broken.map((bytes) => new Uint8Array(bytes))]) {
      // What is larger is refused for that.
      if (body.length === 0 || body.length > 64 * 1024) continue;
      for (const { status, code } of await send(body)) {
        expect(status, String(body)).toBe(400);
        expect(['invalid_json', 'request_too_complex']).toContain(code);
      }
    }
  });
});
