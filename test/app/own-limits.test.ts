import { expect, test } from 'vitest';
import { keyLimitRows } from '../../projections/project-keys.ts';
import { projectKeyOf, projectRows } from '../../projections/projects.ts';
import { LimitRows } from '../../src/app/own-limits.ts';
import type { Table } from '../../src/kernel/rows/rows.ts';

const none = { requestsPerMinute: null, tokensPerMinute: null, requestsPerDay: null };
const rows = new Map<string, object>([
  [`${keyLimitRows.name} k`, { ...none, requestsPerMinute: 10, concurrentRequests: 2 }],
  [
    `${projectRows.name} ${projectKeyOf('o', 'p')}`,
    { rateLimits: { '*': { ...none, tokensPerMinute: 1_000 }, m: { ...none, requestsPerDay: 8 } } },
  ],
]);
const models = {
  absent: [],
  get: <Row>({ name }: Table<Row>, key: string) => rows.get(`${name} ${key}`) as Row | undefined,
};
const own = { rpm: null, tpm: null, rpd: null, concurrent: null };

test('each of several gateways has its part of a limit, rounded down, and one at least', () => {
  const alone = new LimitRows(models);
  expect(alone.ofKey('k')).toEqual({ ...own, rpm: 10, concurrent: 2 });
  const ofThree = new LimitRows(models, 3);
  expect(ofThree.ofKey('k')).toEqual({ ...own, rpm: 3, concurrent: 1 });
  expect(ofThree.ofProject('p', 'o')).toEqual({
    whole: { ...own, tpm: 333 },
    models: new Map([['m', { ...own, rpd: 2 }]]),
  });
});
