import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { policyDecisionRows, policyDecisions } from '../../projections/policy-decisions.ts';
import { lastTold, usage, usageDays, usageHours, usageTotals } from '../../projections/usage.ts';
import { untoldOf } from '../../src/app/funds.ts';
import { dayMs } from '../../src/clock.ts';
import { type Entry, lineOf } from '../../src/data/account/journal/entry.ts';
import { JournalFiles } from '../../src/data/account/journal/files.ts';
import { type Decision, decisionStream } from '../../src/domain/policy/decision-events.ts';
import { whose } from '../../src/domain/streams.ts';
import { usageStream } from '../../src/domain/usage/usage-events.ts';
import { connect } from '../../src/eventstoredb/connect.ts';
import { openReadModels, type ReadModels } from '../../src/kernel/projections/projection.ts';
import { oursOf } from '../../src/kernel/store/ownership.ts';
import { settlementsBetween } from '../../src/usage/settlements.ts';
import { shipment } from '../../src/usage/shipment.ts';
import { totalsTeller } from '../../src/usage/totals.ts';
import { fixedClock } from '../support/fixed-clock.ts';
import { settlement } from '../usage/some-request.ts';
import { openStore, until } from './store-under-test.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });

const root = mkdtempSync(join(tmpdir(), 'weir-retention-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test('the store removes accounts after 400 days and decisions after 30, and a balance that is built anew is what it was', async () => {
  // A store whose clock is ahead takes nothing from clients: this one is behind to the end.
  const begin = (Math.floor(Date.now() / dayMs) - 600.5) * dayMs;
  const clock = fixedClock(begin);
  const embedded = await openStore({ sweepEveryMs: 20, now: () => clock.at });
  const store = connect({ endpoint: embedded.endpoint });
  const open = (name: string) =>
    openReadModels({
      dir: join(root, name),
      store,
      logId: 'log',
      projections: [usage, policyDecisions],
      ours: oursOf(whose),
    });
  const models = await open('live');
  const tell = totalsTeller({ store, untold: () => untoldOf(models), clock });
  const dir = join(root, 'journal');
  mkdirSync(dir);
  const { ship } = shipment(new JournalFiles(dir), store, clock);
  let files = 0;
  const send = async (...entries: readonly Entry[]): Promise<void> => {
    files += 1;
    writeFileSync(join(dir, `${files}.open`), entries.map(lineOf).join(''));
    await ship(files);
  };
  const settled = (id: string, micro_dollars: number): Entry => ({
    kind: 'settled',
    settlement: settlement(id, { micro_dollars, settled_at: clock.at }),
  });
  const decision: Decision = {
    ...{ id: 'pdec_1', policy_id: 'pol_1', version: 1, direction: 'request', verdict: 'blocked' },
    ...{ organization_id: 'org', project_id: 'proj', key_id: 'key', request_id: 'req' },
    score_basis_points: 10_000,
    decided_at: begin,
  };
  const events = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const { stream } of store.readAll({ from: 'start', direction: 'forwards', limit: 1_000 }))
      found.push(stream);
    return found;
  };

  await send(settled('a', 7), settled('b', 100), { kind: 'decided', decision });
  for (let day = 0; day < 3; day++) {
    clock.at += dayMs;
    await send(settled(`day ${day}`, 1));
    await until(async () => models.get(usageTotals, 'org_1')?.sum.microDollars === 108 + day);
    await tell();
  }
  clock.at += dayMs;
  await until(async () => lastTold(models)?.revision === 2);
  await tell();
  expect(await events()).toEqual(expect.arrayContaining([usageStream(begin), decisionStream(begin)]));

  clock.at = begin + 31 * dayMs;
  await until(async () => !(await events()).includes(decisionStream(begin)));
  expect(await events()).toContain(usageStream(begin));

  clock.at = begin + 401 * dayMs;
  await send(settled('late', 1_000));
  await until(async () => !(await events()).includes(usageStream(begin)));
  const left: string[] = [];
  for await (const { request_id } of settlementsBetween(store, begin, clock.at)) left.push(request_id);
  expect(left).toEqual(['day 0', 'day 1', 'day 2', 'late']);

  clock.at = begin + 500 * dayMs;
  await until(async () => (await events()).filter((stream) => stream.startsWith('usage-')).length === 1);
  const rebuilt = await open('rebuilt');
  expect(rebuilt.range(policyDecisionRows, { prefix: '', limit: 9 })).toEqual([]);
  await until(async () => models.get(usageTotals, 'org_1')?.sum.microDollars === 1_110);
  expect(rebuilt.get(usageTotals, 'org_1')?.sum).toEqual(models.get(usageTotals, 'org_1')?.sum);
  const kept = [usageDays, usageHours, policyDecisionRows];
  const rowsOf = async (some: ReadModels) => {
    await some.written(kept);
    return kept.map((each) => some.range<object>(each, { prefix: '', limit: 99 }));
  };
  expect((await rowsOf(models)).map(({ length }) => length)).toEqual([5, 5, 1]);
  while (!(await models.sweep(clock.at)));
  expect(await rowsOf(models)).toEqual(await rowsOf(rebuilt));
  await Promise.all([models.close(), rebuilt.close()]);
  await store.close();
});
