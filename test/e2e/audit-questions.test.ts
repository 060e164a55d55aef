// Lane: middle, alone: it sets the environment
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { readPart, rewritePart } from '../support/guides.ts';
import { archive, call, createKey, createProject, type Json, paths } from './calls.ts';
import { weirHere } from './here.ts';
import { isRemote, noEmbedded } from './remote-store.ts';
import { eventually, freshDir, type Server, startServer } from './server.ts';

// Each command is a process of its own, on a machine that may be busy with other things.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let server: Server;
/** Where its checkpoints go. */
let sink: string;
let organization: string;
let project: string;
let laptop: string;
let short: string;
/** When the project had its first name, and one key that could act. */
let early: string;
/** When its second key was suspended and the project had another name. */
let middle: string;

const here = (...args: string[]) => weirHere(['audit', ...args], { DATA_DIR: server.dataDir });

const said = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await here(...args, '--utc');
  expect(`${code} ${stderr.replace(/^.* has not come yet: .*\n/, '')}`).toBe('0 ');
  // Whatever is asked, the page can be pasted into a report.
  if (!args.includes('--jsonl')) for (const line of stdout.split('\n')) expect([...line].length, line).toBeLessThan(81);
  return stdout;
};

const json = async (...args: string[]): Promise<Json[]> =>
  (await said(...args, '--jsonl'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Json);

/** A moment at which nothing happens. */
const moment = async (): Promise<string> => {
  const pause = () => new Promise((resolve) => setTimeout(resolve, 15));
  await pause();
  const now = new Date().toISOString();
  await pause();
  return now;
};

const ok = async (method: string, path: string, body?: object): Promise<Json> => {
  const answer = await call(server, method, path, body === undefined ? {} : { body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body;
};

beforeAll(async () => {
  const dir = freshDir();
  mkdirSync(dir, { recursive: true });
  sink = join(dir, 'checkpoints');
  server = await startServer({ env: { AUDIT_SINKS: sink } });
  organization = server.first.organization_id;
  project = await createProject(server, 'research');
  laptop = (await createKey(server, project, { name: 'laptop' })).id;
  early = await moment();
  short = (await createKey(server, project, { name: 'short', expires_in_seconds: 3600 })).id;
  await ok('POST', paths.project(project), { name: 'Research 研究, second floor' });
  await ok('POST', `${paths.projectKeys(project)}/${laptop}`, { name: 'laptop of May', permissions: ['models:read'] });
  await ok('POST', `${paths.projectKeys(project)}/${laptop}/suspend`);
  middle = await moment();
  await ok('POST', `${paths.projectKeys(project)}/${laptop}/reactivate`);
  const pay = [
    'billing',
    'top-up',
    organization,
    '--amount',
    '20.5',
    '--reference',
    'inv-1',
    '--reason',
    'paid by wire',
  ];
  expect((await weirHere(pay, { DATA_DIR: server.dataDir })).code).toBe(0);
  expect((await archive(server, project)).status).toBe(200);
  await eventually(
    async () => {
      const [state] = await json('state', short);
      return state?.status === 'revoked' ? state : undefined;
    },
    () => 'the keys have not been revoked with their project',
  );
});

describe('which keys could act', () => {
  const keysAt = async (at: string) =>
    (await json('keys', project, '--at', at)).map(({ id, name, acts, effective }) => [
      id,
      name,
      acts,
      (effective as Json).status,
      (effective as Json).because,
    ]);

  test('at each moment, under the names of that time, and why the others could not', async () => {
    const own = 'own';
    expect(await keysAt(early)).toEqual([[laptop, 'laptop', 'yes', 'active', own]]);
    expect(await keysAt(middle)).toEqual([
      [laptop, 'laptop of May', 'no', 'suspended', own],
      [short, 'short', 'yes', 'active', own],
    ]);
    expect(await keysAt('2999-01-01')).toEqual([
      [laptop, 'laptop of May', 'no', 'revoked', own],
      [short, 'short', 'no', 'revoked', own],
    ]);
  });

  test('its time alone ends a key, in the very millisecond', async () => {
    const { id } = await createKey(server, server.first.project_id, { name: 'brief', expires_in_seconds: 3600 });
    const [made] = (await json('history', id)) as [{ readonly data: { readonly expires_at: number } }];
    const last = made.data.expires_at;
    const [state] = await json('state', id);
    expect(state?.fields).toMatchObject({ expires_at: Math.floor(last / 1000) });
    const [key] = (await json('keys', server.first.project_id)).filter((each) => each.id === id);
    expect(key).toMatchObject({ expires_at: Math.floor(last / 1000) });
    const actsAt = async (at: number) =>
      (await json('keys', server.first.project_id, '--at', new Date(at).toISOString())).find((key) => key.id === id)
        ?.acts;
    expect([await actsAt(last - 1), await actsAt(last), await actsAt(last + 1)]).toEqual(['yes', 'no', 'no']);
  });

  test('the page names who made it so, and by which request', async () => {
    const page = await said('keys', project, '--at', middle);
    for (const part of [
      'Research 研究',
      'keys        2: 1 could act, 1 could not',
      'no: suspended, by its own state',
      'project_key.suspended',
      `Admin key ${server.first.admin_api_key_id}`,
      'request',
      'expires      2',
    ])
      expect(page).toContain(part);
    expect(page).not.toContain('laptop”');
  });
});

test('a state has the names and states of that time, of all that it belonged to', async () => {
  const [then] = await json('state', laptop, '--at', early);
  expect(then).toMatchObject({
    status: 'active',
    effective: { status: 'active', because: 'own' },
    belongs_to: [
      { id: organization, status: 'active' },
      { id: project, name: 'research', status: 'active' },
    ],
    fields: { name: 'laptop' },
  });
  const [now] = await json('state', laptop);
  expect(now).toMatchObject({ belongs_to: [{}, { name: 'Research 研究, second floor', status: 'archived' }] });
  expect(await said('state', laptop, '--at', early)).toContain(`${project} “research”, active`);
  const money = await said('state', organization);
  expect(money).toContain('lifetime_paid  $20.50');
});

test('a history has its times and money for people, and in JSON as they were recorded', async () => {
  const page = await said('history', organization);
  expect(page).toMatch(/^ {2}created_at +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? UTC$/m);
  expect(page).toMatch(/^ {2}micro_dollars +\$20\.50$/m);
  const credited = (await json('history', organization)).find(({ type }) => type === 'billing.credited');
  expect(credited?.data).toMatchObject({ micro_dollars: 20_500_000 });
  expect(await said('history', short)).toMatch(/^ {2}expires_at +\d{4}-.* UTC$/m);
  expect(await said('history', laptop)).toMatch(/^ {2}expires_at +null$/m);
});

describe('what changed', () => {
  test('of one key: each field, and the events that took each other back', async () => {
    const [diff] = await json('diff', laptop, '--from', early);
    const fields = (all: unknown) => (all as Json[]).map(({ field, from, to }) => [field, from, to]);
    expect([diff?.from, diff?.to]).toMatchObject([{ status: 'active' }, { status: 'revoked' }]);
    expect(fields(diff?.changes)).toEqual([
      ['name', 'laptop', 'laptop of May'],
      ['permissions', expect.arrayContaining(['inference:create']), ['models:read']],
    ]);
    const events = diff?.events as Json[];
    const told = events.map(({ type, status, changes }) => [type, status, fields(changes).map(([field]) => field)]);
    expect(told).toEqual([
      ['project_key.updated', 'active', ['name', 'permissions']],
      ['project_key.suspended', 'suspended', []],
      ['project_key.reactivated', 'active', []],
      ['project_key.revoked', 'revoked', []],
    ]);
    const path = `${paths.projectKeys(project)}/${laptop}/history?limit=100`;
    expect(events).toEqual(((await ok('GET', path)).data as Json[]).slice(1));
    expect(events[3]).toMatchObject({ actor: { type: 'system' }, reason: 'project_archived' });
    const page = await said('diff', laptop, '--from', early, '--to', middle);
    expect(page).toContain('name         laptop → laptop of May');
    expect(page).toContain('- inference:create');
    expect(page).toContain('effective    active → suspended, by its own state');
  });

  test('of an organization: all that it has, and the reason that the operator gave', async () => {
    const all = await json('diff', organization, '--from', early, '--to', '2999-01-01');
    expect(all.map(({ id }) => id)).toEqual(expect.arrayContaining([organization, project, laptop, short]));
    expect(all[0]).toMatchObject({
      id: organization,
      changes: expect.arrayContaining([{ field: 'lifetime_paid', from: 0, to: 20.5 }]),
      events: expect.arrayContaining([
        expect.objectContaining({
          type: 'billing.credited',
          reason: 'paid by wire',
          actor: { type: 'operator', operator: expect.objectContaining({ id: 'jo' }) },
        }),
      ]),
    });
    const made = all.find(({ id }) => id === short);
    expect(made).toMatchObject({ from: null, effective: { from: null, to: { status: 'revoked' } } });
    const page = await said('diff', organization, '--from', early);
    expect(page).toContain('lifetime_paid  $0.00 → $20.50');
    expect(page).toContain('why            paid by wire');
    expect(await said('diff', organization, '--from', '2999-01-01', '--to', '2999-01-02')).toMatch(/^Nothing changed/);
  });
});

describe('who did what', () => {
  test('all that a key did, between two times, with the names of then', async () => {
    const id = server.first.admin_api_key_id;
    const types = async (...args: string[]) => (await json('who', id, ...args)).map(({ type }) => type);
    const all = await types();
    expect(all.slice(0, 7)).toEqual([
      'project.created',
      'api_key.created',
      'api_key.created',
      'project.updated',
      'api_key.updated',
      'api_key.suspended',
      'api_key.reactivated',
    ]);
    expect(await types('--to', early)).toEqual(all.slice(0, 2));
    expect(await types('--from', early, '--to', middle)).toEqual(all.slice(2, 6));
    const [, created] = await json('who', id);
    expect(created?.project).toEqual({ id: project, name: 'research' });
    expect(await said('who', id, '--to', early)).toContain(`in          ${project} “research”`);
  });

  test('an operator, by the name of the OS user; a project key, with its requests to models', async () => {
    expect((await json('who', 'operator:jo')).map(({ type }) => type)).toContain('billing.credited');
    const body = { model: 'weir-sim-1', max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] };
    const key = server.first.project_api_key;
    expect((await call(server, 'POST', '/v1/messages', { key, body })).status).toBe(200);
    expect((await call(server, 'GET', paths.projects, { key })).status).toBe(403);
    const found = await eventually(
      async () => {
        const last = (await json('who', server.first.project_api_key_id)).at(-1) as { requests: Json };
        return last.requests.requests === 1 ? last.requests : undefined;
      },
      () => 'the request has not been accounted for',
    );
    expect(found).toMatchObject({ requests: 1, by_model: { 'weir-sim-1': 1 } });
    expect(await said('who', server.first.project_api_key_id)).toContain('requests   1 to weir-sim-1: ');
  });
});

describe('the audit log', () => {
  test('by the filters of the endpoint, in the form of the endpoint', async () => {
    const listed = (await ok('GET', '/v1/organization/audit_logs?limit=100')).data as Json[];
    const bare = ({ project: _, ...rest }: Json): Json => rest;
    expect((await json('log', organization, '--limit', '100')).map(bare)).toEqual(listed.map(bare));
    const found = await json('log', '--type', 'api_key.updated', '--resource', laptop);
    expect(found.map(({ type }) => type)).toEqual(['api_key.updated']);
    const request = String(found[0]?.request_id);
    expect(await json('log', '--request', request)).toEqual(found);
    for (const actor of ['jo', 'operator:jo'])
      expect(await json('log', '--actor', actor, '--type', 'billing.credited')).toHaveLength(1);
    expect(await json('log', '--project', project, '--from', early, '--to', middle, '--order', 'asc')).toMatchObject([
      { type: 'api_key.created' },
      { type: 'project.updated' },
      { type: 'api_key.updated' },
      { type: 'api_key.suspended' },
    ]);
    const [first, second, third] = listed.map(({ id }) => String(id)) as [string, string, string];
    const between = await json('log', organization, '--after', first, '--before', third);
    expect(between.map(({ id }) => id)).toEqual([second]);
    expect(await said('log', '--limit', '1')).toContain(`entry`);
    expect(await here('log', '--type', 'policy.deleted')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'Nothing to show.\n',
    });
  });

  test('followed, it tells each change once, as it comes, until it is interrupted', async () => {
    let stop = () => {};
    const interrupted = new Promise<void>((resolve) => {
      stop = resolve;
    });
    const args = ['audit', 'log', '--follow', '--limit', '1', '--type', 'project.created', '--jsonl'];
    const following = weirHere(args, { DATA_DIR: server.dataDir }, interrupted);
    const made: string[] = [];
    const pause = () => new Promise((resolve) => setTimeout(resolve, 1_000));
    // It begins in the midst of them, sooner or later.
    for (const name of ['one', 'two', 'three', 'four', 'five', 'six']) {
      made.push(await createProject(server, name));
      await pause();
    }
    await pause();
    stop();
    const { code, stdout } = await following;
    expect(code).toBe(0);
    const told = stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as Json)['project.created'] as Json);
    // The last one before it began, and all from then on.
    const ids = told.map(({ id }) => id);
    const first = made.indexOf(String(ids.find((id) => made.includes(String(id)))));
    expect(first).toBeLessThan(5);
    expect(ids.slice(-(made.length - first))).toEqual(made.slice(first));
    expect(ids.length - (made.length - first)).toBeLessThanOrEqual(first === 0 ? 1 : 0);
  });
});

