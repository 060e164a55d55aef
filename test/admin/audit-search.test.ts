import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditKeyOf, auditRows, blockSize } from '../../projections/audit-log.ts';
import { auditLogRoutes } from '../../src/admin/audit/audit-logs.ts';
import { findEntries } from '../../src/admin/audit/audit-search.ts';
import type { AccessDenied } from '../../src/domain/key/access-events.ts';
import type { NewEvent } from '../../src/kernel/store/store.ts';
import { type Ask, asker, type Json } from './ask.ts';
import { stage } from './stage.ts';

/** Entries of org_1; as many of org_2 lie between them. */
const count = 6 * blockSize + 17;
const start = 1_700_000_000;
let at: Awaited<ReturnType<typeof stage>>;
let ask: Ask;

/** Number `i`: a few actors and projects, mostly resources of its own, and a clock that steps back now and then. */
const entry = (i: number): { stream: string; event: NewEvent } => {
  const organization = `org_${1 + (i % 2)}`;
  const n = Math.floor(i / 2);
  const data: Omit<AccessDenied, 'type'> = {
    credential_id: n % 100 === 0 ? 'key_common' : `key_${n}`,
    credential_type: 'project_key',
    ...(n % 3 !== 0 && { project_id: `proj_${n % 3}` }),
    route: 'GET /v1/models',
    code: 'api_key_revoked',
    count: 1,
    first_at: 0,
    last_at: 0,
  };
  const actor = { type: 'api_key', id: `key_${n % 7}` } as const;
  const metadata = {
    at: (start + n - (n % 50 === 0 ? 500 : 0)) * 1000,
    actor,
    $correlationId: 'c',
    $causationId: 'c',
    v: 1,
    ...(n % 5 !== 0 && { request_id: `req_${n % 9 === 0 ? 'common' : n}` }),
  };
  const id = `00000000-0000-5000-8000-${String(i).padStart(12, '0')}`;
  return { stream: `denial-${organization}_20261120`, event: { id, type: 'access.denied', data, metadata } };
};

beforeAll(async () => {
  at = await stage();
  for (let i = 0; i < 2 * count; i++) {
    const { stream, event } = entry(i);
    at.store.plant(stream, [event]);
  }
  await at.admin.models.reached(at.store.log.at(-1)!.position, 20_000);
  ask = asker(auditLogRoutes(at.admin));
}, 60_000);
afterAll(() => at.close());

const path = '/v1/organization/audit_logs';
const everything = () => at.admin.models.range(auditRows, { prefix: 'org_1:', limit: 1e6 }).map(({ row }) => row);

interface Filter {
  readonly event_types?: string[] | undefined;
  readonly project_ids?: string[] | undefined;
  readonly actor_ids?: string[] | undefined;
  readonly resource_ids?: string[] | undefined;
  readonly request_ids?: string[] | undefined;
  readonly effective_at?: Readonly<Record<string, number>> | undefined;
}

const some = (values: readonly string[]) =>
  fc.option(fc.uniqueArray(fc.constantFrom(...values), { minLength: 1 }), { nil: undefined });
const moment = fc.integer({ min: start - 600, max: start + count + 100 });
const filters: fc.Arbitrary<Filter> = fc.record({
  event_types: fc.option(fc.constantFrom(['access.denied'], ['project.created'], ['login.failed', 'access.denied']), {
    nil: undefined,
    freq: 4,
  }),
  project_ids: some(['proj_0', 'proj_1', 'proj_2']),
  actor_ids: some(['key_0', 'key_3', 'key_6', 'nobody']),
  resource_ids: some(['key_common', 'key_1', 'key_777', `key_${count - 1}`, 'nobody']),
  request_ids: some(['req_common', 'req_778', 'req_5', 'req_none']),
  effective_at: fc.option(
    fc.dictionary(fc.constantFrom('gt', 'gte', 'lt', 'lte'), moment, { minKeys: 1, noNullPrototype: true }),
    { nil: undefined, freq: 2 },
  ),
});

/** The oracle: every entry looked at, one by one. */
const passes = (
  row: ReturnType<typeof everything>[number],
  { event_types, project_ids, actor_ids, resource_ids, request_ids, effective_at: bounds = {} }: Filter,
): boolean => {
  const second = Math.floor(row.at / 1000);
  const { gt = -1, gte = -1, lt = Number.POSITIVE_INFINITY, lte = Number.POSITIVE_INFINITY } = bounds;
  return (
    (!event_types || event_types.includes(row.type)) &&
    (!project_ids || project_ids.includes(row.projectId ?? '')) &&
    (!actor_ids || actor_ids.includes(row.actor.id)) &&
    (!resource_ids || resource_ids.includes(row.resourceId)) &&
    (!request_ids || (row.requestId !== null && request_ids.includes(row.requestId))) &&
    second > gt &&
    second >= gte &&
    second < lt &&
    second <= lte
  );
};

const queryOf = ({ effective_at = {}, ...lists }: Filter): string =>
  [
    ...Object.entries(lists).flatMap(([name, values]) => (values ?? []).map((value) => `${name}[]=${value}`)),
    ...Object.entries(effective_at).map(([name, value]) => `effective_at[${name}]=${value}`),
  ].join('&');

const pageOf = async (query: string) => {
  const { status, body } = await ask('GET', `${path}?${query}`);
  expect(status).toBe(200);
  return { ids: (body.data as Json[]).map(({ id }) => String(id)), more: body.has_more as boolean, body };
};

