import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addUse, noUse, usage, usageTotals } from '../../projections/usage.ts';
import { untoldOf } from '../../src/app/funds.ts';
import { dayMs } from '../../src/clock.ts';
import { whose } from '../../src/domain/streams.ts';
import {
  type Settlement,
  totalStream,
  totalsOf,
  usageSettled,
  usageStream,
  usageTotalled,
} from '../../src/domain/usage/usage-events.ts';
import type { ReadModels } from '../../src/kernel/projections/projection.ts';
import { totalsTeller } from '../../src/usage/totals.ts';
import { event } from '../support/events.ts';
import { fixedClock } from '../support/fixed-clock.ts';
import { memoryModels } from '../support/memory-models.ts';
import { type MemoryStore, memoryStore } from '../support/memory-store.ts';
import { settlement } from './some-request.ts';

const begin = Date.UTC(2026, 10, 20, 12);
const keptDays = 400;
const organizations = ['org_1', 'org_2', 'org_3'];
const [projects, keys] = [
  ['proj_1', 'proj_2'],
  ['key_1', 'key_2'],
];

/** A gateway as far as totals are concerned. */
const gateway = (store: MemoryStore, clock: ReturnType<typeof fixedClock>) => {
  const models = memoryModels(store, [usage]);
  return {
    models,
    tell: totalsTeller({ store, untold: () => untoldOf(models), clock }),
    until: async () => {
      const end = store.log.at(-1);
      if (end) await models.reached(end.position, 5_000);
    },
  };
};

const use = (store: MemoryStore, clock: { readonly at: number }, settlements: readonly Settlement[]): void => {
  const stored = { ...event(0), type: 'usage.settled', data: { ...usageSettled(settlements) } };
  stored.metadata = { ...stored.metadata, at: clock.at };
  store.plantAsIs(usageStream(clock.at), [stored]);
};

/** @param id of an organization, project or key */
const summed = (all: readonly Settlement[], id: string) =>
  all
    .filter((each) => [each.organization_id, each.project_id, each.key_id].includes(id))
    .reduce(
      (sum, each) =>
        addUse(sum, {
          requests: 1,
          input: each.input_tokens,
          output: each.output_tokens,
          cacheCreation: each.cache_creation_input_tokens,
          cacheRead: each.cache_read_input_tokens,
          microDollars: each.micro_dollars,
        }),
      noUse,
    );

/** What the store does in time: it removes what is older than 400 days. */
const expire = (store: MemoryStore, now: number): number => {
  const old = store.log.filter(
    ({ stream, metadata }) => stream.startsWith('usage-') && metadata.at < now - keptDays * dayMs,
  );
  for (const each of old) store.scavenge(each);
  return old.length;
};

const sums = ({ models }: { readonly models: Pick<ReadModels, 'get'> }, ids: readonly string[] = organizations) =>
  ids.map((id) => models.get(usageTotals, id)?.sum ?? noUse);

