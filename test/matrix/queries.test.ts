import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { bearer } from '../support/whole-gateway.ts';
import { base, codeOf, isAdministration, matrix, named, ownerOf, rowOf } from './stage.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** What nobody knows of a query is refused where it would otherwise seem to have been obeyed (contract A.2). */

let stage: Awaited<ReturnType<typeof matrix>>;
let server: HttpServer;
beforeAll(async () => {
  stage = await matrix();
  server = await stage.at.listen();
});
afterAll(async () => {
  await server.drain(0);
  await stage.at.close();
});

const routes = named.filter(({ route }) => 'permission' in route.access);

describe('a query parameter that does not exist', () => {
  test.each(routes.filter(({ route }) => isAdministration(route)))('is refused by $title', async ({ route }) => {
    const row = rowOf(route);
    const ids = (await row.ids?.(stage.mine)) ?? {};
    const before = stage.at.store.log.length;
    for (const unknown of ['request_id=req_x', 'nonsense[]=1', 'nonsense[gte]=1', '__proto__=1']) {
      const query = [row.query, unknown].filter((each) => each !== undefined).join('&');
      const answer = await stage.send(route, ids, ownerOf(route, stage.mine), query);
      const name = /^\w+/.exec(unknown)![0];
      expect([answer.status, codeOf(answer), answer.body.error.param]).toEqual([422, 'unknown_field', `query.${name}`]);
      expect(answer.body.error.message).toBe(`query.${name}: There is no such parameter.`);
    }
    expect(stage.at.store.log.length).toBe(before);
  });

  test.each(routes.filter(({ route }) => !isAdministration(route)))(
    'is ignored by $title, since SDKs send more than anybody reads',
    async ({ route }) => {
      const ids = (await rowOf(route).ids?.(stage.mine)) ?? {};
      const answer = await stage.send(route, ids, ownerOf(route, stage.mine), 'beta=true&lifecycle=x');
      expect(answer.status).toBe(rowOf(route).status);
    },
  );
});

describe('the audit log, over a socket', () => {
  const ask = async (path: string, method = 'GET', body?: object) => {
    const response = await fetch(`http://127.0.0.1:${server.port}${base}${path}`, {
      method,
      headers: { ...bearer(stage.mine.adminKey.value), 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const requestId = response.headers.get('request-id');
    // biome-ignore lint/suspicious/noExplicitAny: answers of every shape.
    return { status: response.status, requestId, body: (await response.json()) as any };
  };
  const list = (query: string) => ask(`/audit_logs?${query}`);

  test('finds what one request did, and nothing else', async () => {
    const [one, other] = [await ask('/projects', 'POST', { name: 'a' }), await ask('/projects', 'POST', { name: 'b' })];
    const found = await list(`request_ids[]=${one.requestId}`);
    expect(found.body.data).toMatchObject([
      { type: 'project.created', request_id: one.requestId, 'project.created': { id: one.body.id } },
    ]);
    const both = await list(`request_ids[]=${one.requestId}&request_ids[]=${other.requestId}`);
    expect(both.body.data.map((each: { request_id: string }) => each.request_id)).toEqual([
      other.requestId,
      one.requestId,
    ]);
    expect((await list('request_ids[]=req_none')).body.data).toEqual([]);
  });

  test('has nothing of anybody with an e-mail address, since nobody has one', async () => {
    for (const query of ['actor_emails[]=a@example.com', 'actor_emails=a@example.com&actor_emails=b@example.com']) {
      const { status, body } = await list(query);
      expect([status, body]).toEqual([200, { object: 'list', data: [], has_more: false, first_id: '', last_id: '' }]);
    }
  });

  test('has nothing of a tenant above organizations, since there is none', async () => {
    expect((await list('tenant_only=true')).body.data).toEqual([]);
    expect((await list('tenant_only=false')).body.data.length).toBeGreaterThan(0);
    expect((await list('tenant_only=maybe')).body.error.param).toBe('query.tenant_only');
  });

  test('refuses what it does not know, also inside a parameter', async () => {
    for (const [query, param] of [
      ['request_id=req_x', 'query.request_id'],
      ['actor_email[]=a@example.com', 'query.actor_email'],
      ['effective_at[after]=1', 'query.effective_at.after'],
    ]) {
      const { status, body } = await list(query!);
      expect([status, body.error.code, body.error.param]).toEqual([422, 'unknown_field', param]);
    }
  });
});
