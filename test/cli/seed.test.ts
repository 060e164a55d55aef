import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projections } from '../../projections/all.ts';
import { organizationRows } from '../../projections/organizations.ts';
import { projectKeyRows } from '../../projections/project-keys.ts';
import { projectRows } from '../../projections/projects.ts';
import { directory } from '../../src/access/directory.ts';
import { seed as makeSeed, mostKeys, type SeededKey, spread } from '../../src/cli/seed.ts';
import { systemClock } from '../../src/clock.ts';
import { startEmbedded } from '../../src/embedded/index.ts';
import type { Archive } from '../../src/eventstoredb/archive.ts';
import { connect } from '../../src/eventstoredb/connect.ts';
import { digest, tokenKind } from '../../src/ids.ts';
import { genesis, record } from '../../src/kernel/aggregate.ts';
import { openReadModels, type ReadModels } from '../../src/kernel/projection.ts';
import type { EventStore, Recorded } from '../../src/kernel/store.ts';
import { loadSecrets } from '../../src/secrets/master-secrets.ts';
import { aggregates } from '../support/all-aggregates.ts';
import { collect } from '../support/events.ts';
import { workbench } from './run.ts';

const bench = workbench();
const { weir, json, dir } = bench;
let embedded: Awaited<ReturnType<typeof startEmbedded>>;
let store: EventStore;

beforeAll(async () => {
  embedded = await startEmbedded({ dir: join(bench.env.DATA_DIR, 'eventstore'), inThread: true });
  store = connect({ endpoint: embedded.endpoint });
});
afterAll(async () => {
  await store.close();
  await embedded.close();
  bench.clean();
});

