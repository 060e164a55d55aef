import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NewEvent } from '../../src/kernel/store/store.ts';
import { administrationRoutes } from '../support/all-routes.ts';
import { type Ask, asker, type Json } from './ask.ts';
import { stage } from './stage.ts';

/** Projects of the organization before anybody pages through them. */
const count = Number(process.env.LIST_ITEMS ?? 2000);
const projects = '/v1/organization/projects';
let at: Awaited<ReturnType<typeof stage>>;
let ask: Ask;

const created = (name: string, organizationId: string): NewEvent => ({
  id: randomUUID(),
  type: 'project.created',
  data: { organization_id: organizationId, name, created_at: at.clock.at },
  metadata: { at: at.clock.at, actor: { type: 'system', id: 'x' }, $correlationId: 'c', $causationId: 'c', v: 1 },
});
const idOf = (n: number): string => `proj_0${String(n).padStart(8, '0')}`;

beforeAll(async () => {
  at = await stage();
  for (let n = 0; n < count; n++) at.store.plant(`project-${idOf(n)}`, [created(`p${n}`, 'org_1')]);
  at.store.plant('project-proj_theirs', [created('theirs', 'org_2')]);
  const context = { actor: { type: 'system', id: 'x' } } as const;
  const { aggregates, models } = at.admin;
  const told = await aggregates.organization.dispatch('org_1', 'create', { name: 'Acme', at: 1 }, context);
  expect(await models.reached(told.position as bigint, 60_000)).toBe(true);
  ask = asker(administrationRoutes(at.admin));
}, 120_000);
afterAll(() => at.close());

/** Projects that are active, or were archived, during the walk at hand; ids in order. */
const archived = new Set<string>();

const change = async (kind: 'create' | 'archive', n: number): Promise<void> => {
  if (kind === 'create') {
    expect((await ask('POST', projects, { body: { name: 'new' } })).status).toBe(201);
    return;
  }
  const id = idOf(n);
  expect((await ask('POST', `${projects}/${id}/archive`)).status).toBe(200);
  archived.add(id);
};

const changes = fc.record({
  kind: fc.constantFrom('create' as const, 'archive' as const),
  n: fc.nat(count - 1),
});

/** Goes through a list page by page, with changes in between. */
const walk = async (path: string, query: string, between: () => Promise<void>): Promise<string[]> => {
  const ids: string[] = [];
  for (let after = ''; ; ) {
    const { status, body } = await ask('GET', `${path}?limit=100&${query}${after}`);
    expect(status).toBe(200);
    ids.push(...(body.data as Json[]).map(({ id }) => String(id)));
    if (!body.has_more) return ids;
    after = `&after=${body.last_id}`;
    await between();
  }
};

describe('while projects are created and archived, a list that is paged through', () => {
  test.each([
    ['order=asc', 'asc'],
    ['order=desc', 'desc'],
    ['include_archived=true', 'asc'],
  ])(
    'with %s shows nothing twice, in order, and leaves out nothing that was there throughout',
    async (query, order) => {
      await fc.assert(
        fc.asyncProperty(fc.array(changes, { minLength: 10, maxLength: 60 }), async (plan) => {
          const before = new Set(archived);
          const coming = [...plan];
          const ids = await walk(projects, query, async () => {
            const next = coming.shift();
            if (next) await change(next.kind, next.n);
          });
          expect(ids).toEqual(order === 'asc' ? ids.toSorted() : ids.toSorted().reverse());
          expect(new Set(ids).size).toBe(ids.length);
          const shown = new Set(ids);
          for (let n = 0; n < count; n++) {
            const isThroughout = query.startsWith('include') || !archived.has(idOf(n));
            if (isThroughout) expect(shown.has(idOf(n)), idOf(n)).toBe(true);
            // What was archived before anybody looked is left out.
            else if (before.has(idOf(n))) expect(shown.has(idOf(n))).toBe(false);
          }
        }),
        { numRuns: 3 },
      );
    },
    120_000,
  );

  test('goes on behind a project that has been archived meanwhile', async () => {
    const first = await ask('GET', `${projects}?limit=5`);
    const last = String(first.body.last_id);
    await ask('POST', `${projects}/${last}/archive`);
    const next = await ask('GET', `${projects}?limit=5&after=${last}`);
    expect(next.status).toBe(200);
    expect((next.body.data as Json[]).every(({ id }) => String(id) > last)).toBe(true);
  });
});

test('the audit log, newest first, shows every entry once although new ones come', async () => {
  const ids = await walk('/v1/organization/audit_logs', '', () => change('create', 0));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(ids.toSorted().reverse());
  expect(ids.length).toBeGreaterThan(count);
});
