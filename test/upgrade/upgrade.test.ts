import { dirname } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { noUse } from '../../projections/usage.ts';
import { anyEventLog } from '../../src/app/log/event-log.ts';
import { signLog } from '../../src/app/log/log-version.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { totalStream, usageSettled, usageStream, usageTotalled } from '../../src/domain/usage/usage-events.ts';
import { call, createKey, type Json, use } from '../e2e/calls.ts';
import { weirHere } from '../e2e/here.ts';
import { exitOf, freshDir, spawnWeir } from '../e2e/process.ts';
import { isRemote } from '../e2e/remote-store.ts';
import { type Server, startServer } from '../e2e/server.ts';
import { event } from '../support/events.ts';
import { settlement } from '../usage/some-request.ts';
import { type Fixture, fixtureVersions, layOut, readFixture } from './fixture.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 180_000 });

/** The limits that the older version had, which are told with the organization. */
const env = { TIERS_FILE: '' };

const laidOut = (fixture: Fixture): string => {
  const dataDir = freshDir('data');
  layOut(fixture, dirname(dataDir));
  return dataDir;
};

/** Times of last use are written now and then, and passed over when they are old. */
const steady = (body: unknown): unknown =>
  JSON.parse(JSON.stringify(body, (name, value) => (name === 'last_used_at' ? undefined : value)));

const expectAllThere = async (server: Server, fixture: Fixture): Promise<void> => {
  for (const [path, body] of Object.entries(fixture.shown)) {
    const answer = await call(server, 'GET', path);
    expect(answer.body, path).toMatchObject(steady(body) as object);
  }
  const [key = ''] = fixture.liveKeys;
  expect((await call(server, 'GET', '/v1/credits', { key })).body).toMatchObject(fixture.credits as object);
  for (const live of fixture.liveKeys) expect(await use(server, live)).toBe('200');
  for (const dead of fixture.deadKeys) expect(await use(server, dead)).toMatch(/^40[13] /);
};

/** None are there, and the first that are set hold. */
const expectOwnLimits = async (server: Server, { projectId }: Fixture): Promise<void> => {
  const project = `/v1/organization/projects/${projectId}`;
  const requests = async () => {
    const { data } = (await call(server, 'GET', `${project}/rate_limits`)).body;
    return (data as Json[]).map((row) => row.max_requests_per_1_minute);
  };
  const before = await requests();
  expect(new Set(before).size).toBe(1);
  const none = {
    requests_per_minute: null,
    tokens_per_minute: null,
    requests_per_day: null,
    concurrent_requests: null,
  };
  const { data: keys } = (await call(server, 'GET', `${project}/api_keys`)).body;
  expect((keys as Json[]).map(({ limits }) => limits)).toEqual((keys as Json[]).map(() => none));
  const { id, value } = await createKey(server, projectId, { name: 'limited after the upgrade' });
  const limits = { requests_per_minute: 1 };
  expect((await call(server, 'POST', `${project}/api_keys/${id}`, { body: { limits } })).status).toBe(200);
  expect(await use(server, value)).toBe('200');
  expect(await use(server, value)).toMatch(/^429 /);
  const path = `${project}/rate_limits/rl-*`;
  const own = { max_requests_per_1_minute: Number(before[0]) - 1 };
  expect((await call(server, 'POST', path, { body: own })).body).toMatchObject(own);
  expect((await requests())[0]).toBe(own.max_requests_per_1_minute);
  expect((await call(server, 'POST', path, { body: { max_requests_per_1_minute: null } })).status).toBe(200);
  expect(await requests()).toEqual(before);
};