const linesOf = (file: string): { id: string; project_id: string; value: string }[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
const seed = (file: string, ...more: string[]) => ['org', 'seed', '--out', join(dir, file), ...more];
const everything = (): Promise<Recorded[]> =>
  collect(store.readAll({ from: 'start', direction: 'forwards', limit: 1_000_000 }));

describe('an organization for a load test', () => {
  let made: Record<string, unknown>;
  let models: ReadModels;
  let events: Recorded[];
  const file = join(dir, 'keys.ndjson');
  beforeAll(async () => {
    [made = {}] = await json(...seed('keys.ndjson', '--projects', '3', '--keys', '1100', '--tier', '2'));
    events = await everything();
    models = await openReadModels({ ours: (batch) => batch, dir: join(dir, 'models'), store, logId: 'x', projections });
  });
  afterAll(() => models.close());

  test('has its projects, its keys and its tier, and an Admin key that is shown once', () => {
    const organizationId = String(made.organization_id);
    expect(made).toMatchObject({ keys: 1100, keys_per_second: expect.any(Number) });
    expect(tokenKind(String(made.admin_api_key))).toBe('a');
    expect(models.get(organizationRows, organizationId)).toMatchObject({
      tier: 2,
      status: 'active',
      name: 'Load test',
    });
    const projects = models.range(projectRows, { prefix: `${organizationId}:`, limit: 10 });
    const sizes = projects.map(({ row }) => models.range(projectKeyRows, { prefix: `${row.id}:`, limit: 2000 }).length);
    expect(sizes).toEqual([367, 367, 366]);
  });

  test('has every key in the file, which only its maker can read, and each of them works', () => {
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const lines = linesOf(file);
    expect(new Set(lines.map(({ id }) => id)).size).toBe(1100);
    const { pepper } = loadSecrets(`${bench.env.DATA_DIR}.secrets`);
    const known = directory(() => models);
    for (const { id, project_id, value } of lines) {
      expect(tokenKind(value)).toBe('p');
      expect(known.find(digest(pepper, value))).toMatchObject({
        kind: 'project_key',
        id,
        projectId: project_id,
        tier: 2,
      });
    }
    expect(known.find(digest(pepper, String(made.admin_api_key)))).toMatchObject({ kind: 'admin_key' });
  });

  test('is on streams that the law admits, event by event, and says whose doing it was', () => {
    const byStream = grouped(events);
    expect(byStream.get('log-secrets')?.map(({ type }) => type)).toEqual(['log.secrets_known']);
    byStream.delete('log-secrets');
    expect(byStream.size).toBe(1 + 1 + 3 + 1100);
    for (const [stream, its] of byStream) {
      const { machine, version } = aggregates.find(({ category }) => stream.startsWith(`${category}-`))!;
      its.reduce((at, { type, data }) => record(machine, at, { ...data, type }), genesis(machine));
      for (const { metadata } of its)
        expect(metadata).toMatchObject({ actor: { type: 'operator', id: 'jo' }, v: version });
    }
    // A key is admitted by its project before its own stream begins (architecture 4).
    const admitted = new Map(
      events.flatMap(({ type, data, position }) =>
        type === 'project.key_issued' ? [[String(data.key_id), position]] : [],
      ),
    );
    for (const { type, stream, position } of events) {
      if (type === 'project_key.created')
        expect(position > (admitted.get(stream.slice('projectKey-'.length)) ?? position)).toBe(true);
    }
    expect(admitted.size).toBe(1100);
  });

  test('holds no secret in the store', () => {
    const text = JSON.stringify(events.map(({ data, metadata }) => [data, metadata]));
    for (const { value } of linesOf(file)) expect(text).not.toContain(value);
    expect(text).not.toContain(String(made.admin_api_key));
  });
});

const grouped = (events: readonly Recorded[]): Map<string, Recorded[]> => {
  const groups = new Map<string, Recorded[]>();
  for (const event of events) {
    const group = groups.get(event.stream);
    if (group) group.push(event);
    else groups.set(event.stream, [event]);
  }
  return groups;
};

describe('what cannot be done is told before anything is made', () => {
  test.each([
    [['--projects', '2', '--keys', '2001'], '2 projects hold 2000 keys at most: a project has 1,000.\n'],
    [
      ['--projects', '0', '--keys', '1'],
      "error: option '--projects <count>' argument '0' is invalid. Give a whole number from 1 to 100000.\n",
    ],
    [
      ['--projects', '1', '--keys', '0'],
      "error: option '--keys <count>' argument '0' is invalid. Give a whole number from 1 to 100000000.\n",
    ],
    [
      ['--projects', '1', '--keys', '1', '--tier', '6'],
      "error: option '--tier <tier>' argument '6' is invalid. Give a whole number from 0 to 5.\n",
    ],
  ])('%j', async (argv, sentence) => {
    const before = (await everything()).length;
    expect(await weir(seed('never.ndjson', ...argv))).toEqual({ code: 2, out: '', err: sentence });
    expect(existsSync(join(dir, 'never.ndjson'))).toBe(false);
    expect(await everything()).toHaveLength(before);
  });

  test('a file that is there stays as it is', async () => {
    const file = join(dir, 'mine.txt');
    writeFileSync(file, 'mine');
    chmodSync(file, 0o644);
    const before = (await everything()).length;
    const { code, err } = await weir(seed('mine.txt', '--projects', '1', '--keys', '1'));
    expect([code, err]).toEqual([
      1,
      `${file} is there already. Keys that were made once are not made again: name another file.\n`,
    ]);
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect(await everything()).toHaveLength(before);
    const nowhere = await weir(seed('no/such/folder', '--projects', '1', '--keys', '1'));
    expect(nowhere).toEqual({
      code: 1,
      out: '',
      err: `${join(dir, 'no/such/folder')} cannot be written: its folder is not there.\n`,
    });
  });
});

test('full projects are made to the last key', async () => {
  const [made] = await json(...seed('full.ndjson', '--projects', '1', '--keys', '1000', '--name', 'Full'));
  expect(made).toMatchObject({ keys: 1000 });
  expect(linesOf(join(dir, 'full.ndjson'))).toHaveLength(1000);
});

test('interrupted it keeps what it has made, in whole lines, and says how much that is', async () => {
  const file = join(dir, 'cut.ndjson');
  let interrupt = (): void => {};
  const interrupted = new Promise<void>((resolve) => {
    interrupt = resolve;
  });
  const running = bench.weir(
    seed('cut.ndjson', '--projects', '30', '--keys', '30000', '--json'),
    undefined,
    interrupted,
  );
  await expect.poll(() => existsSync(file) && statSync(file).size > 0, { timeout: 20_000 }).toBe(true);
  interrupt();
  const { code, out, err } = await running;
  const lines = linesOf(file);
  expect(code).toBe(130);
  expect(lines.length).toBeLessThan(30_000);
  expect(JSON.parse(out)).toMatchObject({ keys: lines.length });
  expect(err).toBe(`Stopped at ${lines.length} of 30000 keys. They work, and are in ${file}.\n`);
  const made = new Set(
    (await everything()).filter(({ type }) => type === 'project_key.created').map(({ stream }) => stream),
  );
  for (const { id } of lines) expect(made.has(`projectKey-${id}`)).toBe(true);
});

test('a store that fails ends it at once, with the reason and what was made until then', async () => {
  const secrets = loadSecrets(`${bench.env.DATA_DIR}.secrets`);
  let appends = 0;
  let underWay = 0;
  const archive = {
    async append() {
      appends += 1;
      underWay += 1;
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
      if (appends > 500) throw new Error('the store is gone');
      return { is: 'written', position: 1n };
    },
  } as unknown as Archive;
  const made: SeededKey[] = [];
  const tools = {
    archive,
    secrets,
    clock: systemClock,
    actor: { type: 'operator', id: 'jo' },
    stop: new AbortController().signal,
  } as const;
  const plan = { name: 'x', projects: 2, keys: 2000, tier: 0 } as const;
  const seeding = makeSeed(plan, { ...tools, made: (key) => void made.push(key) });
  await expect(seeding).rejects.toThrow('the store is gone');
  expect(underWay).toBe(0);
  expect(appends).toBeLessThan(500 + 2 * 256);
  expect(made.length).toBeGreaterThan(200);
});

test('keys are spread evenly, and none is lost', () => {
  expect(spread(10, 3)).toEqual([4, 3, 3]);
  expect(spread(2, 4)).toEqual([1, 1, 0, 0]);
  expect(spread(3000, 3)).toEqual([1000, 1000, 1000]);
  expect(mostKeys(3)).toBe(3000);
});

test('several organizations go into one file, each with its projects and keys and an Admin key of its own', async () => {
  const rows = await json(...seed('several.ndjson', '--organizations', '3', '--projects', '2', '--keys', '5'));
  expect(rows.map(({ keys }) => keys)).toEqual([5, 5, 5]);
  expect(new Set(rows.map(({ organization_id }) => organization_id)).size).toBe(3);
  const lines = linesOf(join(dir, 'several.ndjson'));
  expect(lines).toHaveLength(15);
  expect(new Set(lines.map(({ project_id }) => project_id)).size).toBe(6);
  const names = (await everything()).flatMap(({ type, data }) => (type === 'organization.created' ? [data.name] : []));
  expect(names).toEqual(expect.arrayContaining(['Load test 1', 'Load test 2', 'Load test 3']));
});
