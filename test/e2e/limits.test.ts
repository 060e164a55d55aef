import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { type TierTable, tiers } from '../../src/domain/organization/tiers.ts';
import { type Answer, call } from './calls.ts';
import { weirHere } from './here.ts';
import { eventually, exitOf, freshDir, type Server, spawnServer, startServer } from './server.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000 });

const models = (server: Server, key: string): Promise<Answer> => call(server, 'GET', '/v1/models', { key });
const quota = ({ headers }: Answer): string =>
  ['limit', 'remaining'].map((what) => headers.get(`x-ratelimit-${what}-requests`)).join(' ');
/** The spec's own table: an empty variable counts as absent. */
const bySpec = { TIERS_FILE: '' };
const withRpm = (rpm: number): string =>
  JSON.stringify({ tiers: tiers.map((row) => ({ ...row, rpm })) as unknown as TierTable });

test('limits hold, are told, outlive a restart, and follow a payment at once', async () => {
  let server = await startServer({ env: bySpec });
  const key = server.first.project_api_key;
  for (let n = 1; n <= 45; n++) expect(quota(await models(server, key))).toBe(`60 ${60 - n}`);
  await server.stop();
  expect(readdirSync(join(server.dataDir, 'limits')).sort()).toEqual([
    'administration-1.windows',
    'credits-1.windows',
    'inference-1.windows',
  ]);
  server = await startServer({ dataDir: server.dataDir, env: bySpec });
  const restored = server.log().find(({ msg, family }) => msg === 'limits.restored' && family === 'inference');
  expect(restored).toMatchObject({ level: 30, records: expect.any(Number), refused: [], halfFull: false });
  for (let n = 46; n <= 60; n++) expect(quota(await models(server, key))).toBe(`60 ${60 - n}`);
  const refused = await models(server, key);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(30);

  const env = { DATA_DIR: server.dataDir };
  const shown = await weirHere(['limits', server.first.project_api_key_id], env);
  expect(shown.stderr).toBe('');
  expect(shown.stdout).toMatch(/api key +requests per minute +60 +60 +0 +\d.* key_\w+\n/);
  expect(shown.stdout).toMatch(/Tier 0\. Refused last at 20\d\d-.* by: requests per minute of the api key\.\n$/);
  const json = await weirHere(['limits', server.first.project_api_key_id, '--jsonl'], env);
  const [own] = (JSON.parse(json.stdout) as { scopes: { windows: { used: number }[] }[] }).scopes;
  expect(own!.windows.map(({ used }) => used)).toEqual([60, 61, 0, 0]);

  const organization = server.first.organization_id;
  await weirHere(['billing', 'top-up', organization, '--amount', '20', '--reference', 'first'], env);
  await eventually(async () => ((await models(server, key)).status === 200 ? true : undefined));
  expect(quota(await models(server, key))).toMatch(/^(120|240) /);
  await server.stop();
});

test('the tiers file is checked at the start, followed while it changes, and kept when it turns bad', async () => {
  const dataDir = freshDir();
  const file = `${freshDir('tiers')}.json`;
  const env = { TIERS_FILE: file };
  const absent = await spawnServer(dataDir, env);
  expect((await exitOf(absent)).code).toBe(78);
  expect(absent.stderr()).toMatch(/TIERS_FILE: The tiers file .* cannot be read: ENOENT/);
  writeFileSync(file, withRpm(7));
  const unsound = await spawnServer(dataDir, env);
  expect((await exitOf(unsound)).code).toBe(78);
  expect(unsound.stderr()).toContain('TIERS_FILE: The tiers file has 6 faults:\n  tiers[0].rpm: must be even');

  writeFileSync(file, withRpm(8));
  const server = await startServer({ dataDir, env });
  const key = server.first.project_api_key;
  expect(quota(await models(server, key))).toBe('8 7');
  const limits = async () =>
    (await call(server, 'GET', '/v1/organization')).body.limits as { api_key: { requests_per_minute: number } };
  expect((await limits()).api_key.requests_per_minute).toBe(8);

  writeFileSync(file, withRpm(20));
  await eventually(() => server.log().find(({ msg }) => msg === 'tiers.reloaded'));
  expect(quota(await models(server, key))).toBe('20 18');
  expect((await limits()).api_key.requests_per_minute).toBe(20);

  writeFileSync(file, withRpm(21));
  const told = await eventually(() => server.log().find(({ msg }) => msg === 'tiers.refused'));
  expect(told).toMatchObject({ level: 40, file, fault: expect.stringContaining('tiers[5].rpm: must be even') });
  expect(quota(await models(server, key))).toBe('20 17');
  await server.stop();
});
