// Lane: rest: a torture of the gateway as a process
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { newId } from '../../src/ids.ts';
import type { Difference } from '../../src/usage/reconcile.ts';
import type { Billed } from '../support/ledger-upstream.ts';
import { seed } from '../support/seed.ts';
import { seeded } from '../torture/random.ts';
import { weirHere } from './here.ts';
import { costOf, type UsageReport, usageUnderKills } from './usage-kills.ts';

const requests = Number(process.env.USAGE_REQUESTS ?? 1_500);
// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000 + requests * 60, hookTimeout: 120_000 + requests * 60 });

let report: UsageReport;
let settlements: Awaited<ReturnType<UsageReport['settlements']>>;
/** What the gateway itself says, in micro-dollars and requests, before it is stopped. */
let told: { readonly costs: number; readonly requests: number; readonly balance: number };

beforeAll(async () => {
  const kills = Math.max(3, Math.floor(requests / 1_000));
  report = await usageUnderKills({ requests, kills, random: seeded(seed).next });
  const { baseUrl, first } = report.server;
  const get = async (path: string, key: string) => {
    const response = await fetch(`${baseUrl}/v1/${path}`, { headers: { authorization: `Bearer ${key}` } });
    // biome-ignore lint/suspicious/noExplicitAny: answers of every shape.
    return (await response.json()) as any;
  };
  const since = Math.floor(Date.now() / 1000) - 86_400;
  const look = async () => {
    const [costs, usage, credits] = [
      await get(`organization/costs?start_time=${since}`, first.admin_api_key),
      await get(`organization/usage?start_time=${since}`, first.admin_api_key),
      await get('credits', first.project_api_key),
    ];
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    const sum = (page: any, of: (result: any) => number): number =>
      // biome-ignore lint/suspicious/noExplicitAny: as above.
      page.data.flatMap((bucket: any) => bucket.results).reduce((all: number, each: any) => all + of(each), 0);
    return {
      costs: sum(costs, ({ amount }) => Math.round(amount.value * 1_000_000)),
      requests: sum(usage, ({ num_model_requests }) => num_model_requests),
      balance: Math.round(credits.data.total_usage * 1_000_000),
    };
  };
  // The last of the journal reaches the log within a second or two.
  await vi.waitFor(
    async () => {
      told = await look();
      const known = await report.settlements();
      const ids = new Set(known.map((each) => each.request_id));
      expect(report.upstream.ledger.filter((each) => !ids.has(each.request_id))).toEqual([]);
      // The answers are of one moment only where nothing comes between them.
      expect([told.requests, told.costs]).toEqual([ids.size, known.reduce((sum, each) => sum + each.micro_dollars, 0)]);
    },
    { timeout: 30_000, interval: 500 },
  );
  await report.server.stop();
  settlements = await report.settlements();
});
afterAll(() => report?.upstream.close());

describe(`accounts of ${requests} requests, with a gateway that is killed, seed ${seed}`, () => {
  test('there is one for each request that the upstream knows of', () => {
    expect(report.upstream.ledger.length).toBeGreaterThan(requests / 2);
    const counts = new Map<string, number>();
    for (const { request_id } of settlements) counts.set(request_id, (counts.get(request_id) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count !== 1)).toEqual([]);
    expect(report.upstream.ledger.filter(({ request_id }) => !counts.has(request_id))).toEqual([]);
  });

  test('every answer that a client has whole is counted as the upstream has counted it', () => {
    const byId = new Map(settlements.map((each) => [each.request_id, each]));
    expect(report.complete.size).toBeGreaterThan(requests / 3);
    const finished = new Map(
      report.upstream.ledger.filter((each) => each.finished).map((each) => [each.request_id, each]),
    );
    for (const id of report.complete) {
      const { finished: _, ...billed } = finished.get(id)!;
      expect(byId.get(id)).toMatchObject({ ...billed, usage_source: 'final', status: 200 });
    }
  });

  test('what was not finished says so, and has the input that the upstream has told of', () => {
    const partial = settlements.filter(({ usage_source }) => usage_source === 'partial');
    expect(partial.length).toBeGreaterThan(0);
    const billed = new Map(report.upstream.ledger.map((each) => [each.request_id, each]));
    for (const each of partial) expect(each.input_tokens).toBe(billed.get(each.request_id)!.input_tokens);
    expect(settlements.filter(({ usage_source }) => usage_source === 'final').length).toBeGreaterThanOrEqual(
      report.complete.size,
    );
    expect(settlements.filter(({ status }) => status === 500).every((each) => each.usage_source === 'estimated')).toBe(
      true,
    );
  });

  test('money is equal to the micro-dollar: each charge, the costs, the balance', () => {
    for (const each of settlements) expect(each.micro_dollars).toBe(costOf(each));
    const total = settlements.reduce((sum, each) => sum + each.micro_dollars, 0);
    expect(told).toEqual({ costs: total, requests: settlements.length, balance: total });
    expect(total).toBeGreaterThan(0);
  });

  test('weir usage reconcile finds nothing but estimates, and names what has been changed in the ledger', async () => {
    const { ledgerFile, env } = report;
    const reconciled = async (ledger: string) => {
      const { code, stderr, stdout } = await weirHere(['usage', 'reconcile', '--ledger', ledger, '--jsonl'], env);
      const said: Pick<Difference, 'request_id' | 'kind'>[] = stdout
        .split('\n')
        .flatMap((line) => (line === '' ? [] : JSON.parse(line)));
      return { code, stderr, said, wrong: said.filter(({ kind }) => kind !== 'estimated' && kind !== 'repeated') };
    };
    const found = await reconciled(ledgerFile);
    expect([found.code, found.stderr]).toEqual([0, expect.stringContaining(' 0 differ')]);
    expect(found.said.map(({ kind }) => kind)).toContain('estimated');
    expect(found.wrong).toEqual([]);
    // One token more, one request less, one that nobody asked for. An answer that was lost on the way and asked for again
    // stands twice in the ledger: a change to one of the two is not told apart from that.
    const lines: Omit<Billed, 'finished'>[] = readFileSync(ledgerFile, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const times = new Map<string, number>();
    for (const { request_id } of lines) times.set(request_id, (times.get(request_id) ?? 0) + 1);
    const once = lines.filter(({ request_id: id }) => report.complete.has(id) && times.get(id) === 1);
    // Not the first: what is compared begins with the first request of the list.
    const [more, less] = once.slice(once.length / 2);
    more!.output_tokens += 1;
    const strange = { ...less, request_id: newId('req', systemClock) };
    const changed = `${ledgerFile}.changed`;
    const others = lines.filter((line) => line !== less);
    writeFileSync(changed, [strange, ...others].map((line) => `${JSON.stringify(line)}\n`).join(''));
    const named = await reconciled(changed);
    expect(named.code).toBe(3);
    const expected = [
      [more!.request_id, 'tokens'],
      [less!.request_id, 'unknown'],
      [strange.request_id, 'missing'],
    ];
    expect(named.wrong.map(({ request_id, kind }) => [request_id, kind]).toSorted()).toEqual(expected.toSorted());
  });

  test('weir audit charge works out what was charged', async () => {
    const some = [...report.complete][0]!;
    const { code, stdout } = await weirHere(['audit', 'charge', some, '--jsonl'], report.env);
    const { settlement, micro_dollars } = JSON.parse(stdout);
    expect([code, settlement.request_id, settlement.micro_dollars]).toEqual([0, some, micro_dollars]);
  });
});
