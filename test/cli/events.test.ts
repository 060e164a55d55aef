import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startEmbedded } from '../../src/embedded/index.ts';
import { workbench } from './run.ts';

vi.setConfig({ testTimeout: 60_000 });

const bench = workbench();
const { weir, json } = bench;
let store: Awaited<ReturnType<typeof startEmbedded>> | undefined;
let organization = '';

beforeAll(async () => {
  store = await startEmbedded({ dir: join(bench.env.DATA_DIR, 'eventstore'), inThread: true });
  organization = String((await json('org', 'create', '--name', 'Acme \u202e'))[0]?.organization_id);
  for (const name of ['one', 'two', 'three']) await json('project', 'create', '--name', name);
});
afterAll(async () => {
  await store?.close();
  bench.clean();
});

const tail = (...argv: string[]) => json('events', 'tail', ...argv);
const typesOf = (events: readonly Record<string, unknown>[]) => events.map(({ type }) => type);
const linesOf = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

describe('weir events tail', () => {
  test('shows the latest decisions, oldest first, and leaves out what Weir notes for itself', async () => {
    expect(typesOf(await tail())).toEqual([
      'organization.created',
      'organization.admin_key_issued',
      'admin_key.created',
      'project.created',
      'project.created',
      'project.created',
    ]);
    const [last] = (await tail('-n', '1')) as [{ data: { name: string }; stream: string; position: string }];
    expect(last).toMatchObject({ data: { name: 'three' }, metadata: { actor: { command: 'weir project create' } } });
    // Each event is as its history has it.
    expect(await json('audit', 'history', last.stream.slice('project-'.length))).toEqual([last]);
    expect(await tail('-n', '0')).toEqual([]);
  });
  test('of the types that are asked for, as many as are asked for', async () => {
    const found = await tail('--type', 'project.created', '--type', 'organization.created', '-n', '2');
    expect(typesOf(found)).toEqual(['project.created', 'project.created']);
    expect(typesOf(await tail('--type', 'organization.created'))).toEqual(['organization.created']);
    const refused = await weir(['events', 'tail', '--type', 'nonsense']);
    expect(refused).toMatchObject({ code: 64, err: expect.stringContaining('project_key.created') });
  });
  test('with --all what Weir notes too, but never sealed values', async () => {
    const all = await tail('--all', '-n', '1000');
    expect(all.length).toBeGreaterThan(6);
    for (const { stream } of all) expect(stream).not.toMatch(/^(replay-|\$)/);
  });
  test('the table fits and obeys no name', async () => {
    const { code, out } = await weir(['events', 'tail', '--wide']);
    expect(code).toBe(0);
    expect(out).toMatch(/^TYPE +ID +AT +BY +REVISION +POSITION\n/);
    expect(out).toContain(organization);
    const said = await weir(['org', 'suspend', organization, '--yes', '--actor', 'Mo \u001b[31m']);
    expect(said.code).toBe(0);
    await weir(['org', 'reactivate', organization]);
    const shown = (await weir(['events', 'tail'])).out;
    expect(shown).toContain('Mo \\u001b[31m');
    for (const line of shown.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
  });
  test('in 80 columns it tells what has changed, and of what, each event on one line with its whole type and id', async () => {
    const args = ['events', 'tail', '-n', '1000'];
    const all = await tail('-n', '1000');
    const { out, err } = await weir(args, undefined, undefined, 80);
    const [head, ...rows] = out.trimEnd().split('\n');
    expect(head).toMatch(/^TYPE +ID$/);
    expect(rows.map((row) => row.split(/ +/))).toEqual(
      all.map(({ type, stream }) => [type, String(stream).replace(/^\w+-/, '')]),
    );
    expect(err).toBe('No room for: at, by, revision, position. --wide shows all.\n');
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });
  test('in 80 columns shorter types leave room for the time', async () => {
    const { out } = await weir(['events', 'tail', '--type', 'project.created'], undefined, undefined, 80);
    expect(out).toMatch(/^TYPE +ID +AT\b/);
    expect(out).toMatch(/\nproject\.created +proj_[0-9a-z]{26} +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b/);
  });
  test('where not even type and id fit, events are records with both of them whole', async () => {
    const { out } = await weir(['events', 'tail', '--type', 'organization.admin_key_issued'], undefined, undefined, 50);
    expect(out).toMatch(/^TYPE +organization\.admin_key_issued\nID +org_[0-9a-z]{26}\nAT /);
  });
  test('followed it tells each as it comes, once, until it is interrupted', async () => {
    let stop = () => {};
    const interrupted = new Promise<void>((resolve) => {
      stop = resolve;
    });
    const following = weir(['events', 'tail', '-f', '-n', '1', '--jsonl'], undefined, interrupted);
    const made: unknown[] = [];
    for (const name of ['four', 'five', 'six']) made.push((await json('project', 'create', '--name', name))[0]?.id);
    await wait(500);
    stop();
    const { code, out } = await following;
    expect(code).toBe(0);
    const told = linesOf(out).map(({ stream }) => String(stream).slice('project-'.length));
    // It may have begun before or after the first of them; each comes once all the same.
    expect(told.filter((id) => made.includes(id))).toEqual(made.slice(-told.length));
    expect(told.length).toBeGreaterThanOrEqual(3);
    expect(new Set(told).size).toBe(told.length);
  });
  test.each([
    [['events', 'tail', '-n', 'many'], 64, /Give a number up to 999999/],
    [['events', 'tail', '--json', '--wide'], 64, /Give one of json, wide/],
  ])('%j ends with %i', async (argv, code, err) => {
    expect(await weir(argv)).toEqual({ code, out: '', err: expect.stringMatching(err) });
  });
  test('of a stopped store it shows what is there, and follows nothing', async () => {
    await store?.close();
    store = undefined;
    expect((await tail('-n', '1'))[0]).toMatchObject({ type: 'project.created' });
    expect(await weir(['events', 'tail', '--follow'])).toEqual({
      code: 1,
      out: '',
      err: 'No server runs on these files, so nothing can follow. weir serve starts one.\n',
    });
  });
});
