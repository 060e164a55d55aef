import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { call, type Json, pagesOf } from './calls.ts';
import { runWeir, startServer } from './server.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000 });

const base = '/v1/organization/policies';

test('what has happened to a policy is what weir audit tells, and outlives the read models', async () => {
  let server = await startServer();
  const rule = 'request.max_tokens > 5';
  const { id } = (await call(server, 'POST', base, { body: { name: 'a policy', rule } })).body as { id: string };
  for (const [action, revision] of [
    ['publish', 1],
    ['pause', 2],
  ] as const)
    expect((await call(server, 'POST', `${base}/${id}/${action}`, { body: { revision } })).status).toBe(200);
  const audited = async (...args: string[]): Promise<Json[]> => {
    const { code, stdout, stderr } = await runWeir(['audit', ...args, '--jsonl'], { DATA_DIR: server.dataDir });
    expect(code, stderr).toBe(0);
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Json);
  };
  const types = (await audited('history', id)).map(({ type }) => type);
  expect(types).toEqual(['policy.created', 'policy.published', 'policy.paused']);
  const [state] = await audited('state', id, '--at', '1');
  expect(state).toMatchObject({
    id,
    last_event: `${id}@1`,
    // The mode of what was published.
    status: 'monitoring',
    fields: { revision: 2, published: { version: 1, rule, match_threshold_basis_points: 5000 } },
  });

  for (const args of [
    ['state', id, '--at', '1'],
    ['diff', id, '--from', '2020-01-01'],
  ]) {
    const { stdout } = await runWeir(['audit', ...args], { DATA_DIR: server.dataDir });
    expect(stdout).toMatch(/ published\.match_threshold_basis_points/);
    expect(stdout).toMatch(/ draft\.project_ids/);
    expect(stdout).not.toMatch(/\blive\b|current|paused_revision/);
  }

  const seen = async () => [
    ...(await pagesOf(server, base)),
    (await call(server, 'GET', `${base}/${id}`)).text,
    ...(await pagesOf(server, `${base}/${id}/versions`)),
  ];
  const before = await seen();
  await server.stop();
  rmSync(join(server.dataDir, 'read-models'), { recursive: true });
  server = await startServer({ dataDir: server.dataDir });
  expect(await seen()).toEqual(before);
});
