import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allAggregates } from '../../src/app/aggregates.ts';
import { existingEventLog } from '../../src/app/log/event-log.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { defaultTerms } from '../../src/domain/policy/policy-terms.ts';
import { startEmbedded } from '../../src/embedded/index.ts';
import { newId, tokenKind } from '../../src/ids.ts';
import { workbench } from './run.ts';

const bench = workbench();
const { weir, json } = bench;
let store: Awaited<ReturnType<typeof startEmbedded>>;
let organization = '';

beforeAll(async () => {
  store = await startEmbedded({ dir: join(bench.env.DATA_DIR, 'eventstore'), inThread: true });
  organization = String((await json('org', 'create', '--new-store', '--name', 'Acme'))[0]?.organization_id);
});
afterAll(async () => {
  await store.close();
  bench.clean();
});

const first = async (...argv: string[]) => (await json(...argv))[0] as Record<string, string>;
const newProject = async (name = 'research') => (await first('project', 'create', '--name', name)).id ?? '';
const idsOf = (rows: readonly Record<string, unknown>[]) => rows.map(({ id }) => id);
const lastEvent = async (id: string) => (await json('audit', 'history', id)).at(-1);
const hostile = 'red \u001b[31m \u202e';

describe('weir project', () => {
  test('creates in the only organization, shows, lists and archives', async () => {
    const made = await first('project', 'create', '--name', ' research ', '--reason', 'a grant');
    const { id = '' } = made;
    expect(made).toMatchObject({ name: 'research', status: 'active', organization_id: organization });
    expect(made.created_at).toBeGreaterThan(1_700_000_000);
    expect(await lastEvent(id)).toMatchObject({
      type: 'project.created',
      metadata: {
        actor: { type: 'operator', id: 'jo', host: 'here', command: 'weir project create', reason: 'a grant' },
      },
    });
    expect(await first('project', 'show', id)).toEqual(made);
    expect(idsOf(await json('project', 'list'))).toContain(id);
    expect(await weir(['project', 'archive', id])).toMatchObject({ code: 1, err: expect.stringContaining('--yes') });
    expect(await first('project', 'archive', id, '--yes')).toMatchObject({ status: 'archived' });
    expect(await first('project', 'archive', id)).toMatchObject({ status: 'archived' });
    expect(idsOf(await json('project', 'list', organization))).not.toContain(id);
    expect(idsOf(await json('project', 'list', organization, '--all'))).toContain(id);
  });
  test('asks which organization is meant where there are several, and makes none in a closed one', async () => {
    const other = String((await json('org', 'create', '--name', 'Other'))[0]?.organization_id);
    const { code, err } = await weir(['project', 'create', '--name', 'x']);
    expect([code, err]).toEqual([64, 'There are 2 organizations: say which. weir org list shows them.\n']);
    expect(await first('project', 'create', other, '--name', 'x')).toMatchObject({ organization_id: other });
    await weir(['org', 'close', other, '--yes']);
    expect(await weir(['project', 'create', other, '--name', 'x'])).toMatchObject({ code: 1, out: '' });
    // The closed one is none of those that can be meant.
    expect(await first('project', 'create', '--name', 'y')).toMatchObject({ organization_id: organization });
  });
});

