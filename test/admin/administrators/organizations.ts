import fc from 'fast-check';
import { expect } from 'vitest';
import { plans } from '../../../src/domain/organization/billing.ts';
import { limitsFor, tierOfPlan, tierOfSpend } from '../../../src/domain/organization/tiers.ts';
import { IllegalEvent } from '../../../src/kernel/aggregate/aggregate.ts';
import { type AuditEntry, hour, type Tenant } from './model.ts';
import { archived } from './projects.ts';
import { command, expectOf, idOf, otherOf, pick, seconds, target, tenantOf, who } from './step.ts';
import { dataOf, operator, type World } from './world.ts';

const tierOf = ({ paid, plan }: Pick<Tenant, 'paid' | 'plan'>): number => Math.max(tierOfSpend(paid), tierOfPlan(plan));

const retrieveOrganization = command({
  name: 'retrieve organization',
  args: fc.record({ who }),
  async run(world, { who: chosen }) {
    const tenant = tenantOf(world, chosen);
    const request = { method: 'GET', path: '', permission: 'organization:read' } as const;
    const answer = await expectOf(world, chosen, request, null);
    if (!answer) return;
    const tier = tierOf(tenant) as 0;
    expect(answer.body).toMatchObject({
      object: 'organization',
      id: tenant.id,
      name: tenant.name,
      status: tenant.status,
      tier,
      spend_tier: tierOfSpend(tenant.paid),
      subscription: tenant.plan,
      lifetime_paid: tenant.paid / 1_000_000,
      created_at: seconds(tenant.createdAt),
      limits: { api_key: { requests_per_minute: limitsFor(tier, 'key').rpm } },
    });
  },
});

/** A page of the audit log by any filter, against the model's own list. */
const readAudit = command({
  name: 'read audit log',
  args: fc.record({
    who,
    limit: fc.integer({ min: 1, max: 30 }),
    order: fc.option(fc.constantFrom('asc' as const, 'desc' as const), { nil: undefined }),
    types: fc.option(
      fc.subarray(['project.created', 'api_key.created', 'api_key.deleted', 'policy.updated', 'access.denied'], {
        minLength: 1,
      }),
      { nil: undefined },
    ),
    actor: fc.option(fc.constantFrom('first', 'reactions', 'jo'), { nil: undefined, freq: 2 }),
    resource: fc.option(target, { nil: undefined, freq: 2 }),
  }),
  async run(world, { who: chosen, limit, order, types, actor, resource }) {
    const tenant = tenantOf(world, chosen);
    const actorId = actor === 'first' ? pick(tenant.adminKeys.keys(), 0) : actor;
    const things = (of: Tenant) => [...of.projects.values(), ...of.policies.values(), ...of.adminKeys.values()];
    const resourceId = resource && idOf(resource, things(tenant), things(otherOf(world, chosen)));
    const query = [
      `limit=${limit}`,
      order && `order=${order}`,
      ...(types ?? []).map((type) => `event_types[]=${type}`),
      actorId && `actor_ids[]=${actorId}`,
      resourceId && `resource_ids[]=${resourceId}`,
    ];
    const request = {
      method: 'GET',
      path: '/audit_logs',
      permission: 'audit_logs:read',
      query: query.filter(Boolean).join('&'),
    } as const;
    const answer = await expectOf(world, chosen, request, null);
    if (!answer) return;
    const listed = order === 'asc' ? tenant.audit : tenant.audit.toReversed();
    const wanted = listed.filter(
      (entry) =>
        (!types || types.includes(entry.type)) &&
        (!actorId || entry.actor === actorId) &&
        (!resourceId || entry.resource === resourceId),
    );
    const shown = dataOf(answer).map((entry) => {
      const { type, actor: by } = entry as { type: string; actor: { type: string } & Record<string, { id: string }> };
      return { type, resource: (entry[type] as { id: string }).id, actor: by[by.type]?.id };
    });
    expect(shown).toEqual(wanted.slice(0, limit));
    expect(answer.body.has_more).toBe(wanted.length > limit);
  },
});

const changeStatus = command({
  name: 'suspend, reactivate or close organization',
  args: fc.record({
    tenant: fc.nat(1),
    to: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom('suspend' as const, 'reactivate' as const, 'reactivate' as const) },
      { weight: 1, arbitrary: fc.constant('close' as const) },
    ),
    again: fc.nat(2),
  }),
  async run(world, { to, ...chosen }) {
    const tenant = tenantOf(world, chosen);
    // One of the two goes on, or there would be nothing left to do.
    if (to === 'close' && (chosen.again > 0 || otherOf(world, chosen).status === 'closed')) return;
    const isLegal =
      { suspend: 'active', reactivate: 'suspended', close: tenant.status === 'closed' ? 'never' : tenant.status }[
        to
      ] === tenant.status;
    const telling = world.stage.admin.aggregates.organization.dispatch(tenant.id, to, undefined, operator);
    if (!isLegal) {
      await expect(telling).rejects.toBeInstanceOf(IllegalEvent);
      return world.happened(tenant, []);
    }
    await telling;
    const type = { suspend: 'suspended', reactivate: 'reactivated', close: 'closed' }[to];
    tenant.status = ({ suspend: 'suspended', reactivate: 'active', close: 'closed' } as const)[to];
    const follows: AuditEntry[] = [];
    if (to === 'close') {
      for (const project of tenant.projects.values()) {
        if (project.archivedAt !== null) continue;
        follows.push(
          { type: 'project.archived', resource: project.id, actor: 'reactions' },
          ...archived(project, world.now),
        );
      }
      for (const key of tenant.adminKeys.values()) {
        if (!key.isDeleted) follows.push({ type: 'admin_api_key.deleted', resource: key.id, actor: 'reactions' });
        key.isDeleted = true;
      }
    }
    await world.happened(tenant, [{ type: `organization.${type}`, resource: tenant.id, actor: 'jo' }, ...follows]);
  },
});