describe('totals', () => {
  const request = fc.record({
    organization_id: fc.constantFrom(...organizations),
    project_id: fc.constantFrom(...projects),
    key_id: fc.constantFrom(...keys),
    input_tokens: fc.nat(9),
    output_tokens: fc.nat(9),
    cache_creation_input_tokens: fc.nat(9),
    cache_read_input_tokens: fc.nat(9),
    micro_dollars: fc.nat(999),
  });
  const step = fc.record({
    requests: fc.array(request, { maxLength: 4 }),
    /** Days that pass then. */
    days: fc.constantFrom(0, 1, 2, 30, 401),
    /** Which of the gateways look, on the first of these days. */
    tells: fc.array(fc.array(fc.nat(1), { minLength: 1, maxLength: 3 }), { minLength: 3, maxLength: 3 }),
  });

  test('are the same after the accounts are gone, for who has seen them and for who has not', async () => {
    let removed = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
        const clock = fixedClock(begin);
        const store = memoryStore();
        const gateways = [gateway(store, clock), gateway(store, clock)];
        const all: Settlement[] = [];
        let n = 0;
        for (const { requests, days, tells } of steps) {
          const settlements = requests.map((each) => settlement(`r${n++}`, { ...each, settled_at: clock.at }));
          all.push(...settlements);
          if (settlements.length > 0) use(store, clock, settlements);
          for (const gateway of gateways) await gateway.until();
          // At least once a day while the gateways run, and then they are away.
          for (const [day, who] of tells.slice(0, days).entries()) {
            clock.at += dayMs;
            await Promise.all(who.map((each) => gateways[each]!.tell()));
            if (day > 0) for (const gateway of gateways) await gateway.until();
          }
          clock.at += Math.max(0, days - tells.length) * dayMs;
          removed += expire(store, clock.at);
          const rebuilt = gateway(store, clock);
          for (const each of [...gateways, rebuilt]) {
            await each.until();
            expect(sums(each)).toEqual(organizations.map((id) => summed(all, id)));
          }
        }
        await store.close();
      }),
      { numRuns: 200 },
    );
    expect(removed).toBeGreaterThan(100);
  });

  test('of projects and keys too, where some gateway runs within 30 days after 30 days', async () => {
    let removed = 0;
    const ids = [...organizations, ...projects, ...keys];
    const steps = fc.array(fc.tuple(fc.array(request, { maxLength: 4 }), fc.integer({ min: 1, max: 29 })), {
      minLength: 30,
      maxLength: 50,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const clock = fixedClock(begin);
        const store = memoryStore();
        const one = gateway(store, clock);
        const settled: Settlement[] = [];
        for (const [step, [requests, days]] of all.entries()) {
          const some = requests.map((each, i) => settlement(`r${step}.${i}`, { ...each, settled_at: clock.at }));
          settled.push(...some);
          if (some.length > 0) use(store, clock, some);
          await one.until();
          await one.tell();
          clock.at += days * dayMs;
          removed += expire(store, clock.at);
        }
        const rebuilt = gateway(store, clock);
        for (const each of [one, rebuilt]) {
          await each.until();
          expect(sums(each, ids)).toEqual(ids.map((id) => summed(settled, id)));
        }
        await store.close();
      }),
      { numRuns: 50 },
    );
    expect(removed).toBeGreaterThan(100);
  });

  /** What events say of organizations or others, in micro-dollars. */
  const told = (store: MemoryStore, kind = 'org_') =>
    store.log.flatMap(({ stream, data }) =>
      stream !== totalStream
        ? []
        : totalsOf(data).flatMap(({ id, sum }) => (id.startsWith(kind) ? [[id, sum.microDollars]] : [])),
    );

  test('of an organization are told once a day while there is something to tell, by one gateway', async () => {
    const clock = fixedClock(begin);
    const store = memoryStore();
    const [first, second] = [gateway(store, clock), gateway(store, clock)];
    const nextDay = async () => {
      clock.at += dayMs;
      for (const each of [first, second, first]) {
        await each.until();
        await each.tell();
      }
      await first.until();
    };
    await nextDay();
    expect(told(store)).toEqual([]);
    clock.at += dayMs;
    use(store, clock, [settlement('a', { organization_id: 'org_1', micro_dollars: 7 })]);
    await nextDay();
    expect(told(store)).toEqual([['org_1', 0]]);
    use(store, clock, [settlement('b', { organization_id: 'org_2', micro_dollars: 5 })]);
    await nextDay();
    await nextDay();
    await nextDay();
    expect(told(store)).toEqual([
      ['org_1', 0],
      ['org_1', 7],
      ['org_2', 0],
      ['org_2', 5],
    ]);
    expect(store.log.filter(({ stream }) => stream === totalStream).map(whose)).toEqual(['ours', 'ours', 'ours']);
    await store.close();
  });

  test('of a project and a key are told every 30 days while there is something to tell', async () => {
    const clock = fixedClock(begin);
    const store = memoryStore();
    const one = gateway(store, clock);
    const days: [number, unknown][] = [];
    for (let day = 0; day < 100; day++, clock.at += dayMs) {
      // The last use is on day 40.
      if (day <= 40) use(store, clock, [settlement(`r${day}`, { micro_dollars: 1 })]);
      await one.until();
      const before = told(store, 'key_').length;
      await one.tell();
      if (told(store, 'key_').length > before) days.push([day, told(store, 'key_').at(-1)]);
    }
    expect(days).toEqual([
      [0, ['key_1', 0]],
      [30, ['key_1', 1]],
      [60, ['key_1', 31]],
      [90, ['key_1', 41]],
    ]);
    expect(told(store, 'proj_').map(([, amount]) => amount)).toEqual([0, 1, 31, 41]);
    await store.close();
  });

  test('are told although a gateway with a clock of another year has told some', async () => {
    const clock = fixedClock(begin);
    const store = memoryStore();
    const wrong = gateway(store, fixedClock(begin + 1_000 * dayMs));
    const right = gateway(store, clock);
    use(store, clock, [settlement('a', { micro_dollars: 7 })]);
    for (const each of [wrong, right, wrong, right]) {
      await each.until();
      await each.tell();
    }
    expect(told(store)).toEqual([
      ['org_1', 0],
      ['org_1', 7],
    ]);
    await store.close();
  });

  test('of many organizations are several events, and appends that a store takes', async () => {
    const clock = fixedClock(begin);
    const appends: number[] = [];
    const store = memoryStore({
      fault(_, events) {
        appends.push(Buffer.byteLength(JSON.stringify(events)));
        return 'none';
      },
    });
    const one = gateway(store, clock);
    const many = Array.from({ length: 5_600 }, (_, i) =>
      settlement(`r${i}`, { organization_id: `org_${String(i).padStart(26, '0')}` }),
    );
    use(store, clock, many);
    await one.until();
    await one.tell();
    clock.at += dayMs;
    await one.until();
    await one.tell();
    expect(appends).toHaveLength(4);
    expect(Math.max(...appends)).toBeLessThan(1024 * 1024);
    expect(told(store).filter(([, amount]) => amount === 105)).toHaveLength(5_600);
    await store.close();
  });

  test('are told the next minute where the store was away, and once where its answer was lost', async () => {
    const clock = fixedClock(begin);
    const faults = ['lost', 'answer-lost'] as ('lost' | 'answer-lost')[];
    const store = memoryStore({ fault: () => faults.shift() ?? 'none' });
    const one = gateway(store, clock);
    use(store, clock, [settlement('a')]);
    await one.until();
    await expect(one.tell()).rejects.toThrow('lost');
    await expect(one.tell()).rejects.toThrow('lost');
    await one.until();
    await one.tell();
    expect(told(store)).toEqual([['org_1', 0]]);
    await store.close();
  });
});

test('nothing that somebody else tells of use gives an organization credit', async () => {
  const clock = fixedClock(begin);
  const store = memoryStore();
  const at = gateway(store, clock);
  use(store, clock, [settlement('r', { organization_id: 'org_1', micro_dollars: 700 })]);
  await at.until();
  const known = sums(at);
  use(store, clock, [settlement('r', { organization_id: 'org_1', micro_dollars: -600 })]);
  use(store, clock, [settlement('r', { organization_id: 'org_1', micro_dollars: Number.NaN })]);
  const data = { ...usageTotalled([{ id: 'org_1', sum: noUse }]) };
  store.plantAsIs(totalStream, [{ ...event(1), type: 'usage.totalled', data }]);
  store.plantAsIs(totalStream, [{ ...event(2), type: 'usage.totalled', data }]);
  await at.until();
  expect(sums(at)).toEqual(known);
});