test('bad ids and times are told with their place', async () => {
  const cases: [string[], number, RegExp][] = [
    [['keys', laptop], 64, /^key_\w+ is not the id of a project: proj_…\.$/],
    [['keys', 'pancake'], 64, /^pancake is not the id of an organization, project/],
    [['keys', 'proj_none'], 1, /^There is no proj_none in this store\.$/],
    [['keys', project, '--at', '2020-01-01'], 1, /^proj_\w+ did not exist then\.$/],
    [
      ['keys', project, '--at', '3'],
      64,
      /^error: option '--at <time>' argument '3' is invalid\. Give a time with its zone/,
    ],
    [['diff', laptop], 64, /required option '--from <time>'/],
    [['diff', laptop, '--from', '2026-02-30'], 64, /argument '2026-02-30' is invalid/],
    [['diff', laptop, '--from', '2026-02-03', '--to', '2026-02-02'], 64, /^--to must not be before --from\.$/],
    [['diff', 'org_none', '--from', '2026-02-03'], 1, /^There is no org_none in this store\.$/],
    [['diff', 'nonsense', '--from', '2026-02-03'], 64, /^nonsense is not the id/],

    [['who', 'akey_none'], 1, /^There is no akey_none in this store\.$/],
    [['who', 'oat_none'], 1, /tokens are kept for two hours/],
    [['log', 'proj_x'], 64, /^proj_x is not the id of an organization/],
    [['log', 'org_none'], 1, /^There is no organization org_none\. weir org list shows them\.$/],
    [['log', '--type', 'nonsense'], 64, /Give one of access\.denied/],
    [['log', '--limit', '0'], 64, /Give a number from 1 to 100000/],
    [['log', '--after', 'audit_x'], 64, /need an organization/],
    [['log', organization, '--after', 'audit_x'], 1, /^There is no entry audit_x in the log of org_/],
    [['log', '--follow', '--order', 'asc'], 64, /--follow goes with neither/],
    [['log', '--from', '2026-02-03', '--to', '2026-02-02'], 64, /^--to must not be before --from\.$/],
    [['who', 'operator:jo', '--from', '2026-02-03', '--to', '2026-02-02'], 64, /^--to must not be before --from\.$/],
    [['diff', laptop, '--from', '2999-01-01'], 64, /^--from has not come yet\.$/],
    [['state', project, '--at', '20260203'], 1, /^proj_\w+ has no revision 20260203: its last is \d+\.$/],
  ];
  for (const [args, status, sentence] of cases) {
    const { code, stdout, stderr } = await here(...args);
    expect([code, stdout], args.join(' ')).toEqual([status, '']);
    expect(stderr.trimEnd().split('\n')[0]).toMatch(sentence);
  }
});