describe('weir key', () => {
  test('creates one whose value is shown once, and goes through its life', async () => {
    const project = await newProject();
    const made = await first('key', 'create', project, '--name', 'laptop', '--expires', '90d');
    const { id = '', value = '' } = made;
    expect(tokenKind(value)).toBe('p');
    const days = (Number(made.expires_at) - Number(made.created_at)) / 86_400;
    expect(days).toBeCloseTo(90, 3);
    const { value: _, ...rest } = made;
    expect(await first('key', 'show', id)).toEqual(rest);
    expect(JSON.stringify(await json('audit', 'history', id))).not.toContain(value);
    expect(await first('key', 'suspend', id)).toMatchObject({ status: 'suspended' });
    expect(await first('key', 'reactivate', id)).toMatchObject({ status: 'active' });
    expect((await weir(['key', 'revoke', id])).err).toMatch(
      /^A revoke cannot be undone: the key “.*” will never work /,
    );
    expect(await weir(['key', 'revoke', id], 'no')).toMatchObject({ code: 1, err: 'Nothing was changed.\n' });
    expect(await first('key', 'revoke', id, '--yes', '--actor', 'Mo')).toMatchObject({ status: 'revoked' });
    expect(await lastEvent(id)).toMatchObject({
      type: 'project_key.revoked',
      metadata: { actor: { type: 'operator', id: 'jo', name: 'Mo', command: 'weir key revoke' } },
    });
    const again = await weir(['key', 'suspend', id]);
    expect(again).toMatchObject({ code: 1, out: '' });
    expect(again.err).toBe('That cannot be done: the key is revoked.\n');
    expect(idsOf(await json('key', 'list', project))).toEqual([]);
    expect(idsOf(await json('key', 'list', project, '--all'))).toEqual([id]);
    expect(idsOf(await json('key', 'list', '--status', 'revoked'))).toContain(id);
  });
  test('a key has the rate limits and the spend limit that it is made with', async () => {
    const limits = ['--limits', 'requests_per_minute=60,concurrent_requests=2', '--spend-limit', '12.5/week'];
    const { id = '' } = await first('key', 'create', await newProject(), '--name', 'k', ...limits);
    expect(await json('key', 'show', id)).toMatchObject([
      { limits: '60 requests per minute, 2 concurrent requests', spend_limit: '$12.50 a week' },
    ]);
  });

  test('rotates one: both go on for the grace, and the successor is printed whole, once', async () => {
    const project = await newProject();
    const { id = '' } = await first('key', 'create', project, '--name', 'laptop', '--permissions', 'models:read');
    const made = await first('key', 'rotate', id, '--grace', '24h', '--reason', 'yearly');
    const { value = '', rotated_from_expires_at: end = '', ...rest } = made;
    expect(made).toMatchObject({ name: 'laptop', permissions: ['models:read'], status: 'active', expires_at: null });
    expect([tokenKind(value), made.rotated_from]).toEqual(['p', id]);
    expect((Number(end) - Number(made.created_at)) / 3_600).toBeCloseTo(24, 2);
    expect(await first('key', 'show', made.id ?? '')).toEqual(rest);
    expect(await first('key', 'show', id)).toMatchObject({ status: 'active', expires_at: end, rotated_to: made.id });
    expect(await lastEvent(id)).toMatchObject({
      type: 'project_key.rotated',
      data: { successor_id: made.id },
      metadata: { actor: { command: 'weir key rotate', reason: 'yearly' } },
    });
    const log = await json(
      'audit',
      'log',
      organization,
      '--resource',
      id,
      '--resource',
      made.id ?? '',
      '--order',
      'asc',
    );
    expect(log.map(({ type }) => type)).toEqual(['api_key.created', 'api_key.created', 'api_key.rotated']);
    expect(log[1]).toMatchObject({ 'api_key.created': { data: { rotated_from: id } } });
    expect(log[2]).toMatchObject({
      'api_key.rotated': { id, data: { successor_id: made.id, expires_at: Number(end) } },
    });
    const again = await weir(['key', 'rotate', id, '--grace', '0s']);
    expect(again).toEqual({ code: 1, out: '', err: `The API key has a successor already: rotate ${made.id}.\n` });
    // At once: nobody can use it any more.
    await first('key', 'rotate', made.id ?? '', '--grace', '0s');
    expect(await first('key', 'show', made.id ?? '')).toMatchObject({ status: 'expired' });
  });
  test.each([
    ['604801s', 64, /Give 7d \(604800s\) at most/],
    ['8d', 64, /Give 7d/],
    ['-1s', 64, /Give a number of s, m, h or d/],
    ['60', 64, /Give a number of s, m, h or d/],
    ['604800s', 1, /There is no project key key_none/],
    ['0s', 1, /There is no project key key_none/],
  ])('rotates with a grace of %s: %i', async (grace, code, err) => {
    expect(await weir(['key', 'rotate', 'key_none', '--grace', grace])).toEqual({
      code,
      out: '',
      err: expect.stringMatching(err),
    });
  });
  test('rotates no suspended key, and none without a grace', async () => {
    const { id = '' } = await first('key', 'create', await newProject(), '--name', 'k');
    expect((await weir(['key', 'rotate', id])).err).toContain("required option '--grace <time>' not specified");
    await first('key', 'suspend', id);
    expect(await weir(['key', 'rotate', id, '--grace', '1h'])).toEqual({
      code: 1,
      out: '',
      err: 'The API key is suspended.\n',
    });
  });
  test('keys of an archived project are revoked, and it gets no other', async () => {
    const project = await newProject();
    const { id = '' } = await first('key', 'create', project, '--name', 'k', '--permissions', 'models:read');
    await weir(['project', 'archive', project, '--yes']);
    expect(await first('key', 'show', id)).toMatchObject({ status: 'revoked', permissions: ['models:read'] });
    for (const argv of [
      ['create', project, '--name', 'x'],
      ['reactivate', id],
      ['suspend', id],
    ])
      expect(await weir(['key', ...argv])).toMatchObject({ code: 1, err: expect.stringContaining('archived') });
  });
  test('the table fits, escapes hostile names and never breaks an id or a value', async () => {
    const project = await newProject();
    const { code, out } = await weir(['key', 'create', project, '--name', 'x'.repeat(120)]);
    expect(code).toBe(0);
    expect(out).toMatch(/^VALUE +gwp_\w{40,}$/m);
    await weir(['project', 'create', '--name', 'n'.repeat(120)]);
    const { id = '' } = await first('key', 'create', project, '--name', 'of a "thing"');
    const listed = await weir(['key', 'list', project]);
    expect(listed.out).toContain(id);
    for (const line of listed.out.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
    expect(listed.err).toContain('--wide shows all');
    expect((await weir(['key', 'list', project, '--wide'])).err).toBe('');
  });
  test.each([
    [['key', 'show', 'key_none'], 1, 'There is no project key key_none. weir key list --all shows them.\n'],
    [['key', 'show', 'akey_none'], 1, expect.stringContaining('Admin key')],
    [['key', 'show', `k${hostile}`], 1, expect.not.stringContaining('\u001b')],
    [['key', 'create', 'proj_none', '--name', 'x'], 1, expect.stringContaining('weir project list')],
    [['key', 'create', 'proj_none', '--name', 'a\nb'], 64, expect.stringContaining('control character')],
    [['key', 'create', 'proj_none', '--name', 'x', '--expires', '90'], 64, expect.stringContaining('90d')],
    [
      ['key', 'create', 'proj_none', '--name', 'x', '--limits', 'rpm=6'],
      64,
      expect.stringContaining('tokens_per_minute'),
    ],
    [
      ['key', 'create', 'proj_none', '--name', 'x', '--limits', 'requests_per_day='],
      64,
      expect.stringContaining('=60'),
    ],
    [['key', 'create', 'proj_none', '--name', 'x', '--spend-limit', '5'], 64, expect.stringContaining('12.50/month')],
    [
      ['key', 'create', 'proj_none', '--name', 'x', '--spend-limit', '0/day'],
      64,
      expect.stringContaining('week, month'),
    ],
    [['key', 'create', 'proj_none', '--name', 'x', '--permissions', 'all'], 64, expect.stringContaining('models:read')],
    [['key', 'list', '--status', 'dead'], 64, expect.stringContaining('active')],
    [['key', 'list', '--status', hostile], 64, expect.not.stringContaining('\u001b')],
    [['key', `--${hostile}`], 64, expect.not.stringContaining('\u001b')],
    [['key', 'list', '--json', '--jsonl'], 64, expect.stringContaining('one of json, jsonl')],
    [['project', 'show', 'proj_none'], 1, expect.stringContaining('weir project list')],
    [['policy', 'show', 'pol_none'], 1, expect.stringContaining('weir policy list')],
  ])('%j ends with %i', async (argv, code, err) => {
    expect(await weir(argv)).toEqual({ code, out: '', err });
  });
});

describe('weir policy', () => {
  const draft = async (projectIds: readonly string[] = []) => {
    const log = await existingEventLog(readConfig(bench.env));
    const id = newId('pol', systemClock);
    const terms = { ...defaultTerms, rule: 'true', ...(projectIds.length > 0 && { scope: 'projects', projectIds }) };
    const input = {
      organizationId: organization,
      name: 'No nightfall',
      description: '',
      terms,
      at: systemClock.wall(),
    };
    const context = { actor: { type: 'system', id: 'test' } } as const;
    await allAggregates(log.store).policy.dispatch(id, 'create', input as never, context);
    await log.close();
    return id;
  };
  test('publishes, pauses and resumes what others have written', async () => {
    const id = await draft();
    expect(await first('policy', 'show', id)).toMatchObject({
      object: 'organization.policy',
      organization_id: organization,
      state: 'draft',
      revision: 1,
      draft: { rule: 'true', mode: 'monitoring' },
      published: null,
    });
    expect(await weir(['policy', 'show', id])).toMatchObject({ code: 0, out: expect.stringMatching(/^RULE +true$/m) });
    expect(await weir(['policy', 'publish', id])).toMatchObject({ code: 1, err: expect.stringContaining('--yes') });
    expect(await first('policy', 'publish', id, '--yes')).toMatchObject({
      current_version: 1,
      has_unpublished_changes: false,
    });
    expect(await weir(['policy', 'publish', id, '--yes'])).toMatchObject({ code: 1, out: '' });
    expect(await weir(['policy', 'pause', id, '--revision', '1', '--yes'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('is at revision 2, not at 1'),
    });
    expect(await first('policy', 'pause', id, '--revision', '2', '--yes')).toMatchObject({ state: 'paused' });
    expect(await first('policy', 'resume', id, '--yes')).toMatchObject({ revision: 4 });
    expect(await lastEvent(id)).toMatchObject({ metadata: { actor: { command: 'weir policy resume' } } });
    expect(idsOf(await json('policy', 'list', organization))).toContain(id);
  });
  test('does not publish for an archived project', async () => {
    const project = await newProject();
    const id = await draft([project]);
    await weir(['project', 'archive', project, '--yes']);
    expect(await weir(['policy', 'publish', id, '--yes'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('archived'),
    });
  });
});
