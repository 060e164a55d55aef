import fc from 'fast-check';
import { expect } from 'vitest';
import { usageSettled, usageStream } from '../../../src/domain/usage/usage-events.ts';
import { settlement } from '../../usage/some-request.ts';
import { command, expectOf, pick, tenantOf, who } from './step.ts';
import type { World } from './world.ts';

interface Used {
  requests: number;
  microDollars: number;
}

/** What organizations have used, by their ids, which no two histories share. */
const used = new WeakMap<World, Map<string, Used>>();
const usedBy = (world: World, id: string): Used => {
  const all = used.get(world) ?? new Map<string, Used>();
  used.set(world, all);
  const of = all.get(id) ?? { requests: 0, microDollars: 0 };
  all.set(id, of);
  return of;
};

/** Requests for models end, and the journal of a gateway brings them into the log. */
const settleRequests = command({
  name: 'settle requests',
  args: fc.record({ who, costs: fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 5 }) }),
  async run(world, { who: chosen, costs }) {
    const tenant = tenantOf(world, chosen);
    const { store, admin } = world.stage;
    const id = `00000000-0000-4000-8000-${String(store.log.length).padStart(12, '0')}`;
    const settlements = costs.map((micro_dollars, i) =>
      settlement(`${id} ${i}`, {
        organization_id: tenant.id,
        project_id: pick(tenant.projects.keys(), i) ?? 'proj_none',
        settled_at: world.now,
        micro_dollars,
      }),
    );
    const actor = { type: 'system', id: 'usage' } as const;
    const metadata = { at: world.now, actor, $correlationId: id, $causationId: id, v: 1 };
    const events = [{ id, type: 'usage.settled', data: { ...usageSettled(settlements) }, metadata }];
    const [recorded] = store.plant(usageStream(world.now), events);
    await admin.models.reached(recorded!.position, 5_000);
    for (const { project_id: id, micro_dollars } of settlements) {
      const project = tenant.projects.get(id);
      if (project) project.spent += micro_dollars;
    }
    const mine = usedBy(world, tenant.id);
    mine.requests += costs.length;
    mine.microDollars += costs.reduce((sum, each) => sum + each, 0);
  },
});

const paths = ['/usage', '/usage/completions', '/costs'] as const;

/** All that was ever used, page by page. */
const readUsage = command({
  name: 'read usage',
  args: fc.record({ who, path: fc.constantFrom(...paths), limit: fc.constantFrom(1, 7, 31) }),
  async run(world, { who: chosen, path, limit }) {
    const tenant = tenantOf(world, chosen);
    const mine = usedBy(world, tenant.id);
    let [requests, microDollars] = [0, 0];
    // Histories begin where the clock of the world does, and take some days.
    for (let page = ''; ; ) {
      const query = `start_time=${Math.floor((world.now - 90 * 86_400_000) / 1000)}&limit=${limit}${page}`;
      const answer = await expectOf(world, chosen, { method: 'GET', path, permission: 'usage:read', query }, null);
      if (!answer) return;
      const { data, next_page } = answer.body as {
        data: { results: { num_model_requests?: number; amount?: { value: number } }[] }[];
        next_page: string | null;
      };
      for (const result of data.flatMap(({ results }) => results)) {
        requests += result.num_model_requests ?? 0;
        microDollars += Math.round((result.amount?.value ?? 0) * 1_000_000);
      }
      if (next_page === null || limit === 1) break;
      page = `&page=${next_page}`;
    }
    // One bucket of many says nothing of all.
    if (limit === 1) return;
    if (path === '/costs') expect(microDollars).toBe(mine.microDollars);
    else expect(requests).toBe(mine.requests);
  },
});

export const usageSteps = [
  { weight: 1, arbitrary: settleRequests },
  { weight: 2, arbitrary: readUsage },
];
