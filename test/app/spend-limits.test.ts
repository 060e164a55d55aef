import { describe, expect, test } from 'vitest';
import { organizationRows } from '../../projections/organizations.ts';
import { spendLines } from '../../projections/project-keys.ts';
import { projectKeyOf, projectRows } from '../../projections/projects.ts';
import { usageTotals } from '../../projections/usage.ts';
import { SpendRows } from '../../src/app/spend-limits.ts';
import { unlimited } from '../../src/data/account/spend-limits.ts';
import { periodAt, spentNothing } from '../../src/domain/usage/period.ts';
import type { SpendLimit } from '../../src/domain/usage/spend-limit.ts';
import type { Table } from '../../src/kernel/rows/rows.ts';
import type { Recorded } from '../../src/kernel/store/store.ts';

const at = Date.UTC(2026, 10, 26, 12);
const event = (type: string, data: object = {}): Recorded => ({ type, data }) as Recorded;

/** Rows that the test writes, and how often they were read. */
const world = () => {
  const rows = new Map<string, object>();
  let reads = 0;
  const spend = new SpendRows({
    get: <Row>({ name }: Table<Row>, key: string) => {
      reads += 1;
      return rows.get(`${name} ${key}`) as Row | undefined;
    },
  });
  const put = <Row extends object>({ name }: Table<Row>, key: string, row: Partial<Row>): void =>
    void rows.set(`${name} ${key}`, row);
  const spent = (id: string, microDollars: number): void => {
    const day = [[periodAt('day', at), microDollars]] as const;
    put(usageTotals, id, { spent: { day, week: spentNothing, month: spentNothing } });
  };
  const found = () => spend.limitsOf('k', 'p', 'o').map((each) => [each.scope, each.id, each.spent(at)]);
  return { spend, put, spent, found, reads: () => reads };
};
const daily: SpendLimit = { amount: 100, interval: 'day' };

describe('the spend limits of a request', () => {
  test('are those of its line of keys, its project and its organization', () => {
    const { spend, put, spent, found } = world();
    put(spendLines, 'k', { spendLimit: daily, keys: ['k', 'k2'] });
    put(projectRows, projectKeyOf('o', 'p'), { spendLimit: daily });
    put(organizationRows, 'o', { spendLimit: daily });
    spent('k', 1);
    spent('k2', 2);
    spent('p', 40);
    expect(found()).toEqual([
      ['key', 'k', 3],
      ['project', 'p', 40],
      ['organization', 'o', 0],
    ]);
    expect(spend.limitsOf('k', 'p', 'o')[0]!.spent(at + 86_400_000)).toBe(0);
  });

  test('are one shared list where there are none, for which rows are read once', () => {
    const { spend, put, reads } = world();
    put(spendLines, 'k', { spendLimit: null, keys: ['k'] });
    put(projectRows, projectKeyOf('o', 'p'), { spendLimit: null });
    expect(spend.limitsOf('k', 'p', 'o')).toBe(unlimited);
    const before = reads();
    for (let i = 0; i < 100; i++) expect(spend.limitsOf('k', 'p', 'o')).toBe(unlimited);
    expect(reads()).toBe(before);
  });

  test.each(['organization.spend_limited', 'project.spend_limited', 'project_key.spend_limited'])(
    'are read again after %s, and not after others',
    (type) => {
      const { spend, put, found } = world();
      expect(found()).toEqual([]);
      put(organizationRows, 'o', { spendLimit: daily });
      spend.committed([event('project_key.created'), event('usage.settled')]);
      expect(found()).toEqual([]);
      spend.committed([event('policy.created'), event(type)]);
      expect(found()).toEqual([['organization', 'o', 0]]);
    },
  );

  test('hold as soon as their rows can be read, before the commit is known', () => {
    const { spend, put, found } = world();
    expect(found()).toEqual([]);
    const batch = [event('organization.spend_limited')];
    spend.committing(batch);
    expect(found()).toEqual([]);
    put(organizationRows, 'o', { spendLimit: daily });
    expect(found()).toEqual([['organization', 'o', 0]]);
    spend.committed(batch);
    expect(found()).toEqual([['organization', 'o', 0]]);
  });

  test('know the successor of a key from the rotation on', () => {
    const { spend, put, spent, found } = world();
    put(spendLines, 'k', { spendLimit: daily, keys: ['k'] });
    spent('k2', 2);
    expect(found()).toEqual([['key', 'k', 0]]);
    put(spendLines, 'k', { spendLimit: daily, keys: ['k', 'k2'] });
    spend.committed([event('project_key.rotated', { successor_id: 'k2' })]);
    expect(found()).toEqual([['key', 'k', 2]]);
  });

  test('have the spend of the rows from the batch on that brings it', () => {
    const { spend, put, spent, found } = world();
    put(organizationRows, 'o', { spendLimit: daily });
    expect(found()).toEqual([['organization', 'o', 0]]);
    spent('o', 7);
    expect(found()).toEqual([['organization', 'o', 0]]);
    spend.committed([event('usage.settled')]);
    expect(found()).toEqual([['organization', 'o', 7]]);
  });

  test('are read again when all rows were made anew', () => {
    const { spend, put, spent, found } = world();
    expect(found()).toEqual([]);
    put(organizationRows, 'o', { spendLimit: daily });
    spent('o', 7);
    spend.committed([]);
    expect(found()).toEqual([['organization', 'o', 7]]);
  });
});
