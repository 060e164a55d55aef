import fc from 'fast-check';
import { expect } from 'vitest';
import { projectOf } from './projects.ts';
import { callerOf, command, expectOf, target, tenantOf, who } from './step.ts';

const path = '/projects/{project_id}';

/** Of a project, or of the organization. */
const limitSpend = command({
  name: 'limit spend',
  args: fc.record({ who, target: fc.option(target, { freq: 2 }), cents: fc.constantFrom(1, 500, null, null) }),
  async run(world, { who: chosen, target: wanted, cents }) {
    const tenant = tenantOf(world, chosen);
    const found = wanted && projectOf(world, chosen, wanted);
    const limited = found ? found.project : tenant;
    const before = limited?.spendLimit ?? null;
    const absent = found?.missing ?? null;
    const isArchived = found?.project !== undefined && found.project.archivedAt !== null;
    const none = cents === null && before === null ? '404 spend_limit_not_found' : null;
    const request = { path: `${found ? path : ''}/spend_limit`, ...(found && { ids: found.ids }) };
    const body = { currency: 'USD', interval: 'month', threshold_amount: cents };
    const how = cents === null ? ({ method: 'DELETE' } as const) : ({ method: 'POST', body } as const);
    const write = { ...request, ...how, permission: 'projects:write' } as const;
    const answer = await expectOf(world, chosen, write, absent ?? (isArchived ? '409 project_archived' : none));
    const entry = { type: 'spend_limit.updated', resource: limited?.id ?? '', actor: callerOf(world, chosen).id };
    if (answer && limited) limited.spendLimit = cents;
    await world.happened(tenant, answer && before !== cents ? [entry] : []);
    const now = limited?.spendLimit ?? null;
    const permission = found ? ('projects:read' as const) : ('organization:read' as const);
    const missing = absent ?? (now === null ? '404 spend_limit_not_found' : null);
    const read = await expectOf(world, chosen, { ...request, method: 'GET', permission }, missing);
    if (read) expect(read.body).toMatchObject({ ...body, threshold_amount: now });
  },
});

const readSpend = command({
  name: 'read spend',
  args: fc.record({ who, target }),
  async run(world, { who: chosen, target: wanted }) {
    const { ids, project, missing } = projectOf(world, chosen, wanted);
    const request = { method: 'GET', path: `${path}/spend`, permission: 'usage:read', ids } as const;
    const answer = await expectOf(world, chosen, request, missing);
    if (!answer || !project) return;
    const { usage, usage_monthly, limit, limit_remaining } = answer.body as Record<string, number | null>;
    const own = project.spendLimit === null ? null : project.spendLimit / 100;
    expect([usage! * 1_000_000, limit]).toEqual([expect.closeTo(project.spent, 3), own]);
    if (own === null) expect(limit_remaining).toBeNull();
    else expect(limit_remaining).toBeCloseTo(Math.max(0, own - usage_monthly!), 6);
  },
});

export const spendSteps = [
  { weight: 4, arbitrary: limitSpend },
  { weight: 1, arbitrary: readSpend },
];
