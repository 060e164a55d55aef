import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startEmbedded } from '../../src/embedded/index.ts';
import { tokenKind } from '../../src/ids.ts';
import { workbench } from './run.ts';

const bench = workbench();
const { weir, json } = bench;
let id = '';
let firstKey = '';

let store: Awaited<ReturnType<typeof startEmbedded>>;

// Beside a running store a command need not start one of its own, which takes a second each time.
beforeAll(async () => {
  store = await startEmbedded({ dir: join(bench.env.DATA_DIR, 'eventstore'), inThread: true });
  const [made] = await json('org', 'create', '--new-store', '--name', ' Acme \u202e ');
  id = String(made?.organization_id);
  firstKey = String(made?.admin_api_key);
});
afterAll(async () => {
  await store.close();
  bench.clean();
});

const org = async () => (await json('org', 'show', id))[0];

describe('weir org', () => {
  test('creates an organization with a working form of Admin key', async () => {
    expect(id).toMatch(/^org_/);
    expect(tokenKind(firstKey)).toBe('a');
    expect(await org()).toMatchObject({ name: 'Acme \u202e', status: 'active', tier: 0, credits: 0 });
  });
  test('escapes what a terminal would obey', async () => {
    const { out } = await weir(['org', 'list']);
    expect(out).toContain('Acme \\u202e');
    expect(out).not.toContain('\u202e');
  });
  test('suspends, reactivates, and says in one sentence what cannot be done', async () => {
    expect((await json('org', 'suspend', id, '--yes'))[0]).toMatchObject({ status: 'suspended' });
    const again = await weir(['org', 'suspend', id, '--yes']);
    expect(again).toMatchObject({ code: 1, out: '' });
    expect(again.err).toMatch(/^That cannot be done: [^\n]+\.\n$/);
    expect((await json('org', 'reactivate', id))[0]).toMatchObject({ status: 'active' });
  });
  test('records who it was', async () => {
    const events = await json('audit', 'history', id);
    const [created] = events as [{ type: string; metadata: { actor: object } }];
    expect(created).toMatchObject({
      type: 'organization.created',
      metadata: { actor: { type: 'operator', id: 'jo' } },
    });
    expect(JSON.stringify(events)).not.toContain(firstKey);
  });
  test('records the OS user, the machine and the command, who it was for and why', async () => {
    const said = ['--actor', 'Mo \u202e', '--reason', 'unpaid since May'];
    expect((await weir(['org', 'suspend', id, '--yes', ...said])).code).toBe(0);
    expect((await weir(['org', 'reactivate', id])).code).toBe(0);
    const events = await json('audit', 'history', id);
    const actorOf = (type: string) =>
      (events as { type: string; metadata: { actor: object } }[]).findLast((event) => event.type === type)?.metadata
        .actor;
    const who = { type: 'operator', id: 'jo', host: 'here' };
    expect(actorOf('organization.created')).toEqual({ ...who, command: 'weir org create' });
    expect(actorOf('organization.reactivated')).toEqual({ ...who, command: 'weir org reactivate' });
    const suspended = { ...who, command: 'weir org suspend', name: 'Mo \u202e', reason: 'unpaid since May' };
    expect(actorOf('organization.suspended')).toEqual(suspended);
    const { out } = await weir(['audit', 'history', id]);
    for (const part of ['operator jo at here', 'weir org suspend', 'Mo \\u202e', 'unpaid since May'])
      expect(out).toContain(part);
    expect(out).not.toContain('\u202e');
  });
  test.each([
    ['--actor', ''],
    ['--actor', 'x'.repeat(121)],
    ['--reason', 'x'.repeat(501)],
  ])('refuses %s %j', async (option, text) => {
    const { code, err } = await weir(['org', 'suspend', id, option, text]);
    expect(code).toBe(64);
    expect(err).toContain('characters');
  });
  test.each([
    [['org', 'show', 'org_nobody'], 1, 'There is no organization org_nobody. weir org list shows them.\n'],
    [['org', 'create', '--name', ' '], 64, 'An organization’s name has 1 to 120 characters.\n'],
    [['org', 'create', '--name', 'x'.repeat(121)], 64, 'An organization’s name has 1 to 120 characters.\n'],
  ])('answers %j with status %i and a sentence', async (argv, code, sentence) => {
    expect(await weir(argv)).toEqual({ code, out: '', err: sentence });
  });
  test('asks before it closes one, and takes nothing but yes for it', async () => {
    const [made] = await json('org', 'create', '--name', 'Passing');
    const other = String(made?.organization_id);
    expect(await weir(['org', 'close', other])).toMatchObject({ code: 1, err: expect.stringContaining('--yes') });
    expect(await weir(['org', 'close', other], 'no')).toMatchObject({ code: 1, err: 'Nothing was changed.\n' });
    expect((await json('org', 'show', other))[0]).toMatchObject({ status: 'active' });
    expect((await weir(['org', 'close', other], 'yes')).code).toBe(0);
    expect((await json('org', 'show', other))[0]).toMatchObject({ status: 'closed' });
    expect(await json('org', 'list')).toHaveLength(2);
  });
});