test('pages, filtered in any way, in either order and from either side, are what looking at every entry gives', async () => {
  const rows = everything();
  expect(rows).toHaveLength(count);
  const cut = fc.option(fc.nat(count - 1), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(
      filters,
      fc.constantFrom('asc', 'desc'),
      fc.integer({ min: 1, max: 100 }),
      cut,
      cut,
      async (filter, order, limit, a, b) => {
        const listed = order === 'asc' ? rows : rows.toReversed();
        const [after, before] = [a, b].map((n) => (n === undefined ? undefined : listed[n]!.id));
        const from = after === undefined ? 0 : a! + 1;
        const to = before === undefined ? count : b!;
        const wanted = listed
          .slice(from, Math.max(from, to))
          .filter((row) => passes(row, filter))
          .map(({ id }) => id);
        // With `before` alone the page is the one next to it.
        const isNext = before !== undefined && after === undefined;
        const expected = isNext ? wanted.slice(-limit) : wanted.slice(0, limit);
        const cursors = [after && `after=${after}`, before && `before=${before}`];
        const query = [queryOf(filter), `order=${order}`, `limit=${limit}`, ...cursors].filter(Boolean).join('&');
        const { ids, more, body } = await pageOf(query);
        expect(ids).toEqual(expected);
        expect(more).toBe(wanted.length > expected.length);
        expect([body.first_id, body.last_id]).toEqual([expected[0] ?? '', expected.at(-1) ?? '']);
      },
    ),
    { numRuns: 400 },
  );
}, 60_000);

test.each([
  ['gt', 0],
  ['gte', 1],
  ['lt', 0],
  ['lte', 1],
])('%s takes the entry of its very second: %i', async (bound, expected) => {
  // In the middle of the list, where no clock went back, one entry has each second.
  const { row } = at.admin.models.range(auditRows, { prefix: auditKeyOf('org_1', 777), limit: 1 })[0]!;
  const second = row.at / 1000;
  const found = async (value: number) =>
    (await ask('GET', `${path}?resource_ids[]=${row.resourceId}&effective_at[${bound}]=${value}`)).body.data as Json[];
  const step = bound.startsWith('g') ? 1 : -1;
  expect(await found(second)).toHaveLength(expected);
  expect(await found(second - step)).toHaveLength(1);
  expect(await found(second + step)).toHaveLength(0);
});

test('the newest come first, and the whole list is gone through page by page', async () => {
  const all: string[] = [];
  for (let after = ''; ; ) {
    const { ids, more } = await pageOf(`limit=100${after}`);
    all.push(...ids);
    if (!more) break;
    after = `&after=${ids.at(-1)}`;
  }
  expect(all).toEqual(
    everything()
      .map(({ id }) => id)
      .reverse(),
  );
});

test('what a filter cannot find costs no reading of entries, and what it can one block', async () => {
  let read = 0;
  const { models } = at.admin;
  const counting: typeof models = {
    ...models,
    range: (...all) => {
      const found = models.range(...all);
      if (all[0].name === auditRows.name) read += found.length;
      return found;
    },
  };
  const find = (filter: Filter) =>
    findEntries(counting, 'org_1', { from: 0, to: count - 1, order: 'desc' }, filter, 21);
  expect(await find({ resource_ids: ['key_777'] })).toHaveLength(1);
  expect(read).toBeLessThanOrEqual(2 * blockSize);
  read = 0;
  expect(await find({ actor_ids: ['key_1'], resource_ids: ['nobody'] })).toEqual([]);
  expect(await find({ effective_at: { gt: start + count } })).toEqual([]);
  expect(read).toBeLessThanOrEqual(blockSize);
  read = 0;
  expect(await find({})).toHaveLength(21);
  expect(read).toBe(21);
});

test('others get their turn while a filter that passes nothing goes through everything', async () => {
  let turns = 0;
  let isDone = false;
  const ticking = (async () => {
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      turns += 1;
    }
  })();
  const filter = { actor_ids: ['key_1'], project_ids: ['proj_1'], resource_ids: ['key_common'] };
  await findEntries(
    at.admin.models,
    'org_1',
    { from: 0, to: count - 1, order: 'asc' },
    { ...filter, event_types: ['access.denied'] },
    100,
  );
  isDone = true;
  await ticking;
  expect(turns).toBeGreaterThan(0);
});

test('a cursor that is no entry of this organization is told so', async () => {
  const [theirs] = at.admin.models.range(auditRows, { prefix: 'org_2:', limit: 1 });
  const mine = everything()[3]!.id;
  const forged = `${mine.slice(0, -1)}${mine.endsWith('0') ? '1' : '0'}`;
  for (const cursor of [theirs?.row.id, forged, 'audit_x', 'x', '%F0%9F%8C%8D', 'audit_'.padEnd(32, 'z')]) {
    for (const name of ['after', 'before']) {
      const { status, code, param } = await ask('GET', `${path}?${name}=${cursor}`);
      expect([status, code, param]).toEqual([400, 'invalid_cursor', `query.${name}`]);
    }
  }
});

test.each([
  ['limit=0', 'query.limit'],
  ['limit=101', 'query.limit'],
  ['order=up', 'query.order'],
  ['event_types[]=', 'query.event_types.0'],
  [`actor_ids=${'x'.repeat(201)}`, 'query.actor_ids.0'],
  ['effective_at=5', 'query.effective_at'],
  ['effective_at[gt]=soon', 'query.effective_at.gt'],
  ['effective_at[lt]=-1', 'query.effective_at.lt'],
])('%s is refused', async (query, param) => {
  const answer = await ask('GET', `${path}?${query}`);
  expect([answer.status, answer.code, answer.param]).toEqual([422, 'validation_failed', param]);
});

test('the first and last entry of a block are found by their numbers', () => {
  const rows = everything();
  for (const n of [0, blockSize - 1, blockSize, count - 1]) {
    expect(at.admin.models.get(auditRows, auditKeyOf('org_1', n))).toEqual(rows[n]);
  }
});
