// Lane: middle: it runs at length
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test, vi } from 'vitest';
import {
  addUse,
  areTotalsBuilt,
  noUse,
  totalsBegin,
  usage,
  usageDays,
  usageHours,
  usageTotals,
} from '../../projections/usage.ts';
import { usageBuckets } from '../../src/admin/usage/usage-buckets.ts';
import { untoldOf } from '../../src/app/funds.ts';
import { dayMs, minuteMs } from '../../src/clock.ts';
import { intervals, periodAt, spentIn } from '../../src/domain/usage/period.ts';
import {
  type Settlement,
  totalStream,
  usageSettled,
  usageStream,
  usageTotalled,
} from '../../src/domain/usage/usage-events.ts';
import { applyBatch } from '../../src/kernel/projections/apply-batch.ts';
import { openReadModels, type ReadModels } from '../../src/kernel/projections/projection.ts';
import { totalsTeller } from '../../src/usage/totals.ts';
import { event } from '../support/events.ts';
import { fixedClock } from '../support/fixed-clock.ts';
import { type MemoryStore, memoryStore } from '../support/memory-store.ts';
import { settlement } from '../usage/some-request.ts';

const root = mkdtempSync(join(tmpdir(), 'weir-usage-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const noon = Date.UTC(2026, 10, 20, 12);
const organizations = ['org_1', 'org_2'];
const keys = ['key_1', 'key_2'];
const request = fc.record({
  organization_id: fc.constantFrom(...organizations),
  key_id: fc.constantFrom(...keys),
  model: fc.constantFrom('m', 'models/ü'),
  input_tokens: fc.nat(9),
  output_tokens: fc.nat(9),
  cache_read_input_tokens: fc.nat(9),
  micro_dollars: fc.nat(9),
  // Of some minutes, hours and days, not in order.
  settled_at: fc.constantFrom(0, 1, 59, 60, 61, 800, 1_500).map((minutes) => noon + minutes * minuteMs),
});

const open = (store: MemoryStore, dir: string): Promise<ReadModels> =>
  openReadModels({
    dir,
    store,
    logId: 'log-1',
    projections: [usage],
    ours: (batch) => batch,
  });

const summed = (all: readonly Partial<Settlement>[]) =>
  all.reduce<typeof noUse>(
    (sum, each) =>
      addUse(sum, {
        requests: 1,
        input: each.input_tokens ?? 0,
        output: each.output_tokens ?? 0,
        cacheCreation: 0,
        cacheRead: each.cache_read_input_tokens ?? 0,
        microDollars: each.micro_dollars ?? 0,
      }),
    noUse,
  );

const byMinute = { from: noon, width: '1m', count: 2 * 24 * 60, groupBy: ['api_key_id', 'model'] } as const;
const byDay = { from: noon - (noon % dayMs), width: '1d', count: 3, groupBy: ['api_key_id', 'model'] } as const;

/** What a report says, without what is empty. */
const reported = async (models: ReadModels, organizationId: string, wanted: typeof byMinute | typeof byDay) =>
  (await usageBuckets(models, { ...wanted, organizationId, now: noon })).flatMap(({ from, groups }) =>
    groups.map(({ api_key_id, model, sum }) => [`${from} ${api_key_id} ${model}`, sum] as const),
  );

const expected = (all: readonly Settlement[], organizationId: string, unit: number) => {
  const groups = new Map<string, Settlement[]>();
  for (const each of all) {
    if (each.organization_id !== organizationId) continue;
    const name = `${Math.floor(each.settled_at / unit) * unit} ${each.key_id} ${each.model}`;
    groups.set(name, [...(groups.get(name) ?? []), each]);
  }
  return [...groups].map(([name, some]) => [name, summed(some)] as const);
};

const sorted = <T>(all: readonly (readonly [string, T])[]) => [...all].sort(([a], [b]) => (a < b ? -1 : 1));

test('sums are those of the log, to the last request, also after a crash between any two writes', async () => {
  let dirs = 0;
  const events = fc.array(
    fc.tuple(
      fc.array(request, { minLength: 1, maxLength: 6 }),
      fc.constantFrom('goes on', 'writes', 'crashes', 'tells'),
    ),
    { minLength: 1, maxLength: 8 },
  );
  await fc.assert(
    fc.asyncProperty(events, async (steps) => {
      const store = memoryStore();
      const clock = fixedClock(noon);
      let dir = join(root, String(dirs++));
      let models = await open(store, dir);
      let end: number | 'no_stream' = 'no_stream';
      const all: Settlement[] = [];
      for (const [n, [requests, then]] of steps.entries()) {
        const rows = requests.map((each, i) => settlement(`${n}.${i}`, each));
        all.push(...rows);
        const stored = { ...event(0), type: 'usage.settled', data: { ...usageSettled(rows) } };
        const { position, revision } = await store.append(usageStream(noon), [stored], end);
        end = revision;
        expect(await models.reached(position, 5_000)).toBe(true);
        if (then === 'writes') await models.written(usage.tables);
        if (then === 'tells') {
          clock.at += dayMs;
          await totalsTeller({ store, untold: () => untoldOf(models), clock })();
          expect(await models.reached(store.log.at(-1)!.position, 5_000)).toBe(true);
        }
        if (then !== 'crashes') continue;
        const before = dir;
        dir = join(root, String(dirs++));
        // All that the next one finds is what was in the file.
        cpSync(before, dir, { recursive: true });
        await models.close();
        models = await open(store, dir);
      }
      for (const id of [...organizations, ...keys, 'proj_1']) {
        const own = all.filter((each) => [each.organization_id, each.project_id, each.key_id].includes(id));
        const { sum, spent } = models.get(usageTotals, id) ?? { sum: noUse, spent: undefined };
        expect(sum).toEqual(summed(own));
        for (const interval of intervals) {
          const periods = own.map(({ settled_at }) => periodAt(interval, settled_at));
          const newest = Math.max(0, ...periods);
          const amount = summed(own.filter((_, i) => periods[i] === newest)).microDollars;
          expect(spent === undefined ? 0 : spentIn(spent[interval], newest)).toBe(amount);
        }
      }
      for (const id of organizations) {
        expect(sorted(await reported(models, id, byMinute))).toEqual(sorted(expected(all, id, minuteMs)));
        expect(sorted(await reported(models, id, byDay))).toEqual(sorted(expected(all, id, dayMs)));
      }
      await models.close();
    }),
    { numRuns: 30 },
  );
});

test('an event that some rows have met counts in the others alone', async () => {
  const first = settlement('a', { key_id: 'key_1' });
  const twice = [settlement('b', { key_id: 'key_1' }), settlement('c', { key_id: 'key_2', settled_at: noon + dayMs })];
  const store = memoryStore();
  const models = await open(store, join(root, 'met'));
  for (const [n, rows] of [[first], twice].entries()) {
    const stored = { ...event(0), type: 'usage.settled', data: { ...usageSettled(rows) } };
    await store.append(usageStream(noon), [stored], n === 0 ? 'no_stream' : 0);
  }
  expect(await models.reached(store.log[1]!.position, 5_000)).toBe(true);
  const again = applyBatch(usage, store.log, models);
  expect(again.changes.size).toBe(0);
  // Without the row of one key, as a crash leaves it whose slice was not written.
  const lacking = applyBatch(usage, store.log, {
    get: (from, key) => (key.includes('key_2') ? undefined : models.get(from, key)),
  });
  const changed = [...lacking.changes.values()].flatMap((rows) => [...rows]);
  expect(changed.map(([key]) => key.includes('key_2'))).toEqual([true, true, true]);
  for (const [key, row] of changed) {
    const known = models.get(usageDays, key) ?? models.get(usageHours, key) ?? models.get(usageTotals, key);
    expect(row).toEqual(known);
  }
  await models.close();
});

test('totals that were told are not met twice', async () => {
  const store = memoryStore();
  const clock = fixedClock(noon);
  const models = await open(store, join(root, 'told'));
  const tell = totalsTeller({ store, untold: () => untoldOf(models), clock });
  for (const n of [0, 1, 2]) {
    const stored = { ...event(0), type: 'usage.settled', data: { ...usageSettled([settlement(`${n}`)]) } };
    await store.append(usageStream(noon), [stored], n === 0 ? 'no_stream' : n - 1);
    expect(await models.reached(store.log.at(-1)!.position, 5_000)).toBe(true);
    clock.at += dayMs;
    await tell();
    expect(await models.reached(store.log.at(-1)!.position, 5_000)).toBe(true);
  }
  expect(store.log).toHaveLength(6);
  const again = applyBatch(usage, store.log, models);
  expect(again.changes.size).toBe(0);
  await models.close();
});

test.each([
  ['at their creation while the log has no totals, or if the first one names some', true],
  ['400 days before a total first names some, where earlier ones are of organizations alone', false],
])('sums of projects and keys begin %s', async (_, areComplete) => {
  const store = memoryStore();
  const models = await open(store, join(root, `begin ${areComplete}`));
  const begin = (now: number) => (totalsBegin(models, now) - noon) / dayMs + 400;
  const tell = async (day: number, ...ids: readonly string[]) => {
    const data = { ...usageTotalled(ids.map((id) => ({ id, sum: noUse }))) };
    const { metadata, ...told } = { ...event(day), type: 'usage.totalled', data };
    const at = noon + day * dayMs;
    const before = store.log.length === 0 ? 'no_stream' : store.log.length - 1;
    const { position } = await store.append(totalStream, [{ ...told, metadata: { ...metadata, at } }], before);
    expect(await models.reached(position, 5_000)).toBe(true);
  };
  const isAtCreation = (now: number) => totalsBegin(models, now) === 0;
  expect([isAtCreation(noon + dayMs), areTotalsBuilt(models)]).toEqual([true, false]);
  if (!areComplete) {
    await tell(2, 'org_1');
    expect([begin(noon + 3 * dayMs), areTotalsBuilt(models)]).toEqual([3, true]);
  }
  await tell(4, 'org_1', 'key_1');
  await tell(5, 'org_1', 'proj_1');
  if (areComplete) expect(isAtCreation(noon + 900 * dayMs)).toBe(true);
  else expect(begin(noon + 900 * dayMs)).toBe(4);
  expect(areTotalsBuilt(models)).toBe(false);
  await models.close();
});

test('rows come into the file by themselves, where nothing more happens', async () => {
  const store = memoryStore();
  const models = await open(store, join(root, 'quiet'));
  const stored = { ...event(0), type: 'usage.settled', data: { ...usageSettled([settlement('a', {})]) } };
  await store.append(usageStream(noon), [stored], 'no_stream');
  const inFile = () => usage.tables.map((table) => models.range(table, { prefix: '', limit: 10 }).length);
  await vi.waitFor(() => expect(inFile()).toEqual([1, 1, 3, 0]), 10_000);
  await models.close();
});