const dollars = 1_000_000;
const bill = command({
  name: 'bill',
  args: fc.record({
    tenant: fc.nat(1),
    kind: fc.constantFrom(
      'topUp' as const,
      'grant' as const,
      'refund' as const,
      'setSubscription' as const,
      'endSubscription' as const,
    ),
    amount: fc.constantFrom(0, 1, 20, 200, 5000),
    plan: fc.constantFrom(...plans.slice(1)),
    reference: fc.nat(12).map((n) => `r${n}`),
  }),
  async run(world, { kind, plan, reference, ...given }) {
    const tenant = tenantOf(world, given);
    const amount = given.amount * dollars;
    const input = { amount, plan, reference };
    const telling = world.stage.admin.aggregates.organization.dispatch(
      tenant.id,
      kind,
      input as typeof input & { plan: 'Free' },
      operator,
    );
    const said = {
      topUp: `topUp ${amount}`,
      grant: `grant ${amount}`,
      refund: `refund ${amount}`,
      setSubscription: `plan ${plan} ${amount}`,
      endSubscription: 'end',
    }[kind];
    const before = tenant.references.get(reference);
    const isRepeated = before === said;
    const isFree = kind === 'setSubscription' || kind === 'endSubscription';
    if ((amount === 0 && !isFree) || (before !== undefined && !isRepeated)) {
      await expect(telling).rejects.toMatchObject({ refusal: { code: 'validation_failed' } });
      return world.happened(tenant, []);
    }
    if (!isRepeated && tenant.status === 'closed' && kind !== 'refund') {
      await expect(telling).rejects.toBeInstanceOf(IllegalEvent);
      return world.happened(tenant, []);
    }
    await telling;
    if (isRepeated) return world.happened(tenant, []);
    const tierBefore = tierOf(tenant);
    tenant.references.set(reference, said);
    if (kind === 'topUp' || kind === 'setSubscription') tenant.paid += amount;
    if (kind === 'refund') tenant.paid -= amount;
    if (kind === 'setSubscription') tenant.plan = plan;
    if (kind === 'endSubscription') tenant.plan = 'Free';
    const type = {
      topUp: 'billing.credited',
      grant: 'billing.credited',
      refund: 'billing.refunded',
      setSubscription: 'billing.subscription_updated',
      endSubscription: 'billing.subscription_updated',
    }[kind];
    const entries = [{ type, resource: tenant.id, actor: 'jo' }];
    if (tierOf(tenant) !== tierBefore)
      entries.push({ type: 'organization.tier_changed', resource: tenant.id, actor: 'jo' });
    await world.happened(tenant, entries);
  },
});

const passTime = command({
  name: 'pass time',
  args: fc.constantFrom(1, 999, 30_000, 60_000, hour, 23 * hour, 25 * hour),
  async run(world, ms) {
    world.advance(ms);
  },
});

const sweep = command({
  name: 'sweep',
  args: fc.constant(null),
  async run(world) {
    await world.sweep();
    for (const tenant of world.tenants) {
      const entries: AuditEntry[] = [];
      for (const project of tenant.projects.values()) {
        for (const key of project.keys.values()) {
          if (key.state === 'revoked' || key.state === 'expired') continue;
          if (key.expiresAt === null || key.expiresAt > world.now) continue;
          key.state = 'expired';
          entries.push({ type: 'api_key.expired', resource: key.id, actor: 'sweeper' });
        }
      }
      await world.happened(tenant, entries);
    }
  },
});

/** What credentials did is recorded: from then on it is seen. */
const flush = command({
  name: 'record access',
  args: fc.constant(null),
  run: (world) => recordAccess(world),
});

const recordAccess = async (world: World): Promise<void> => {
  await world.flush();
  for (const tenant of world.tenants) {
    for (const [id, at] of tenant.used) {
      const key = tenant.adminKeys.get(id);
      if (key) key.usedAt = at;
    }
    tenant.used.clear();
    const entries = [...tenant.denied.values()].map((id) => ({ type: 'access.denied', resource: id, actor: id }));
    tenant.denied.clear();
    await world.happened(tenant, entries);
  }
};

export const organizationSteps = [
  { weight: 2, arbitrary: retrieveOrganization },
  { weight: 4, arbitrary: readAudit },
  { weight: 1, arbitrary: changeStatus },
  { weight: 2, arbitrary: bill },
  { weight: 3, arbitrary: passTime },
  { weight: 1, arbitrary: sweep },
  { weight: 1, arbitrary: flush },
];