test('times are those of whoever reads them, with the zone, and can be asked for as they stand on a page', async () => {
  const zone = process.env.TZ;
  const asked = { DATA_DIR: server.dataDir };
  try {
    for (const [tz, ahead] of [
      ['Asia/Kolkata', '+05:30'],
      ['America/St_Johns', '-03:30'],
    ] as const) {
      process.env.TZ = tz;
      const there = await weirHere(['audit', 'state', short, '--at', '2026-12-31T20:00:00.5Z'], asked);
      const [, local] = /as of +(\S+ \S+ \S+)\n/.exec(there.stdout) ?? [];
      expect(local).toBe(
        tz === 'Asia/Kolkata' ? `2027-01-01 01:30:00.500 ${ahead}` : `2026-12-31 16:30:00.500 ${ahead}`,
      );
      const asPasted = await weirHere(['audit', 'state', short, '--at', local!], asked);
      expect(asPasted.stdout).toBe(there.stdout);
      const utc = await weirHere(['audit', 'state', short, '--at', local!, '--utc'], asked);
      expect(utc.stdout).toMatch(/as of +2026-12-31 20:00:00\.500 UTC\n/);
      for (const args of [
        ['keys', project],
        ['diff', short, '--from', early],
        ['history', short],
        ['who', 'operator:jo'],
        ['log'],
      ]) {
        const { stdout } = await weirHere(['audit', ...args], asked);
        expect(stdout, args[0]).toMatch(new RegExp(`\\d\\d:\\d\\d:\\d\\d(\\.\\d+)? \\${ahead}`));
        expect(stdout, args[0]).not.toContain('UTC');
        const { stdout: json } = await weirHere(['audit', ...args, '--jsonl'], asked);
        expect(json, args[0]).toMatch(/T\d\d:\d\d:\d\d\.\d{3}Z"|"(effective_)?at":\d/);
      }
    }
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

test('what has not come yet is no evidence, and that is said', async () => {
  const ahead = /^2999-01-01 00:00:00 UTC has not come yet: this is what will be if nothing changes until then\.$/;
  for (const args of [
    ['state', project, '--at'],
    ['keys', project, '--at'],
    ['diff', laptop, '--from', '2026-01-01', '--to'],
  ]) {
    const { code, stdout, stderr } = await here(...args, '2999-01-01', '--utc');
    expect([code, stdout === '', stderr.trimEnd()]).toEqual([0, false, expect.stringMatching(ahead)]);
    expect((await here(...args, '3000-01-01', '--jsonl')).code).toBe(0);
  }
  expect((await here('keys', project)).stderr).toBe('');
});

/** What differs from run to run: ids, times, and who sits at the machine. */
const cutOut = (page: string): string =>
  page
    .replace(/\b(org|proj|key|akey|req|audit)_[0-9a-z]{26}\b/g, '$1_…')
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? UTC/g, '2026-… UTC')
    .replace(/in (?:1 hour|59 minutes)(?: \d+ seconds?)?/g, 'in 1 hour')
    .replace(/gwp_\S+/g, 'gwp_…');

test('without a server the same is told', async () => {
  const before = await json('diff', organization, '--from', early, '--to', middle);
  await server.stop();
  expect(await json('diff', organization, '--from', early, '--to', middle)).toEqual(before);
});

test('without a server nothing can be followed in its files', async ({ skip }) => {
  skip(isRemote, noEmbedded);
  const { code, stderr } = await here('log', '--follow');
  expect([code, stderr]).toEqual([1, 'No server runs on these files, so nothing can follow.\n']);
});

const saidOfProof = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await here(...args);
  expect(`${code} ${stderr}`).toBe('0 ');
  // Whether what was written last has been signed before the server stopped is a matter of moments.
  return stdout.replace(/ \d+ events? behind the last checkpoint (is|are) .*$/m, '').replace(/\d+/g, '…');
};

// Refusals are recorded when their minute is over, or the server stops.
test('the answers in the guide are those that the commands give', async () => {
  const shown: [string[], string[]][] = [
    [
      ['keys', 'PROJECT', '--at', 'TIME'],
      ['keys', project, '--at', middle],
    ],
    [
      ['state', 'KEY', '--at', 'TIME'],
      ['state', short, '--at', middle],
    ],
    [
      ['diff', 'KEY', '--from', 'TIME', '--to', 'TIME'],
      ['diff', laptop, '--from', early, '--to', middle],
    ],
    [
      ['who', 'operator:jo'],
      ['who', 'operator:jo'],
    ],
    [
      ['log', '--type', 'api_key.created', '--resource', 'KEY'],
      ['log', '--type', 'api_key.created', '--resource', short],
    ],
    [
      ['log', '--type', 'access.denied'],
      ['log', '--type', 'access.denied'],
    ],
    [
      ['verify', '--against', 'FILE'],
      ['verify', '--against', sink],
    ],
  ];
  const parts: string[] = [];
  for (const [typed, args] of shown) {
    // The log goes by its times, and a verdict has none.
    const page = await (args[0] === 'verify' ? saidOfProof(...args) : said(...args));
    parts.push(`$ weir audit ${typed.join(' ')}\n${cutOut(page)}`);
  }
  const text = `\`\`\`text\n${parts.join('\n')}\`\`\``;
  if (process.env.WRITE_GUIDES) rewritePart('auditor', () => text);
  expect(readPart('auditor').trimEnd()).toBe(text);
});
