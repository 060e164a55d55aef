import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allLists, archive, createAdminKey, createKey, createProject, use } from './calls.ts';
import { Ledger } from './ledger.ts';
import { freshDir, type LogLine, type Server, startServer } from './server.ts';

/** Some of everything that the administration can make. Returns a key that works and one that does not any more. */
const furnish = async (server: Server): Promise<{ good: string; revoked: string }> => {
  const kept = await createProject(server, 'kept');
  const gone = await createProject(server, 'gone \u{1f30a}');
  const good = await createKey(server, kept, { name: 'good', permissions: ['models:read'], expires_in_seconds: 86_400 });
  const revoked = await createKey(server, gone);
  await createAdminKey(server, { name: 'another', permissions: ['projects:read'] });
  for (let i = 0; i < 3; i++) await createKey(server, server.first.project_id, { name: `key ${i}` });
  await archive(server, gone);
  return { good: good.value, revoked: revoked.value };
};

const rebuilds = (server: Server): LogLine[] => server.log().filter(({ msg }) => msg === 'projection.rebuilt');

test('a key works on the request right after the one that made it', async () => {
  const server = await startServer();
  for (let i = 0; i < 25; i++) {
    const { value } = await createKey(server, server.first.project_id);
    expect(await use(server, value)).toBe('200');
  }
  await server.stop();
});

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

describe('kill -9 during a stream of creations', () => {
  test('loses nothing acknowledged and makes nothing twice', async () => {
    let server = await startServer();
    const ledgers: Ledger[] = [];
    for (let cycle = 0; cycle < 3; cycle++) {
      const projects = [server.first.project_id, await createProject(server, `cycle ${cycle}`)];
      const ledger = new Ledger(String(cycle));
      ledgers.push(ledger);
      const writing = ledger.write(server, projects, 8);
      await ledger.reached(20 + Math.floor(Math.random() * 80));
      await server.kill();
      await writing;
      server = await startServer({ dataDir: server.dataDir });
      expect(await ledger.faults(server)).toEqual([]);
      // The key of what got no answer was never reserved, is reserved until the crash is 30 s old, or is used up.
      const possible = ['201', '409 idempotency_in_progress', '409 idempotency_result_unavailable'];
      for (const outcome of await ledger.repeatUnanswered(server)) expect(possible).toContain(outcome);
      expect(await ledger.faults(server)).toEqual([]);
    }
    for (const ledger of ledgers) expect(await ledger.faults(server)).toEqual([]);
    await server.stop();
  });

  test('would be noticed by the check above if it did lose something', async () => {
    const server = await startServer();
    await server.stop();
    const backup = `${freshDir()}.backup`;
    cpSync(join(server.dataDir, 'eventstore'), backup, { recursive: true });
    const again = await startServer({ dataDir: server.dataDir });
    const ledger = new Ledger('canary');
    const writing = ledger.write(again, [again.first.project_id], 2);
    await ledger.reached(5);
    await again.kill();
    await writing;
    rmSync(join(server.dataDir, 'eventstore'), { recursive: true });
    cpSync(backup, join(server.dataDir, 'eventstore'), { recursive: true });
    const robbed = await startServer({ dataDir: server.dataDir });
    const faults = await ledger.faults(robbed);
    for (const { name } of ledger.acknowledged) expect(faults).toContain(`${name} was acknowledged and is not there`);
    expect(faults.filter((fault) => fault.endsWith('401 invalid_api_key'))).toHaveLength(ledger.acknowledged.length);
    await robbed.stop();
  });
});

test('an older copy of the events under newer read models makes these start anew', async () => {
  const server = await startServer();
  const { dataDir } = server;
  const [events, models] = [join(dataDir, 'eventstore'), join(dataDir, 'read-models')];
  const [olderEvents, newerModels] = [`${freshDir()}.events`, `${freshDir()}.models`];
  const { good } = await furnish(server);
  const older = await allLists(server);
  await server.stop();
  cpSync(events, olderEvents, { recursive: true });

  const newer = await startServer({ dataDir });
  expect(rebuilds(newer)).toEqual([]);
  const later = await createKey(newer, newer.first.project_id, { name: 'later' });
  expect(await allLists(newer)).not.toBe(older);
  await newer.stop();
  cpSync(models, newerModels, { recursive: true });

  rmSync(events, { recursive: true });
  cpSync(olderEvents, events, { recursive: true });
  const restored = await startServer({ dataDir });
  expect(rebuilds(restored)).toEqual([
    expect.objectContaining({ level: 40, reason: expect.stringMatching(/^the log (ends before|has no event at) its place$/) }),
  ]);
  expect(await allLists(restored)).toBe(older);
  expect(await use(restored, good)).toBe('200');
  expect(await use(restored, later.value)).toBe('401 invalid_api_key');
  // The restored log goes another way, past the place that the newer read models have seen.
  for (let i = 0; i < 3; i++) await createProject(restored, 'elsewhere');
  const elsewhere = await allLists(restored);
  await restored.stop();

  rmSync(models, { recursive: true });
  cpSync(newerModels, models, { recursive: true });
  const diverged = await startServer({ dataDir });
  expect(rebuilds(diverged)).toEqual([
    expect.objectContaining({ reason: expect.stringMatching(/^the log has (another|no) event at its place$/) }),
  ]);
  expect(await allLists(diverged)).toBe(elsewhere);
  await diverged.stop();
});
