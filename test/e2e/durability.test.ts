// Lane: rest: a torture of the gateway as a process
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { seed } from '../support/seed.ts';
import { seeded } from '../torture/random.ts';
import { allLists, archive, createAdminKey, createKey, createProject, use } from './calls.ts';
import { Ledger } from './ledger.ts';
import { atRest, isShared, notOurs } from './remote-store.ts';
import { freshDir, type LogLine, type Server, startServer } from './server.ts';

// Several starts each, on a machine that may be busy with other things.
vi.setConfig({ testTimeout: 180_000 });

/** Some of everything that the administration can make. Returns a key that works and one that does not any more. */
const furnish = async (server: Server): Promise<{ good: string; revoked: string }> => {
  const kept = await createProject(server, 'kept');
  const gone = await createProject(server, 'gone \u{1f30a}');
  const good = await createKey(server, kept, {
    name: 'good',
    permissions: ['models:read'],
    expires_in_seconds: 86_400,
  });
  const revoked = await createKey(server, gone);
  await createAdminKey(server, { name: 'another', permissions: ['projects:read'] });
  for (let i = 0; i < 3; i++) await createKey(server, server.first.project_id, { name: `key ${i}` });
  await archive(server, gone);
  return { good: good.value, revoked: revoked.value };
};

const rebuilds = (server: Server): LogLine[] => server.log().filter(({ msg }) => msg === 'projection.rebuilt');

/** A socket is nothing to copy. */
const copyFiles = (from: string, to: string): void =>
  cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith('.sock') });

const replaceDir = (to: string, from: string): void => {
  rmSync(to, { recursive: true, force: true });
  copyFiles(from, to);
};

test('kill -9 and the loss of the read models change no list and no key', async () => {
  const server = await startServer();
  const { good, revoked } = await furnish(server);
  const before = await allLists(server);
  expect(before).toContain('"status":"archived"');
  await server.kill();

  const again = await startServer({ dataDir: server.dataDir });
  expect(await allLists(again)).toBe(before);
  expect(await use(again, good)).toBe('200');
  expect(await use(again, server.first.project_api_key)).toBe('200');
  expect(await use(again, revoked)).toBe('401 api_key_revoked');
  // The keys of the first run are told once, and stay what they were.
  expect(again.first).toEqual({ ...server.first, base_url: again.baseUrl });
  expect(again.spawned.stdout()).toBe('');
  expect(rebuilds(again)).toEqual([]);
  await again.stop();

  const readModels = join(server.dataDir, 'read-models');
  expect(existsSync(readModels)).toBe(true);
  rmSync(readModels, { recursive: true });
  const rebuilt = await startServer({ dataDir: server.dataDir });
  expect(await allLists(rebuilt)).toBe(before);
  expect(await use(rebuilt, good)).toBe('200');
  expect(await use(rebuilt, revoked)).toBe('401 api_key_revoked');
  await rebuilt.stop();
});

test('kill -9 during a stream of creations loses nothing acknowledged and makes nothing twice', async () => {
  let server = await startServer();
  for (let i = 0; i < 25; i++) {
    const { value } = await createKey(server, server.first.project_id);
    expect(await use(server, value), 'a key works on the request right after its creation').toBe('200');
  }
  const random = seeded(seed);
  const ledgers: Ledger[] = [];
  for (let cycle = 0; cycle < 2; cycle++) {
    const projects = [server.first.project_id, await createProject(server, `cycle ${cycle}`)];
    const ledger = new Ledger(String(cycle));
    ledgers.push(ledger);
    const writing = ledger.write(server, projects, 8);
    const acknowledged = 20 + Math.floor(random.next() * 80);
    await ledger.reached(acknowledged);
    await server.kill();
    await writing;
    server = await startServer({ dataDir: server.dataDir });
    expect(await ledger.faults(server), `killed after ${acknowledged} answers`).toEqual([]);
    // The key of what got no answer was never reserved, is reserved until the crash is 30 s old, or is used up.
    const possible = ['201', '409 idempotency_in_progress', '409 idempotency_result_unavailable'];
    for (const outcome of await ledger.repeatUnanswered(server)) expect(possible).toContain(outcome);
  }
  for (const ledger of ledgers) expect(await ledger.faults(server)).toEqual([]);
  await server.stop();
});

test('an older copy of the events under newer read models makes these start anew', async ({ skip }) => {
  skip(isShared, notOurs);
  const server = await startServer();
  const { dataDir } = server;
  const models = join(dataDir, 'read-models');
  const [olderEvents, newerModels] = [`${freshDir()}.events`, `${freshDir()}.models`];
  const { good } = await furnish(server);
  const older = await allLists(server);
  await server.stop();
  await atRest(dataDir, (events) => copyFiles(events, olderEvents));

  const newer = await startServer({ dataDir });
  expect(rebuilds(newer)).toEqual([]);
  const lost = new Ledger('lost');
  const writing = lost.write(newer, [newer.first.project_id], 2);
  await lost.reached(3);
  await newer.kill();
  await writing;
  copyFiles(models, newerModels);
  await atRest(dataDir, (events) => replaceDir(events, olderEvents));

  const restored = await startServer({ dataDir });
  expect(rebuilds(restored)).toEqual([
    expect.objectContaining({
      level: 40,
      reason: expect.stringMatching(/^the log (ends before|has no event at) its place$/),
    }),
  ]);
  expect(await allLists(restored)).toBe(older);
  expect(await use(restored, good)).toBe('200');
  // Proves the ledger of the tests with kill -9: it notices what was acknowledged and is gone.
  const faults = await lost.faults(restored);
  expect(lost.acknowledged.length).toBeGreaterThanOrEqual(3);
  for (const { name } of lost.acknowledged) {
    expect(faults).toContain(`${name} was acknowledged and is not there`);
    expect(faults).toContain(`the key of ${name} gets 401 invalid_api_key`);
  }

  // The restored log goes another way, past the place that the newer read models have seen.
  for (let i = 0; i < lost.operations.length + 1; i++) await createKey(restored, restored.first.project_id);
  const elsewhere = await allLists(restored);
  await restored.stop();
  replaceDir(models, newerModels);

  const diverged = await startServer({ dataDir });
  expect(rebuilds(diverged)).toEqual([
    expect.objectContaining({ reason: expect.stringMatching(/^the log has (another|no) event at its place$/) }),
  ]);
  expect(await allLists(diverged)).toBe(elsewhere);
  await diverged.stop();
});
