import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { program } from '../../bench/program.ts';
import { type Seeded, seedBeside } from '../../bench/seed/beside.ts';
import { seed as makeSeed, mostKeys, type SeededKey, spread } from '../../bench/seed/organization.ts';
import { projections } from '../../projections/all.ts';
import { organizationRows } from '../../projections/organizations.ts';
import { projectKeyRows } from '../../projections/project-keys.ts';
import { projectRows } from '../../projections/projects.ts';
import { systemClock } from '../../src/clock.ts';
import { directory } from '../../src/data/access/directory.ts';
import { startEmbedded } from '../../src/embedded/index.ts';
import type { Archive } from '../../src/eventstoredb/archive.ts';
import { connect } from '../../src/eventstoredb/connect.ts';
import { digest, tokenKind } from '../../src/ids.ts';
import { genesis, record } from '../../src/kernel/aggregate/aggregate.ts';
import { openReadModels, type ReadModels } from '../../src/kernel/projections/projection.ts';
import type { EventStore, Recorded } from '../../src/kernel/store/store.ts';
import { loadSecrets } from '../../src/secrets/master-secrets.ts';
import { aggregates } from '../support/all-aggregates.ts';
import { collect } from '../support/events.ts';

const dir = mkdtempSync(join(tmpdir(), 'weir-seed-'));
const dataDir = join(dir, 'data');
const masked = process.umask();
let embedded: Awaited<ReturnType<typeof startEmbedded>>;
let store: EventStore;

beforeAll(async () => {
  embedded = await startEmbedded({ dir: join(dataDir, 'eventstore'), inThread: true });
  store = connect({ endpoint: embedded.endpoint });
});
afterAll(async () => {
  await store.close();
  await embedded.close();
  process.umask(masked);
  rmSync(dir, { recursive: true, force: true });
});

const linesOf = (file: string): { id: string; project_id: string; value: string }[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

/** `npm run bench -- seed` within this process. */
const bench = async (file: string, argv: readonly string[], interrupted = new AbortController().signal) => {
  vi.stubEnv('DATA_DIR', dataDir);
  let out = '';
  let err = '';
  let code = 0;
  const say = (text: string) => {
    err += `${text}\n`;
  };
  const terminal = {
    out: (text: string) => {
      out += text;
    },
    say,
    exit: (status: number) => {
      code = status;
    },
    session: { interrupted, undo: [], say, tell: () => {}, command: 'seed' },
    measure: () => Promise.reject(new Error('nothing is measured')),
  };
  const all = program(terminal);
  for (const command of all.commands) command.exitOverride().configureOutput({ writeErr: say, outputError: say });
  try {
    await all.parseAsync(['seed', '--out', join(dir, file), ...argv], { from: 'user' });
  } catch (error) {
    code = error instanceof CommanderError ? 2 : 1;
    if (!(error instanceof CommanderError)) say((error as Error).message);
  }
  return { code, out, err };
};

/** What it says of each organization; it must succeed. */
const seeded = async (file: string, ...argv: string[]): Promise<Seeded[]> => {
  const { code, out, err } = await bench(file, argv);
  expect([code, err]).toEqual([0, '']);
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Seeded);
};
afterEach(() => vi.unstubAllEnvs());

const everything = (): Promise<Recorded[]> =>
  collect(store.readAll({ from: 'start', direction: 'forwards', limit: 1_000_000 }));