describe.skipIf(isRemote).each(fixtureVersions())('data of %s', (version) => {
  const fixture = readFixture(version);

  test('opens, replays and serves, and goes on', async () => {
    const dataDir = laidOut(fixture);
    const server = await startServer({ dataDir, env });
    expect(server.log().filter(({ level }) => level >= 50)).toEqual([]);
    expect((await call(server, 'GET', '/v1/ready')).status).toBe(200);
    // It has never recorded totals, so all accounts are there.
    expect(server.log().filter(({ msg }) => msg === 'usage.totals_built')).toEqual([]);
    await expectAllThere(server, fixture);
    const { id, secret } = fixture.oauthClient;
    const token = await fetch(`${server.baseUrl}/v1/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    expect(token.status).toBe(200);
    const made = await createKey(server, fixture.projectId, { name: 'made after the upgrade' });
    expect(await use(server, made.value)).toBe('200');
    const [key = ''] = fixture.liveKeys;
    // What the older version did not know is as if it had never been set.
    const permissions = `/v1/organization/projects/${fixture.projectId}/model_permissions`;
    const all = { object: 'project.model_permissions', mode: 'deny_list', model_ids: [] };
    expect((await call(server, 'GET', permissions)).body).toEqual(all);
    const denied = { ...all, model_ids: ['weir-sim-thinking-1'] };
    const given = { mode: 'deny_list', model_ids: denied.model_ids };
    expect((await call(server, 'POST', permissions, { body: given })).body).toEqual(denied);
    const spendLimit = `/v1/organization/projects/${fixture.projectId}/spend_limit`;
    expect((await call(server, 'GET', spendLimit)).status).toBe(404);
    const monthly = { currency: 'USD', interval: 'month', threshold_amount: 100_000 };
    expect((await call(server, 'POST', spendLimit, { body: monthly })).body).toMatchObject({
      ...monthly,
      enforcement: { status: 'inactive' },
    });
    // Spend of the older version counts: what its keys have used.
    const ofKey = (await call(server, 'GET', '/v1/key', { key })).body.data as Record<string, unknown>;
    expect(ofKey).toMatchObject({ limit: null, limit_remaining: null });
    const spent = (await call(server, 'GET', spendLimit.replace('spend_limit', 'spend'))).body;
    expect(spent.usage).toBeGreaterThanOrEqual(ofKey.usage as number);
    const project = (await call(server, 'GET', `/v1/organization/projects/${fixture.projectId}`)).body;
    expect(spent).toMatchObject({ limit: 1_000, limit_reset: 'monthly', usage_since: project.created_at });
    await expectOwnLimits(server, fixture);
    const model_aliases = { 'house/*': 'weir-sim-1' };
    await call(server, 'POST', `/v1/organization/projects/${fixture.projectId}`, { body: { model_aliases } });
    const body = { model: 'house/sim', max_tokens: 20, messages: [{ role: 'user', content: 'Until nightfall' }] };
    const judged = await call(server, 'POST', '/v1/messages', { key, body });
    expect(`${judged.status} ${judged.text}`).toMatch(/^403 .*policy/);
    await server.stop();
    // Every event of before and after, folded anew.
    const { code, stderr } = await weirHere(['audit', 'verify'], { DATA_DIR: dataDir });
    expect(stderr).toMatch(/^Nothing is wrong /);
    // Of this store alone: no checkpoint from outside is there to hold it against.
    expect(code).toBe(2);
  });

  test('has sums of keys and projects, built from their accounts', async () => {
    const dataDir = laidOut(fixture);
    const keys = fixture.shown[`/v1/organization/projects/${fixture.projectId}/api_keys?limit=100`] as Json;
    const { id: key_id } = (keys.data as Json[]).find(({ name }) => name === 'live, renamed')!;
    const of = { organization_id: fixture.organizationId, project_id: fixture.projectId, key_id: String(key_id) };
    const log = await anyEventLog(readConfig({ DATA_DIR: dataDir }));
    const now = Date.now();
    const spent = (request: string, micro_dollars: number, settled_at: number) =>
      settlement(request, { ...of, micro_dollars, settled_at });
    const settled = [spent('today', 1_000_000, now), spent('before', 2_000_000, now - 100 * 86_400_000)];
    const data = { ...usageSettled(settled) };
    await log.store.append(usageStream(now), [{ ...event(0), type: 'usage.settled', data }], 'no_stream');
    // As the older version did once a day.
    const totals = { ...usageTotalled([{ id: fixture.organizationId, sum: noUse }]) };
    await log.store.append(totalStream, [{ ...event(1), type: 'usage.totalled', data: totals }], 'no_stream');
    await log.close();
    const server = await startServer({ dataDir, env });
    const [built] = server.log().filter(({ msg }) => msg === 'usage.totals_built');
    const days = (Date.now() - Date.parse(String(built?.since))) / 86_400_000;
    expect([days > 399.9, days < 400.1]).toEqual([true, true]);
    const ofKey = (await call(server, 'GET', '/v1/key', { key: fixture.liveKeys[0]! })).body;
    expect(ofKey.data).toMatchObject({ usage: 3, usage_daily: 1 });
    const path = `/v1/organization/projects/${fixture.projectId}/spend`;
    expect((await call(server, 'GET', path)).body).toMatchObject({ usage: 3, usage_daily: 1 });
    await server.stop();
  });

  test('is all there after kills in the middle of the upgrade', async () => {
    const dataDir = laidOut(fixture);
    for (const afterMs of [150, 300, 500, 700]) {
      const started = spawnWeir(['serve'], { PORT: '0', DATA_DIR: dataDir });
      setTimeout(() => started.child.kill('SIGKILL'), afterMs);
      await exitOf(started);
    }
    const server = await startServer({ dataDir, env });
    await expectAllThere(server, fixture);
    await server.stop();
  });

  test('is refused in one sentence once a later release has written it', async () => {
    const dataDir = laidOut(fixture);
    const log = await anyEventLog(readConfig({ DATA_DIR: dataDir }));
    await signLog(log.store, systemClock, '97.3.1');
    await log.close();
    for (const args of [['serve'], ['org', 'list'], ['usage', fixture.organizationId]]) {
      const { code, stderr } = await weirHere(args, { DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'silent' });
      expect(stderr).toMatch(
        /^This data was written by Weir 97\.3\.1, and this is Weir \d+\.\d+\.\d+, [^\n]+: start 97\.3\.1 or a later one, or restore a backup of before the upgrade\.\n$/,
      );
      expect(code).toBe(1);
    }
    // Nothing in it is damaged.
    const { code, stderr } = await weirHere(['audit', 'verify'], { DATA_DIR: dataDir });
    expect(stderr).toMatch(/^The log cannot be verified\. This data was written by Weir 97\.3\.1, [^\n]+ upgrade\.\n$/);
    expect(code).toBe(3);
  });
});
