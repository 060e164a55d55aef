import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { existingEventLog } from '../../src/app/log/event-log.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Meter, Opening } from '../../src/data/account/meter.ts';
import { priceOf } from '../../src/domain/usage/charge.ts';
import { newId, timeOfId } from '../../src/ids.ts';
import { declarePrices } from '../../src/usage/prices.ts';
import { type OpenUsage, openUsage } from '../../src/usage/usage.ts';
import { free, noFunds } from '../support/accounts.ts';
import { workbench } from './run.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const bench = workbench();
afterAll(bench.clean);

const price = priceOf('m', { ...free, prompt: '0.000003', completion: '0.000015' });
const twice = priceOf('m', { ...free, prompt: '0.000006', completion: '0.000015' });
const dearer = priceOf('m', { ...free, prompt: '0.000009', completion: '0.000015' });
const usage = { input_tokens: 1_000, output_tokens: 200, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
const requestId = newId('req', systemClock);
const false_ = newId('req', systemClock);
/** Not of the same time as those that a ledger names. */
const later = newId('req', { ...systemClock, wall: () => systemClock.wall() + 60_000 });
/** At prices of its own; and one whose service tier has none. */
const searched = newId('req', systemClock);
const unpriced = newId('req', systemClock);
let org: string;

beforeAll(async () => {
  const [made] = await bench.json('org', 'create', '--new-store', '--name', 'Acme');
  org = String(made!.organization_id);
  const log = await existingEventLog(readConfig(bench.env));
  const clock = systemClock;
  await declarePrices(log.store, [price], { actor: { type: 'operator', id: 'jo' } }, clock);
  const book = await openUsage({
    dir: join(bench.dir, 'journal'),
    store: log.store,
    prices: [price],
    funds: noFunds,
    clock,
  });
  const bounds = { estimatedTokens: 1, maxTokens: 1, longest: 1, images: 0, searches: 0 };
  const who = { organizationId: org, projectId: 'proj_1', keyId: 'key_1', line: 'key_1' };
  const of = { ...who, ...bounds, model: 'm', api: 'messages' } as const;
  const begun = (accounts: OpenUsage, asked: Opening): Meter => accounts.begin(asked) as Meter;
  begun(book, { ...of, requestId }).complete(usage, 0);
  await book.close();
  // An account that somebody has got wrong.
  const other = await openUsage({
    dir: join(bench.dir, 'other'),
    store: log.store,
    prices: [{ ...price, standard: twice.standard }],
    funds: noFunds,
    clock,
  });
  begun(other, { ...of, requestId: false_ }).complete(usage, 0);
  await other.close();
  // From now on the model costs something else.
  await declarePrices(log.store, [dearer], { actor: { type: 'operator', id: 'jo' } }, clock);
  const third = await openUsage({
    dir: join(bench.dir, 'third'),
    store: log.store,
    prices: [dearer],
    funds: noFunds,
    clock,
  });
  begun(third, { ...of, requestId: later }).complete(usage, 0);
  await third.close();
  const further = priceOf('s', {
    ...free,
    prompt: '0.000003',
    service_tiers: { flex: { ...free, prompt: '0.000001', web_search: '0.01' } },
  });
  await declarePrices(log.store, [further], { actor: { type: 'operator', id: 'jo' } }, clock);
  const fourth = await openUsage({
    dir: join(bench.dir, 'fourth'),
    store: log.store,
    prices: [further],
    funds: noFunds,
    clock,
  });
  const some = { ...of, organizationId: 'org_other', model: 's', searches: 9 };
  const served = (service_tier: string) => ({
    ...usage,
    reasoning_tokens: 70,
    details: { service_tier, web_search: 2 },
  });
  begun(fourth, { ...some, requestId: searched }).complete(served('flex'), 0);
  begun(fourth, { ...some, requestId: unpriced }).complete(served('priority'), 0);
  await fourth.close();
  await log.close();
});

describe('weir usage', () => {
  test('is what an organization has left less', async () => {
    await bench.json('billing', 'grant', org, '--amount', '1', '--reference', 'welcome');
    expect(await bench.json('org', 'show', org)).toMatchObject([{ credits: 1, balance: 0.973 }]);
  });

  test('shows what was used and what it cost', async () => {
    const rows = await bench.json('usage', org, '--by', 'model');
    const [{ start_time: from, end_time: end, ...row }] = rows as [Record<string, number>];
    expect(end! - from!).toBe(86_400);
    expect(row).toEqual({
      model: 'm',
      cost: 0.027,
      num_model_requests: 3,
      input_tokens: 3_000,
      output_tokens: 600,
      input_uncached_tokens: 3_000,
      input_cached_tokens: 0,
      input_cache_write_tokens: 0,
    });
    const { out } = await bench.weir(['usage', org, '--width', '1h', '--from', new Date().toISOString()]);
    expect(out).toContain('$0.027');
    expect(await bench.weir(['usage', org, '--to', '2020-01-01T00:00:00Z'])).toEqual({
      code: 0,
      out: '',
      err: 'Nothing to show.\n',
    });
  });

  test('takes a date for its first moment in UTC', async () => {
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    expect(await bench.json('usage', org, '--from', day(-1), '--to', day(2))).toMatchObject([
      { num_model_requests: 3 },
    ]);
    expect(await bench.json('usage', org, '--from', day(-9), '--to', day(-1))).toEqual([]);
  });

  test.each([80, 60])('fits a terminal of %i columns, whatever it is told apart by', async (columns) => {
    const by = ['model', 'project_id', 'api_key_id'].flatMap((field) => ['--by', field]);
    const { code, out } = await bench.weir(['usage', org, ...by], undefined, undefined, columns);
    expect(code).toBe(0);
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns);
    expect(out).toContain('$0.027');
  });

  test.each([
    [['usage', 'org_none'], 1, /org_none/],
    [['usage', 'ORG', '--width', '1w'], 64, /Give one of 1m, 1h, 1d/],
    [['usage', 'ORG', '--from', 'yesterday'], 64, /a time with its zone/],
    [
      ['usage', 'ORG', '--from', '2026-01-02T00:00:00Z', '--to', '2026-01-01T00:00:00Z'],
      64,
      /--to must be after --from/,
    ],
    [['usage', 'ORG', '--width', '1m', '--from', '2020-01-01T00:00:00Z'], 64, /are the most/],
    [['usage', 'reconcile'], 64, /--ledger/],
    [['usage', 'reconcile', '--ledger', '/nowhere'], 1, /cannot be read: it is not there/],
  ] as const)('%j is refused', async (argv, code, complaint) => {
    const refused = await bench.weir(argv.map((each) => (each === 'ORG' ? org : each)));
    expect([refused.code, refused.err]).toEqual([code, expect.stringMatching(complaint)]);
  });
});