describe('an organization for a load test', () => {
  let made: Seeded;
  let models: ReadModels;
  let events: Recorded[];
  const file = join(dir, 'keys.ndjson');
  beforeAll(async () => {
    made = (await seeded('keys.ndjson', '--projects', '3', '--keys', '1100', '--tier', '2'))[0]!;
    events = await everything();
    models = await openReadModels({ ours: (batch) => batch, dir: join(dir, 'models'), store, logId: 'x', projections });
  });
  afterAll(() => models.close());

  test('has its projects, its keys and its tier, and an Admin key that is shown once', () => {
    const organizationId = made.organization_id;
    expect(made).toMatchObject({ keys: 1100, keys_per_second: expect.any(Number) });
    expect(tokenKind(made.admin_api_key)).toBe('a');
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
    const { pepper } = loadSecrets(`${dataDir}.secrets`);
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
    expect(known.find(digest(pepper, made.admin_api_key))).toMatchObject({ kind: 'admin_key' });
  });

  test('is on streams that the law admits, event by event, and says whose doing it was', () => {
    const byStream = grouped(events);
    expect(byStream.get('log-secrets')?.map(({ type }) => type)).toEqual(['log.secrets_known']);
    byStream.delete('log-secrets');
    expect(byStream.get('log-first_run')?.map(({ data }) => data.organization_id)).toEqual([made.organization_id]);
    byStream.delete('log-first_run');
    expect(byStream.size).toBe(1 + 1 + 3 + 1100);
    for (const [stream, its] of byStream) {
      const { machine, version } = aggregates.find(({ category }) => stream.startsWith(`${category}-`))!;
      its.reduce((at, { type, data }) => record(machine, at, { ...data, type }), genesis(machine));
      for (const { metadata } of its)
        expect(metadata).toMatchObject({ actor: { type: 'operator', id: 'bench' }, v: version });
    }
    // A key is admitted by its project before its own stream begins.
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
    expect(text).not.toContain(made.admin_api_key);
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
    [['--projects', '2', '--keys', '2001'], 'With --projects 2 there are at most 2000 keys: a project has 1,000.'],
    [['--projects', '0', '--keys', '1'], "error: option '--projects <count>' argument '0' is invalid."],
    [['--projects', '1', '--keys', '0'], "error: option '--keys <count>' argument '0' is invalid."],
    [['--projects', '1', '--keys', '1', '--tier', '6'], "error: option '--tier <tier>' argument '6' is invalid."],
  ])('%j', async (argv, sentence) => {
    const before = (await everything()).length;
    const { code, out, err } = await bench('never.ndjson', argv);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(sentence);
    expect(existsSync(join(dir, 'never.ndjson'))).toBe(false);
    expect(await everything()).toHaveLength(before);
  });

  test('a file that is there stays as it is', async () => {
    const file = join(dir, 'mine.txt');
    writeFileSync(file, 'mine');
    chmodSync(file, 0o644);
    const before = (await everything()).length;
    const { code, err } = await bench('mine.txt', ['--projects', '1', '--keys', '1']);
    expect([code, err]).toEqual([
      1,
      `${file} is there already. Keys that were made once are not made again: name another file.\n`,
    ]);
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect(await everything()).toHaveLength(before);
    const nowhere = await bench('no/such/folder', ['--projects', '1', '--keys', '1']);
    expect(nowhere).toEqual({
      code: 1,
      out: '',
      err: `${join(dir, 'no/such/folder')} cannot be written: its folder is not there.\n`,
    });
  });
});

test('full projects are made to the last key', async () => {
  const [made] = await seeded('full.ndjson', '--projects', '1', '--keys', '1000', '--name', 'Full');
  expect(made).toMatchObject({ keys: 1000 });
  expect(linesOf(join(dir, 'full.ndjson'))).toHaveLength(1000);
});

test('interrupted it keeps what it has made, in whole lines, and says how much that is', async () => {
  const file = join(dir, 'cut.ndjson');
  const interruption = new AbortController();
  const running = bench('cut.ndjson', ['--projects', '30', '--keys', '30000'], interruption.signal);
  await expect.poll(() => existsSync(file) && statSync(file).size > 0, { timeout: 20_000 }).toBe(true);
  interruption.abort();
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
  const secrets = loadSecrets(`${dataDir}.secrets`);
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
    begins: async () => {},
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
  const rows = await seeded('several.ndjson', '--organizations', '3', '--projects', '2', '--keys', '5');
  expect(rows.map(({ keys }) => keys)).toEqual([5, 5, 5]);
  expect(new Set(rows.map(({ organization_id }) => organization_id)).size).toBe(3);
  const lines = linesOf(join(dir, 'several.ndjson'));
  expect(lines).toHaveLength(15);
  expect(new Set(lines.map(({ project_id }) => project_id)).size).toBe(6);
  const names = (await everything()).flatMap(({ type, data }) => (type === 'organization.created' ? [data.name] : []));
  expect(names).toEqual(expect.arrayContaining(['Load test 1', 'Load test 2', 'Load test 3']));
});

test('secrets that are not those of the log make nothing', async () => {
  const before = await everything();
  for (const name of ['PEPPER', 'MASTER_KEY']) vi.stubEnv(name, randomBytes(32).toString('base64'));
  const { code, out, err } = await bench('foreign.ndjson', ['--projects', '1', '--keys', '1']);
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain('PEPPER: ');
  expect(existsSync(join(dir, 'foreign.ndjson'))).toBe(false);
  expect(await everything()).toEqual(before);
});

test('as a process of its own it says the same', async () => {
  const out = join(dir, 'beside.ndjson');
  const crowd = { organizations: 2, projects: 1, keys: 3, tier: 1 };
  const made = await seedBeside({ DATA_DIR: dataDir }, crowd, out);
  expect(made.map(({ keys }) => keys)).toEqual([3, 3]);
  expect(made.map(({ admin_api_key }) => tokenKind(admin_api_key))).toEqual(['a', 'a']);
  expect(linesOf(out)).toHaveLength(6);
  expect(statSync(out).mode & 0o777).toBe(0o600);
});
