import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { policyDecisions } from '../../projections/policy-decisions.ts';
import { usage, usagePrefix } from '../../projections/usage.ts';
import { sweepRows } from '../../src/app/sweep-rows.ts';
import { dayMs, hourMs } from '../../src/clock.ts';
import { passing, rowSweep } from '../../src/kernel/rows/row-sweep.ts';
import { type Changes, type RowReader, type Table, table } from '../../src/kernel/rows/rows.ts';

interface Dated {
  readonly until: number;
}

/** Tables in memory. */
const tables = (names: readonly string[]) => {
  const all = new Map(names.map((name) => [name, new Map<string, object>()]));
  let reads = 0;
  const range = ((from: Table<object>, { after, limit }: { readonly after?: string; readonly limit: number }) => {
    reads += 1;
    return [...all.get(from.name)!]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .filter(([key]) => after === undefined || key > after)
      .slice(0, limit)
      .map(([key, row]) => ({ key, row }));
  }) as RowReader['range'];
  const write = async (changes: Changes): Promise<void> => {
    for (const [name, changed] of changes) for (const key of changed.keys()) all.get(name)!.delete(key);
  };
  return { all, range, write, reads: () => reads };
};

describe('a round', () => {
  test('removes what is over, of every table, and nothing else', async () => {
    const sizes = fc.constantFrom<number>(0, 1, 1999, 2000, 2001, 4000);
    await fc.assert(
      fc.asyncProperty(fc.array(sizes, { minLength: 1, maxLength: 3 }), fc.nat(9), async (counts, now) => {
        const names = counts.map((_, index) => `t${index}`);
        const rows = tables(names);
        for (const [index, count] of counts.entries()) {
          const of = rows.all.get(`t${index}`)!;
          for (let each = 0; each < count; each++) of.set(String(each).padStart(5, '0'), { until: each % 10 });
        }
        const those = names.map((name) => passing(table<Dated>(name), (_, { until }, at) => until <= at));
        const sweep = rowSweep(rows, those, rows.write);
        let steps = 1;
        while (!(await sweep(now))) steps += 1;
        // A step looks at 2,000 rows, and one more finds that there are none left.
        expect(steps).toBe(counts.reduce((sum, count) => sum + Math.floor(count / 2000) + 1, 0));
        for (const of of rows.all.values()) {
          for (const row of of.values()) expect((row as Dated).until).toBeGreaterThan(now);
        }
        const left = counts.map(
          (count) => Array.from({ length: count }, (_, at) => at % 10).filter((at) => at > now).length,
        );
        expect([...rows.all.values()].map(({ size }) => size)).toEqual(left);
      }),
      { numRuns: 20 },
    );
  });

  test('without any such table is over at once', async () => {
    expect(await rowSweep(tables([]), [], async () => {})(0)).toBe(true);
  });
});

describe('how long rows stay', () => {
  const isOver = (from: string, key: string, row: object, now: number): boolean =>
    [...usage.passing!, ...policyDecisions.passing!]
      .find(({ table: { name } }) => name === from)!
      .isOver(key, row, now);
  test.each([
    ['usage-days', dayMs],
    ['usage-hours', hourMs],
  ])('%s: 400 days from the end of theirs', (name, unit) => {
    const key = `${usagePrefix('org_1', 7)}proj_1:key_1:m`;
    const end = 8 * unit + 400 * dayMs;
    expect([isOver(name, key, {}, end - 1), isOver(name, key, {}, end)]).toEqual([false, true]);
  });
  test('decisions: 30 days', () => {
    const at = (now: number) => isOver('policy-decisions', 'pol_1:pdec_1', { createdAt: 5 }, now);
    expect([at(30 * dayMs + 4), at(30 * dayMs + 5)]).toEqual([false, true]);
  });
});

test('there is a round after the start and one a day, and a step that fails is made again', async () => {
  vi.useFakeTimers({ now: 0 });
  const results: (boolean | Error)[] = [false, new Error('no room'), true, true];
  const swept: number[] = [];
  const models = {
    sweep: async (now: number) => {
      swept.push(now);
      const result = results.shift()!;
      if (result instanceof Error) throw result;
      return result;
    },
  };
  const end = sweepRows(models, { wall: () => Date.now() });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(swept).toEqual([10_000, 20_000, 30_000]);
  await vi.advanceTimersByTimeAsync(dayMs);
  expect(swept).toEqual([10_000, 20_000, 30_000, dayMs + 10_000]);
  await end();
  vi.useRealTimers();
});
