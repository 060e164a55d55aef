import { expect, test, vi } from 'vitest';
import { type Answer, call, createKey } from './calls.ts';
import { weirHere } from './here.ts';
import { type Server, startServer } from './server.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000 });

const write = (server: Server, key: string, model = 'weir-sim-1'): Promise<Answer> =>
  call(server, 'POST', '/v1/messages', {
    key,
    body: { model, max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] },
  });

/** @returns the message of the 429 without its seconds, which agree with the header */
const refusedBy = ({ status, headers, body }: Answer): string => {
  expect(status).toBe(429);
  const { message } = body.error as { message: string };
  const seconds = Number(headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(30);
  expect(seconds).toBeLessThanOrEqual(60);
  expect(message).toContain(`Try again in ${seconds} seconds.`);
  return message.split('. Try')[0]!;
};
const quota = ({ headers }: Answer): (string | null)[] =>
  ['limit', 'remaining'].map((what) => headers.get(`x-ratelimit-${what}-requests`));

test('limits of a key, a model and a project hold from the answer on, are told, and outlive a restart', async () => {
  let server = await startServer({ env: { TIERS_FILE: '' } });
  const project = `/v1/organization/projects/${server.first.project_id}`;
  const set = (id: string, body: object) => call(server, 'POST', `${project}/rate_limits/${id}`, { body });
  const tight = await createKey(server, server.first.project_id, { name: 'tight', limits: { requests_per_minute: 2 } });
  expect(quota(await write(server, tight.value))).toEqual(['2', '1']);
  expect((await write(server, tight.value)).status).toBe(200);
  expect(refusedBy(await write(server, tight.value))).toBe(
    'Rate limit exceeded: this API key is limited to 2 requests per minute',
  );
  const raised = { limits: { requests_per_minute: 4 } };
  expect((await call(server, 'POST', `${project}/api_keys/${tight.id}`, { body: raised })).status).toBe(200);
  // Of three attempts the two that the smaller log had kept.
  expect(quota(await write(server, tight.value))).toEqual(['4', '1']);

  const key = server.first.project_api_key;
  expect((await set('rl-weir-sim-1', { max_requests_per_1_minute: 2 })).status).toBe(200);
  expect(quota(await write(server, key))).toEqual(['2', '1']);
  expect(quota(await write(server, key))).toEqual(['2', '0']);
  const refused = await write(server, key);
  expect(quota(refused)).toEqual(['2', '0']);
  expect(refusedBy(refused)).toBe(
    'Rate limit exceeded: the project is limited to 2 requests per minute for weir-sim-1',
  );
  expect((await write(server, key, 'weir-sim-thinking-1')).status).toBe(200);

  const shown = await weirHere(['limits', server.first.project_api_key_id], { DATA_DIR: server.dataDir });
  expect(shown.stdout).toMatch(/project for weir-sim-1 +requests per minute +2 +2 +0 +\d/);
  expect(shown.stdout).toMatch(/by: requests per minute of the project for weir-sim-1\.\n$/);

  await server.stop();
  server = await startServer({ dataDir: server.dataDir, env: { TIERS_FILE: '' } });
  refusedBy(await write(server, key));
  expect(quota(await call(server, 'GET', '/v1/models', { key: tight.value }))).toEqual(['4', '0']);

  expect((await set('rl-weir-sim-1', { max_requests_per_1_minute: null })).status).toBe(200);
  expect((await write(server, key)).status).toBe(200);
  expect((await set('rl-*', { max_requests_per_1_minute: 3 })).status).toBe(200);
  expect(refusedBy(await write(server, key))).toBe(
    'Rate limit exceeded: the project is limited to 3 requests per minute',
  );
  await server.stop();
});
