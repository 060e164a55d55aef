// Lane: rest: a torture of the gateway as a process
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { dayKeys } from '../../src/secrets/day-keys.ts';
import { seed } from '../support/seed.ts';
import { seeded } from '../torture/random.ts';
import { call, errorOf, paths } from './calls.ts';
import { idempotencyUnderKills } from './idempotency-kills.ts';
import { startServer } from './server.ts';

/** A few requests in the ordinary tests, 10,000 and more where IDEMPOTENCY_REQUESTS says so. */
const requests = Number(process.env.IDEMPOTENCY_REQUESTS ?? 300);
const isThorough = requests >= 10_000;
vi.setConfig({ testTimeout: 180_000 + requests * 200 });

const filesIn = (dir: string): { name: string; bytes: Buffer }[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((name) => ({ name, bytes: readFileSync(name) }));

test('one key for each credential and Idempotency-Key, however often the server dies; and no secret on the disk', async () => {
  const kills = Math.max(2, Math.floor(requests / 250));
  const run = await idempotencyUnderKills({ requests, kills, isThorough, random: seeded(seed).next });
  const { server, scopes } = run;
  process.stdout.write(
    `${run.requests} creations, ${run.repeats} of them repeats, ${run.kills} kills, ${scopes.length} keys, seed ${seed}\n`,
  );
  expect(run.faults, `seed ${seed}`).toEqual([]);
  const answered = scopes.flatMap((scope) => [...scope.texts].map((text) => ({ ...scope, text })));
  expect(answered.length).toBeGreaterThan(requests / 3);
  const [known] = answered;
  const again = (at: typeof server) => {
    const headers = { 'idempotency-key': known!.idempotencyKey };
    const sent = { key: known!.credential, headers, body: { name: known!.name } };
    return call(at, 'POST', paths.projectKeys(known!.project), sent);
  };
  expect((await again(server)).text).toBe(known!.text);
  await server.kill();

  // Neither a key's value nor an Idempotency-Key is in anything that outlives the process.
  const { dataDir } = server;
  const secretsDir = `${dataDir}.secrets`;
  const values = new Set(answered.map(({ text }) => String((JSON.parse(text) as { value: string }).value)));
  const kept = [
    ...filesIn(dataDir),
    ...filesIn(secretsDir),
    { name: 'log', bytes: Buffer.from(server.spawned.stderr()) },
  ];
  const holding = (file: { bytes: Buffer }): boolean => {
    const text = file.bytes.toString('latin1');
    const found = text.match(/gw[a-z]_[0-9A-Za-z]{49}/g) ?? [];
    return found.some((token) => values.has(token)) || text.includes('a-key-that-nobody-may-find');
  };
  expect(kept.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeGreaterThan(500_000);
  expect(kept.filter(holding).map(({ name }) => name)).toEqual([]);
  expect(holding({ bytes: Buffer.from(`x${[...values][0]}x`) })).toBe(true);

  // The day's key is destroyed after 48 hours; what it sealed can be read by nobody then, this server included.
  const folder = join(secretsDir, 'day-keys');
  const days = filesIn(folder);
  expect(days.length).toBeGreaterThan(0);
  dayKeys(folder).destroyOld(Date.now() + 49 * 3_600_000);
  expect(readdirSync(folder)).toEqual([]);
  const left = [...filesIn(dataDir), ...filesIn(secretsDir)];
  for (const { bytes } of days) {
    expect(bytes).toHaveLength(32);
    const forms = [
      bytes,
      ...(['hex', 'base64', 'base64url'] as const).map((form) => Buffer.from(bytes.toString(form))),
    ];
    for (const form of forms)
      expect(left.filter((file) => file.bytes.includes(form)).map(({ name }) => name)).toEqual([]);
  }
  const later = await startServer({ dataDir });
  const refused = await again(later);
  expect(`${refused.status} ${errorOf(refused.body).code}`).toBe('409 idempotency_result_unavailable');
  await later.stop();
});