describe('weir billing', () => {
  test('records each reference once, and raises and lowers the tier', async () => {
    const pay = ['billing', 'top-up', id, '--amount', '20', '--reference', 'invoice-1'];
    expect((await json(...pay))[0]).toMatchObject({ recorded: 'yes', tier: 1, credits: 20 });
    expect((await json(...pay))[0]).toMatchObject({ recorded: expect.stringContaining('no'), credits: 20 });
    const [granted] = await json('billing', 'grant', id, '--amount', '0.000001', '--reference', 'g');
    expect(granted).toMatchObject({ tier: 1, lifetime_paid: 20 });
    const subscribe = ['billing', 'subscription', id, '--plan', 'scale', '--reference'];
    expect((await json(...subscribe, 's1', '--amount', '9.99'))[0]).toMatchObject({ tier: 3, subscription: 'Scale' });
    const free = ['billing', 'subscription', id, '--plan', 'growth', '--amount', '0', '--reference', 's2'];
    expect((await json(...free))[0]).toMatchObject({ tier: 2, subscription: 'Growth', lifetime_paid: 29.99 });
    const [ended] = await json('billing', 'subscription', id, '--end', '--reference', 's3');
    expect(ended).toMatchObject({ recorded: 'yes', tier: 1, subscription: 'Free', lifetime_paid: 29.99 });
    const [back] = await json('billing', 'refund', id, '--amount', '20', '--reference', 'back');
    expect(back).toMatchObject({ tier: 0, lifetime_paid: 9.99 });
    expect(await org()).toMatchObject({ tier: 0, lifetime_paid: 9.99 });
  });
  test('does not take a reference for another entry than the one that it was given to', async () => {
    const [made] = await json('org', 'create', '--name', 'Payer');
    const payer = String(made?.organization_id);
    const enter = (command: string, amount: string) =>
      weir(['billing', command, payer, '--amount', amount, '--reference', 'invoice-1']);
    expect((await enter('top-up', '20')).code).toBe(0);
    for (const [command, amount] of [
      ['top-up', '21'],
      ['grant', '20'],
      ['refund', '20'],
    ] as const) {
      const { code, out, err } = await enter(command, amount);
      expect([code, out]).toEqual([1, '']);
      expect(err).toMatch(/^[^\n]*invoice-1[^\n]*\n$/);
    }
    expect((await enter('top-up', '20.00')).code).toBe(0);
    expect((await json('org', 'show', payer))[0]).toMatchObject({ credits: 20, lifetime_paid: 20 });
  });
  test('shows an amount as it was entered, to the micro-dollar', async () => {
    const [made] = await json('org', 'create', '--name', 'Exact');
    const exact = String(made?.organization_id);
    const pay = (amount: string, reference: string) =>
      json('billing', 'top-up', exact, '--amount', amount, '--reference', reference);
    expect((await pay('20.005', 'r1'))[0]).toMatchObject({ credits: 20.005, lifetime_paid: 20.005 });
    expect((await pay('20.005', 'r2'))[0]).toMatchObject({ credits: 40.01 });
    expect((await pay('0.000001', 'r3'))[0]).toMatchObject({ credits: 40.010001 });
    const asked = await weir(['billing', 'refund', exact, '--amount', '41', '--reference', 'r4']);
    expect(asked).toMatchObject({ code: 1, err: expect.stringContaining('$41.00 is more than what was paid in all') });
    const refund = await json('billing', 'refund', exact, '--amount', '41', '--reference', 'r4', '--yes');
    expect(refund[0]).toMatchObject({ credits: -0.989999 });
  });
  test.each([
    [['--end', '--plan', 'Growth']],
    [['--end', '--amount', '5']],
    [['--plan', 'Growth']],
    [['--amount', '5']],
    [[]],
  ])('does not guess what a subscription with %j is', async (options) => {
    const { code, out, err } = await weir(['billing', 'subscription', id, ...options, '--reference', 'unclear']);
    expect([code, out]).toEqual([64, '']);
    expect(err).toMatch(/--plan[^\n]+--amount[^\n]+--end/);
  });
  test.each(['0', '-5', '1e3', 'twenty', '1.0000001', '', '1234567890'])('refuses the amount “%s”', async (amount) => {
    const { code, err } = await weir(['billing', 'top-up', id, `--amount=${amount}`, '--reference', 'bad']);
    expect(code).toBe(64);
    expect(err).toMatch(/^[^\n]+\n$/);
  });
  test('knows the plans', async () => {
    const { code, err } = await weir([
      'billing',
      'subscription',
      id,
      '--plan',
      'Gold',
      '--amount',
      '1',
      '--reference',
      'x',
    ]);
    expect(code).toBe(64);
    expect(err).toContain('Developer, Growth or Scale');
  });
});

describe('weir admin-key bootstrap', () => {
  test('makes a key for who has none, once it is sure', async () => {
    expect((await weir(['admin-key', 'bootstrap', id])).code).toBe(1);
    const [made] = await json('admin-key', 'bootstrap', id, '--yes');
    expect(tokenKind(String(made?.admin_api_key))).toBe('a');
    const [created] = (await json('audit', 'history', String(made?.admin_api_key_id))) as [{ data: { name: string } }];
    expect(created.data.name).toBe('Bootstrap key');
  });
});

describe('weir model', () => {
  test('lists the built-in models, and checks a file naming every fault', async () => {
    expect((await json('model', 'list')).map((model) => model.id)).toEqual(['weir-sim-1', 'weir-sim-thinking-1']);
    const file = join(bench.dir, 'models.json');
    writeFileSync(file, JSON.stringify({ models: [{ id: '', context_length: 'x', upstream: { kind: 'none' } }] }));
    const { code, err } = await weir(['model', 'check', file]);
    expect(code).toBe(1);
    for (const place of ['models.0.id', 'models.0.context_length', 'models.0.upstream']) {
      expect(err.replaceAll('[', '.').replaceAll(']', '')).toContain(place);
    }
    expect(await weir(['model', 'check', join(bench.dir, 'nowhere.json')])).toMatchObject({ code: 1 });
  });
});

test('the files of a stopped server will do as well', async () => {
  const idle = workbench();
  const [made] = await idle.json('org', 'create', '--new-store', '--name', 'Alone');
  expect(await idle.json('org', 'list')).toMatchObject([{ id: made?.organization_id, name: 'Alone' }]);
  idle.clean();
});
