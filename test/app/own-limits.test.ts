import { expect, test } from 'vitest';
import { keyLimitRows, projectKeyOwners, projectKeyRows } from '../../projections/project-keys.ts';
import { projectKeyOf, projectRows } from '../../projections/projects.ts';
import { LimitRows, limitChanges } from '../../src/app/own-limits.ts';
import type { ReadModels } from '../../src/kernel/projections/projection.ts';
import type { Table } from '../../src/kernel/rows/rows.ts';
import type { Recorded } from '../../src/kernel/store/store.ts';
import { start } from '../../src/limits/count-request.ts';
import { inspect, inspectModels } from '../../src/limits/inspect.ts';
import { limitSubject } from '../../src/limits/window/window-store.ts';
import { manualClock } from '../inference/manual-clock.ts';
import { testWindows } from '../support/test-windows.ts';

const row = { requestsPerMinute: null, tokensPerMinute: null, requestsPerDay: null, concurrentRequests: null };

/** Read models of which a test writes the rows, and windows that follow them. */
const open = () => {
  const rows = new Map<string, unknown>();
  const models = {
    absent: [] as string[],
    get: (table: { name: string }, key: string) => rows.get(`${table.name} ${key}`),
  } as Pick<ReadModels, 'get' | 'absent'> & { absent: string[] };
  const put = (table: { name: string }, key: string, value: unknown) => rows.set(`${table.name} ${key}`, value);
  const clock = manualClock();
  const source = new LimitRows(models);
  const windows = testWindows(0, { own: source });
  const { committing, committed } = limitChanges(models, source, windows, clock);
  const event = (type: string, stream: string) => ({ type, stream }) as Recorded;
  const use = () => start(windows.inference, limitSubject('key_1', 'proj_1', 'org_1'), clock.monotonic());
  const limitOf = (scope: 'key' | 'project', id: string) =>
    inspect(windows.inference, scope, id, clock.monotonic())?.windows[0]?.limit;
  return { models, put, committing, committed, event, use, limitOf, windows };
};

test('limits of a key are those of its chain of rotations, and a change of its newest key reaches them', () => {
  const { put, committed, event, use, limitOf } = open();
  put(keyLimitRows, 'key_1', { ...row, requestsPerMinute: 7 });
  use();
  expect(limitOf('key', 'key_1')).toBe(7);
  put(projectKeyOwners, 'key_2', { projectId: 'proj_1' });
  put(projectKeyRows, 'proj_1:key_2', { data: { windowsOf: 'key_1' } });
  put(keyLimitRows, 'key_1', { ...row, requestsPerMinute: 9 });
  committed([event('project_key.limits_updated', 'projectKey-key_2')]);
  expect(limitOf('key', 'key_1')).toBe(9);
  put(keyLimitRows, 'key_1', row);
  committed([event('project_key.limits_updated', 'projectKey-key_2')]);
  expect(limitOf('key', 'key_1')).toBe(60);
});

test('limits of a project and its models change with its rows', () => {
  const { put, committed, event, use, limitOf, windows } = open();
  use();
  expect(limitOf('project', 'proj_1')).toBe(90);
  const rateLimits = { '*': { ...row, requestsPerMinute: 8 }, 'house/m': { ...row, requestsPerMinute: 5 } };
  put(projectRows, 'org_1:proj_1', { rateLimits });
  committed([event('project.rate_limit_updated', 'project-proj_1')]);
  expect(limitOf('project', 'proj_1')).toBe(8);
  const models = inspectModels(windows.inference, 'proj_1', 'org_1', 0, 0);
  expect(models.map(({ model, windows: [minute] }) => [model, minute?.limit])).toEqual([['house/m', 5]]);
});

test('what can be read before its commit is known holds for who has read it', () => {
  const { put, committing, committed, event, use, limitOf, windows } = open();
  use();
  const batch = [
    event('project.rate_limit_updated', 'project-proj_1'),
    event('project_key.limits_updated', 'projectKey-key_1'),
  ];
  committing(batch);
  use();
  expect([limitOf('key', 'key_1'), limitOf('project', 'proj_1')]).toEqual([60, 90]);
  put(keyLimitRows, 'key_1', { ...row, requestsPerMinute: 7 });
  put(projectRows, 'org_1:proj_1', { rateLimits: { '*': { ...row, requestsPerMinute: 8 } } });
  use();
  expect([limitOf('key', 'key_1'), limitOf('project', 'proj_1')]).toEqual([7, 8]);
  committed(batch);
  expect(windows.inference.lookAgain).toBeNull();
  committing([event('policy.created', 'policy-1')]);
  expect(windows.inference.lookAgain).toBeNull();
});

test('what changes while rows cannot be read holds once they can', () => {
  const { models, put, committed, event, use, limitOf } = open();
  models.absent = ['project-keys', 'projects'];
  use();
  put(keyLimitRows, 'key_1', { ...row, requestsPerMinute: 7 });
  put(projectRows, 'org_1:proj_1', { rateLimits: { '*': { ...row, requestsPerMinute: 8 } } });
  committed([event('project.rate_limit_updated', 'project-proj_2')]);
  expect([limitOf('key', 'key_1'), limitOf('project', 'proj_1')]).toEqual([60, 90]);
  models.absent = [];
  // The rows are there again: nobody tells of limits that were only missed.
  committed([]);
  expect([limitOf('key', 'key_1'), limitOf('project', 'proj_1')]).toEqual([7, 8]);
});

const none = { requestsPerMinute: null, tokensPerMinute: null, requestsPerDay: null };
const ownRows = new Map<string, object>([
  [`${keyLimitRows.name} k`, { ...none, requestsPerMinute: 10, concurrentRequests: 2 }],
  [
    `${projectRows.name} ${projectKeyOf('o', 'p')}`,
    { rateLimits: { '*': { ...none, tokensPerMinute: 1_000 }, m: { ...none, requestsPerDay: 8 } } },
  ],
]);
const readModels = {
  absent: [],
  get: <Row>({ name }: Table<Row>, key: string) => ownRows.get(`${name} ${key}`) as Row | undefined,
};
const own = { rpm: null, tpm: null, rpd: null, concurrent: null };

test('each of several gateways has its part of a limit, rounded down, and one at least', () => {
  const alone = new LimitRows(readModels);
  expect(alone.ofKey('k')).toEqual({ ...own, rpm: 10, concurrent: 2 });
  const ofThree = new LimitRows(readModels, 3);
  expect(ofThree.ofKey('k')).toEqual({ ...own, rpm: 3, concurrent: 1 });
  expect(ofThree.ofProject('p', 'o')).toEqual({
    whole: { ...own, tpm: 333 },
    models: new Map([['m', { ...own, rpd: 2 }]]),
  });
});