describe('weir usage reconcile', () => {
  const compare = (text: string, ...more: string[]) => {
    const file = join(bench.dir, 'ledger');
    writeFileSync(file, text);
    return bench.weir(['usage', 'reconcile', '--ledger', file, '--jsonl', ...more]);
  };
  const names = 'request_id,input_tokens,output_tokens,region';

  test('takes CSV and NDJSON, and is content where they agree', async () => {
    const csv = await compare(`${names}\n"${requestId}",1000,200,eu\n${false_},1000,,\n`);
    expect([csv.code, csv.out]).toEqual([0, '']);
    expect(csv.err).toContain('2 requests in the ledger: 2 are equal, 0 differ');
    const lines = [requestId, false_].map((request_id) => JSON.stringify({ request_id, input_tokens: 1000 }));
    expect((await compare(lines.join('\n'))).code).toBe(0);
  });

  test('says which differ, and ends with 3', async () => {
    const differs = await compare(
      `${names}\n${requestId},1000,201,\n`,
      '--to',
      new Date(timeOfId(false_)! + 1).toISOString(),
    );
    expect(differs.code).toBe(3);
    expect(
      differs.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([
      { request_id: requestId, kind: 'tokens', ours: 'output_tokens 200', theirs: 'output_tokens 201' },
      expect.objectContaining({ request_id: false_, kind: 'unknown' }),
    ]);
  });

  test.each([
    ['{"request_id":"a","input_tokens":-1}', /Line 1 of .* is no line of a ledger: input_tokens/],
    [`${names}\n${requestId},many,1,\n`, /Line 2 of /],
    ['{"request_id":', /Line 1 of /],
    ['id,tokens\nx,1\n', /Line 2 of .*request_id/],
    ['', /names no request of this gateway/],
  ])('refuses %j', async (text, complaint) => {
    const refused = await compare(text);
    expect([refused.code, refused.err]).toEqual([1, expect.stringMatching(complaint)]);
  });
});

describe('weir audit charge', () => {
  test('works out what a request cost, line by line', async () => {
    const { code, out } = await bench.weir(['audit', 'charge', requestId]);
    expect(code).toBe(0);
    expect(out).toMatch(/prompt +1000 +0\.000003 +\$0\.003/);
    expect(out).toMatch(/completion +200 +0\.000015 +\$0\.003/);
    expect(out).toContain(`$0.006, at ${price.id}, declared`);
  });

  test('works it out by the price of then, also when the model costs something else', async () => {
    const charges = [requestId, later].map((id) => bench.json('audit', 'charge', id));
    expect((await Promise.all(charges)).map(([charge]) => charge)).toMatchObject([
      { micro_dollars: 6_000, declared: { price: price.id, pricing: { prompt: '0.000003' } } },
      { micro_dollars: 12_000, declared: { price: dearer.id, pricing: { prompt: '0.000009' } } },
    ]);
    const { code, out } = await bench.weir(['audit', 'charge', requestId]);
    expect([code, out]).toEqual([0, expect.stringMatching(/prompt +1000 +0\.000003 +\$0\.003/)]);
  });

  test('says which prices it went by where there are several', async () => {
    const { code, out } = await bench.weir(['audit', 'charge', searched]);
    expect([code, out]).toEqual([0, expect.stringMatching(/prompt +1000 +0\.000001 +\$0\.001/)]);
    expect(out).toMatch(/REASONING TOKENS +70\n/);
    expect(out).toMatch(/SERVICE TIER +flex\n/);
    expect(out).toMatch(/web_search +2 +0\.01 +\$0\.02/);
    expect(out).toContain('charged: $0.021\n');
    const usual = await bench.weir(['audit', 'charge', unpriced]);
    expect([usual.code, usual.out]).toEqual([0, expect.stringMatching(/prompt +1000 +0\.000003 +\$0\.003/)]);
    expect(usual.out).toMatch(/SERVICE TIER +priority, which has no prices\n/);
    const [json] = await bench.json('audit', 'charge', searched);
    expect(json).toMatchObject({
      micro_dollars: 21_000,
      settlement: { details: { service_tier: 'flex' }, reasoning_tokens: 70 },
    });
  });

  test('notices an account that is not the sum', async () => {
    const { code, err } = await bench.weir(['audit', 'charge', false_]);
    expect([code, err]).toEqual([1, `The account of ${false_} says $0.009, which is not the sum.\n`]);
  });

  test.each([
    ['key_01jd7m3q8v5x2k9t4w6y0z1abc', 64, /not the id of a request/],
    ['req_01jd7m3q8v5x2k9t4w6y0z1abc', 1, /No account of req_/],
  ])('of %s is refused', async (id, code, complaint) => {
    const refused = await bench.weir(['audit', 'charge', id]);
    expect([refused.code, refused.err]).toEqual([code, expect.stringMatching(complaint)]);
  });
});
