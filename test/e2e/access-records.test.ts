import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { archive, call, createAdminKey, createKey, createProject, dataOf, type Json, paths, use } from './calls.ts';
import { type Server, startServer } from './server.ts';

const auditLog = async (server: Server, query: string): Promise<Json[]> =>
  dataOf(await call(server, 'GET', `/v1/organization/audit_logs?${query}`));

test('what credentials did before a SIGTERM is in its events, and thus there after the next start', async () => {
  const begun = Math.floor(Date.now() / 1000);
  const server = await startServer();
  const project = await createProject(server);
  const [used, unused, gone] = [
    await createKey(server, project),
    await createKey(server, project),
    await createKey(server, await createProject(server, 'archived')),
  ];
  const admin = await createAdminKey(server, { name: 'used', permissions: ['projects:read'] });
  const owner = String((await call(server, 'GET', paths.projects)).body.last_id);
  await archive(server, owner);
  for (let i = 0; i < 3; i++) expect(await use(server, used.value)).toBe('200');
  expect((await call(server, 'GET', paths.projects, { key: admin.value })).status).toBe(200);
  for (let i = 0; i < 4; i++) expect(await use(server, gone.value)).toBe('401 api_key_revoked');
  expect((await call(server, 'GET', paths.adminKeys, { key: admin.value })).status).toBe(403);
  await server.stop();
  const ended = Math.ceil(Date.now() / 1000);

  rmSync(join(server.dataDir, 'read-models'), { recursive: true });
  const again = await startServer({ dataDir: server.dataDir });
  const keyOf = async (id: string) => (await call(again, 'GET', `${paths.projectKeys(project)}/${id}`)).body;
  const listed = dataOf(await call(again, 'GET', paths.projectKeys(project)));
  for (const shown of [await keyOf(used.id), listed[0]!]) {
    expect(shown.last_used_at).toBeGreaterThanOrEqual(begun);
    expect(shown.last_used_at).toBeLessThanOrEqual(ended);
  }
  for (const shown of [await keyOf(unused.id), listed[1]!]) expect(shown.last_used_at).toBeNull();
  const adminKeys = dataOf(await call(again, 'GET', paths.adminKeys));
  for (const { id, last_used_at } of adminKeys) expect([id, typeof last_used_at]).toEqual([id, 'number']);
  const entries = await auditLog(again, 'event_types[]=access.denied&order=asc');
  // A minute may have turned in between: then there are two events of the same kind.
  const sums = new Map<string, number>();
  for (const entry of entries) {
    const { id, data } = entry['access.denied'] as {
      id: string;
      data: { route: string; code: string; count: number };
    };
    const key = [id, data.route, data.code].join(' ');
    sums.set(key, (sums.get(key) ?? 0) + data.count);
    expect(entry).toMatchObject({ actor: { type: 'api_key', api_key: { id } }, ip_address: '127.0.0.1' });
    expect(entry.request_id).toMatch(/^req_/);
  }
  expect(Object.fromEntries(sums)).toEqual({
    [`${gone.id} GET /v1/models api_key_revoked`]: 4,
    [`${admin.id} GET /v1/organization/admin_api_keys insufficient_permissions`]: 1,
  });
  await again.stop();
});
