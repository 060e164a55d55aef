import { existsSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { whenIn } from '../../src/cli/audit-questions/words.ts';
import { type ProjectKey, projectKey } from '../../src/domain/key/project-key.ts';
import { type DomainEvent, genesis, record, stateOf } from '../../src/kernel/aggregate/aggregate.ts';
import { noOwnLimits } from '../support/no-own-limits.ts';
import { archive, call, createKey, createProject, type Json, paths } from './calls.ts';
import { weirHere } from './here.ts';
import { eventually, type Finished, freshDir, runWeir, type Server, startServer } from './server.ts';

// Each command is a process of its own, on a machine that may be busy with other things.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

interface Event extends Json {
  readonly revision: number;
  readonly type: string;
  readonly at: string;
  readonly data: Json;
  readonly metadata: { readonly at: number; readonly actor: { readonly type: string; readonly id: string } } & Json;
}

let server: Server;
let project: string;
/** A key with a history: created, suspended, reactivated, updated, revoked with its project. */
let key: string;
/** A key whose name a terminal must not obey. */
let hostile: string;
const hostileName = 'red \u202egnp.exe\u2066 and \u061c';
beforeAll(async () => {
  server = await startServer();
  project = await createProject(server, 'watched');
  key = (await createKey(server, project, { name: 'with a history', permissions: ['models:read'] })).id;
  hostile = (await createKey(server, server.first.project_id, { name: hostileName })).id;
  const path = `${paths.projectKeys(project)}/${key}`;
  for (const action of ['/suspend', '/reactivate'])
    expect((await call(server, 'POST', `${path}${action}`)).status).toBe(200);
  expect((await call(server, 'POST', path, { body: { name: 'renamed' } })).status).toBe(200);
  expect((await archive(server, project)).status).toBe(200);
});

/** The command as a process of its own. */
const weir = (...args: string[]): Promise<Finished> => runWeir(['audit', ...args], { DATA_DIR: server.dataDir });

/** The same command in this process. */
const here = (...args: string[]): Promise<Finished> => weirHere(['audit', ...args], { DATA_DIR: server.dataDir });

const succeeded = async (run: Promise<Finished>): Promise<string> => {
  const { code, signal, stdout, stderr } = await run;
  // What is ahead is no evidence, which is said.
  expect(`${code ?? signal} ${stderr.replace(/^2999-.* has not come yet: .*\n$/, '')}`).toBe('0 ');
  return stdout;
};

const historyOf = async (id: string, run = here): Promise<Event[]> => {
  const text = await succeeded(run('history', id, '--jsonl'));
  expect(text.endsWith('\n')).toBe(true);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
};

const stateOfKey = async (...args: string[]): Promise<Json> => {
  const told = JSON.parse(await succeeded(here('state', key, '--jsonl', ...args))) as Json;
  const { last_event, status, fields } = told;
  return { last_event, status, fields };
};

/** What the law makes of the first events of a history, in the names and units of the resource. */
const folded = (events: readonly Event[]): Json => {
  const { machine } = projectKey;
  const snapshot = events.reduce(
    (at, { type, data }) => record(machine, at, { ...data, type } as DomainEvent),
    genesis(machine),
  );
  const { status, data } = stateOf<ProjectKey>(snapshot);
  const fields = {
    organization_id: data.organizationId,
    project_id: data.projectId,
    name: data.name,
    permissions: data.permissions,
    created_at: Math.floor(data.createdAt / 1000),
    expires_at: null,
    redacted_value: data.redactedValue,
    rotated_from: null,
    rotated_to: null,
    windows_of: null,
    ...noOwnLimits,
  };
  return { last_event: `${key}@${events.at(-1)!.revision}`, status, fields };
};

const types = [
  'project_key.created',
  'project_key.suspended',
  'project_key.reactivated',
  'project_key.updated',
  'project_key.revoked',
];

let recorded: Event[];

describe('beside a running server', () => {
  test('the history of a key tells who did what, when and by which request', async () => {
    recorded = await eventually(
      async () => {
        const events = await historyOf(key);
        return events.length === types.length ? events : undefined;
      },
      () => 'the key has not been revoked with its project',
    );
    expect(recorded.map(({ type }) => type)).toEqual(types);
    expect(recorded.map(({ revision }) => revision)).toEqual([0, 1, 2, 3, 4]);
    for (const { at, metadata } of recorded) expect(Date.parse(at)).toBe(metadata.at);
    for (const event of recorded.slice(0, -1)) {
      expect(event.metadata.actor).toEqual({ type: 'api_key', id: server.first.admin_api_key_id });
      expect(event.metadata.request_id).toMatch(/^req_[0-9a-z]{26}$/);
      expect(event.metadata.ip).toBe('127.0.0.1');
    }
    expect(recorded.at(-1)?.metadata.actor.type).toBe('system');
    // What followed from the archive is found by the request that asked for it.
    const archival = (await historyOf(project)).find(({ type }) => type === 'project.archived');
    expect(recorded.at(-1)?.metadata.request_id).toBe(archival?.metadata.request_id);
    expect(recorded.at(-1)?.data).toEqual({ reason: 'project_archived' });
    expect(JSON.stringify(recorded)).not.toMatch(/gwp_[0-9A-Za-z]{49}/);
  });

  test('the state at each revision and at each moment is what the law makes of the events up to it', async () => {
    for (const { revision, at: moment } of recorded) {
      expect(await stateOfKey('--at', String(revision))).toEqual(folded(recorded.slice(0, revision + 1)));
      expect(await stateOfKey('--at', moment)).toEqual(folded(recorded.filter(({ at }) => at <= moment)));
    }
    for (const later of ['2999-12-30T00:00:00Z', '2999-12-30T23:59:59+02:00'])
      expect(await stateOfKey('--at', later)).toEqual(folded(recorded));
    expect(await stateOfKey()).toEqual(folded(recorded));
  });

  test('the state in JSON is the one that a history has over HTTP', async () => {
    const path = `${paths.projectKeys(project)}/${key}/history`;
    const { as_of: _, ...overHttp } = (await call(server, 'GET', path)).body.state as Json;
    const { as_of: at, ...told } = JSON.parse(await succeeded(here('state', key, '--jsonl'))) as Json;
    expect(told).toEqual(overHttp);
    expect(Math.abs(Number(at) - Date.now() / 1000)).toBeLessThan(3_600);
  });

  test('what went before and what never was are told apart in a sentence', async () => {
    const before = new Date(Date.parse(recorded[0]!.at) - 1).toISOString();
    const refusals: [string[], RegExp][] = [
      [['history', 'key_00000000000000000000000000'], /^There is no key_0+ in this store\.$/],
      [['history', 'proj_none'], /^There is no proj_none in this store\.$/],
      [['state', 'proj_none', '--jsonl'], /^There is no proj_none in this store\.$/],
      [['history', 'pancake'], /^pancake is not the id of an organization, project/],
      [['history', ''], /is not the id of an organization, project/],
      [['history', 'toString_x'], /is not the id of an organization, project/],
      [['state', key, '--at', before], new RegExp(`^${key} did not exist then\\.$`)],
      [
        ['state', key, '--at', 'yesterday'],
        /^error: option '--at <time\|revision>' argument 'yesterday' is invalid\. /,
      ],
      [['state', key, '--at', '2026-99-99'], /argument '2026-99-99' is invalid/],
      // Without a zone it would be a time of wherever the command runs.
      [['state', key, '--at', '2026-11-20 12:00'], /Give a time with its zone/],
      [['state', key, '--at', '2026-11-20T12:00:00'], /Give a time with its zone/],
      [['state', key, '--at', '2026-11-20'], new RegExp(`^${key} did not exist then\\.$`)],
      [['state', key, '--at', '-1'], /^error: /],
      [['state', key, '--at', '4000'], new RegExp(`^${key} has no revision 4000: its last is \\d+\\.$`)],
      [['state', key, '--at'], /^error: option '--at <time\|revision>' argument missing$/],
      [['history'], /^error: missing required argument 'id'$/],
      [['history', key, 'more'], /^error: too many arguments/],
      [['histroy', key], /^error: unknown command 'histroy'/],
    ];
    for (const run of [here, weir]) {
      // The processes are worth their time for one of each kind.
      for (const [args, sentence] of run === here ? refusals : [refusals[7]!]) {
        const { code, stdout, stderr } = await run(...args);
        const isWrong = stderr.startsWith('error: ') || stderr.includes('is not the id of');
        expect(code, args.join(' ')).toBe(isWrong ? 64 : 1);
        expect(stdout).toBe('');
        expect(stderr.trimEnd().split('\n')[0]).toMatch(sentence);
        expect(stderr).not.toMatch(/^\s+at /m);
      }
    }
  });

  test('the pages show what the lines of JSON hold, and obey no name', async () => {
    const [history, state, plain] = (await Promise.all([
      succeeded(weir('history', hostile)),
      succeeded(here('state', hostile)),
      succeeded(here('history', key)),
    ])) as [string, string, string];
    for (const page of [history, state]) {
      // Of all characters that move the cursor or turn the text around only the ends of lines are left.
      expect(page.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
      for (const shown of ['\\u202egnp.exe', '\\u2066', '\\u061c']) expect(page).toContain(shown);
    }
    for (const { type, revision, at, metadata } of recorded) {
      expect(plain).toContain(`${whenIn({})(Date.parse(at))}  event ${revision}: ${type}\n`);
      const { type: kind, id } = metadata.actor;
      expect(plain).toContain(kind === 'system' ? `Weir itself` : `Admin key ${id}`);
    }
    const [event] = await historyOf(hostile);
    expect(event?.data.name).toBe(hostileName);
  });

  test('projects, organizations and Admin keys have a history too', async () => {
    const [ofProject, ofOrganization, ofAdminKey] = await Promise.all([
      historyOf(project),
      historyOf(server.first.organization_id),
      historyOf(server.first.admin_api_key_id),
    ]);
    expect(ofProject.map(({ type }) => type).slice(0, 3)).toEqual([
      'project.created',
      'project.key_issued',
      'project.archived',
    ]);
    expect(ofOrganization.map(({ type }) => type)).toEqual(['organization.created', 'organization.admin_key_issued']);
    // Whose start it was is told as of every other command at the machine.
    const by = { type: 'operator', id: userInfo().username, host: hostname(), command: 'weir serve' };
    expect([...ofOrganization, ...ofAdminKey].map(({ metadata }) => metadata.actor)).toEqual([by, by, by]);
    expect(ofAdminKey.map(({ type }) => type)).toEqual(['admin_key.created']);
  });

  test('a history longer than the buffer of a pipe arrives whole, however slowly it is read', async () => {
    const { id } = await createKey(server, server.first.project_id);
    const path = `${paths.projectKeys(server.first.project_id)}/${id}`;
    for (let i = 0; i < 60; i++) {
      const headers = { 'user-agent': 'x'.repeat(12_000) };
      expect((await call(server, 'POST', path, { body: { name: `name ${i}` }, headers })).status).toBe(200);
    }
    const env = { DATA_DIR: server.dataDir };
    const text = await succeeded(runWeir(['audit', 'history', id, '--jsonl'], env, 20));
    expect(text.length).toBeGreaterThan(600_000);
    expect(text.split('\n')).toHaveLength(62);
  });
});

describe('without a server', () => {
  test('the same is told from the files alone, and they can be served again', async () => {
    await server.stop();
    expect(await historyOf(key, weir)).toEqual(recorded);
    expect(await stateOfKey('--at', '1')).toEqual(folded(recorded.slice(0, 2)));
    const page = await succeeded(here('history', key));
    for (const { type } of recorded) expect(page).toContain(type);
    const unknown = await here('history', 'key_none');
    expect(unknown.code).not.toBe(0);
    expect(unknown.stderr).toBe('There is no key_none in this store.\n');
    server = await startServer({ dataDir: server.dataDir });
    expect((await call(server, 'GET', paths.project(project))).body.status).toBe('archived');
    await server.kill();
    expect(await historyOf(key)).toEqual(recorded);
  });

  test('a folder that holds no events is told as such', async () => {
    const dataDir = freshDir();
    const { code, stdout, stderr } = await weirHere(['audit', 'history', key], { DATA_DIR: dataDir });
    expect(code).not.toBe(0);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^[^\n]+\n$/);
    // Whoever only looks leaves nothing behind.
    expect(existsSync(dataDir)).toBe(false);
  });
});
