import fc from 'fast-check';
import { expect } from 'vitest';
import type { z } from 'zod';
import type { keyLimitsObject } from '../../../src/admin/keys/key-limits.ts';
import { projectPermissions } from '../../../src/domain/permissions.ts';
import type { Json } from '../ask.ts';
import { type Key, type Project, type SpendLimit, statusOf } from './model.ts';
import { projectOf } from './projects.ts';
import {
  callerOf,
  command,
  create,
  expectOf,
  idempotencyKey,
  idOf,
  list,
  paging,
  pick,
  seconds,
  type Target,
  target,
  tenantOf,
  type Who,
  who,
} from './step.ts';
import type { World } from './world.ts';

const path = '/projects/{project_id}/api_keys';
const name = fc.constantFrom('k', 'the key', '\u202e');
const permissions = fc.option(fc.shuffledSubarray([...projectPermissions], { minLength: 1 }), { nil: undefined });
/** Milliseconds from now. */
const future = fc.constantFrom(1_000, 60_000, 90 * 60_000, 30 * 3_600_000);
const inOrder = (wanted: readonly string[]): string[] => projectPermissions.filter((one) => wanted.includes(one));

const spendLimits = fc.option(
  fc.constantFrom(null, { amount: 1, interval: 'day' }, { amount: 0.000001, interval: 'total' }),
  { nil: undefined, freq: 2 },
);

/** The newest key of a line limits all of it. */
const spendLimitOf = (project: Project, key: Key): SpendLimit | null => {
  const next = key.rotatedTo === null ? undefined : project.keys.get(key.rotatedTo);
  return next ? spendLimitOf(project, next) : key.spendLimit;
};

const shownKey = (world: World, project: Project, key: Key): object => ({
  object: 'organization.project.api_key',
  id: key.id,
  name: key.name,
  redacted_value: key.redacted,
  created_at: seconds(key.createdAt),
  last_used_at: null,
  expires_at: key.expiresAt === null ? null : seconds(key.expiresAt),
  owner: { type: 'project', id: project.id, name: project.name },
  status: statusOf(key, project, world.now),
  permissions: key.permissions,
  limits: { requests_per_minute: null, tokens_per_minute: null, requests_per_day: null, concurrent_requests: null },
  spend_limit: spendLimitOf(project, key),
});

const createKey = command({
  name: 'create key',
  args: fc.record({
    who,
    target,
    name,
    permissions,
    inMs: fc.option(fc.oneof(future, fc.constantFrom(0, -1000)), { nil: undefined, freq: 2 }),
    spend: spendLimits,
    key: idempotencyKey,
  }),
  async run(world, { who: chosen, target: wanted, name: called, permissions: granted, inMs, spend, key }) {
    const { ids, project, missing } = projectOf(world, chosen, wanted);
    const expiresAt = inMs === undefined ? null : world.now + inMs;
    const body = {
      name: called,
      ...(granted && { permissions: granted }),
      ...(expiresAt !== null && { expires_at: new Date(expiresAt).toISOString() }),
      ...(spend !== undefined && { spend_limit: spend }),
    };
    const request = {
      method: 'POST',
      path,
      permission: 'project_api_keys:write',
      ids,
      body,
      idempotencyKey: key,
    } as const;
    await create(world, chosen, request, {
      // The header's own rule comes before anything is looked for.
      before: key === undefined ? '422 validation_failed header.Idempotency-Key' : missing,
      refusal() {
        if (inMs !== undefined && inMs <= 0) return '422 expires_at_not_future expires_at';
        return project?.archivedAt === null ? null : '409 project_archived';
      },
      hasValue: true,
      made(answer) {
        const made: Key = {
          id: String(answer.id),
          redacted: String(answer.redacted_value),
          createdAt: world.now,
          name: called,
          permissions: inOrder(granted ?? projectPermissions),
          expiresAt: expiresAt && seconds(expiresAt) * 1000,
          state: 'active',
          rotatedFrom: null,
          rotatedTo: null,
          spendLimit: spend ?? null,
        };
        const owner = project as Project;
        owner.keys.set(made.id, made);
        const { value, ...shown } = answer as { value: string } & Json;
        expect(shown).toEqual(shownKey(world, owner, made));
        expect(value.slice(0, 7)).toBe(made.redacted.slice(0, 7));
        return { type: 'api_key.created', stands: () => owner.archivedAt === null && made.state !== 'revoked' };
      },
    });
  },
});

const listKeys = command({
  name: 'list keys',
  args: fc.record({
    who,
    target,
    paging,
    status: fc.option(fc.constantFrom('active', 'suspended', 'expired', 'revoked'), { nil: undefined }),
  }),
  async run(world, { who: chosen, target: wanted, paging: page, status }) {
    const { ids, project, missing } = projectOf(world, chosen, wanted);
    const keys = project?.keys ?? new Map<string, Key>();
    const others = [...tenantOf(world, chosen).projects.values()].filter(({ id }) => id !== project?.id);
    await list(
      world,
      chosen,
      { method: 'GET', path, permission: 'project_api_keys:read', ids },
      {
        paging: page,
        query: status === undefined ? [] : [`status=${status}`],
        all: [...keys.values()],
        foreign: others.flatMap((other) => [...other.keys.values()]),
        isShown: (id) =>
          status === undefined || statusOf(keys.get(id) as Key, project as Project, world.now) === status,
        item: (id) => shownKey(world, project as Project, keys.get(id) as Key),
        refusal: missing,
      },
    );
  },
});

/** A key in its project; or, by a target that is not its own, another project's key or none. */
const keyOf = (world: World, chosen: Who, wanted: Target) => {
  const all = [...tenantOf(world, chosen).projects.values()].flatMap((project) =>
    [...project.keys.values()].map((key) => ({ id: key.id, project, key })),
  );
  const own = pick(all, wanted.n);
  const inProject = { n: wanted.n, from: wanted.from === 'foreign' ? ('own' as const) : wanted.from };
  const elsewhere = projectOf(world, chosen, inProject);
  const { ids, project, missing } = wanted.from === 'own' && own ? projectNamed(own.project) : elsewhere;
  const foreign = all.filter((one) => one.project !== project);
  const api_key_id = wanted.from === 'own' && own ? own.id : idOf(wanted, [], foreign);
  const key = project?.keys.get(api_key_id);
  return { ids: { ...ids, api_key_id }, project, key, missing: missing ?? (key ? null : '404 api_key_not_found') };
};

const projectNamed = (project: Project) => ({ ids: { project_id: project.id }, project, missing: null });

const onKey = { who, target };
const one = `${path}/{api_key_id}`;

const retrieveKey = command({
  name: 'retrieve key',
  args: fc.record(onKey),
  async run(world, { who: chosen, target: wanted }) {
    const { ids, project, key, missing } = keyOf(world, chosen, wanted);
    const answer = await expectOf(
      world,
      chosen,
      { method: 'GET', path: one, permission: 'project_api_keys:read', ids },
      missing,
    );
    if (answer) expect(answer.body).toEqual(shownKey(world, project as Project, key as Key));
  },
});

/** The other keys of its line that work. */
const lineOf = (world: World, project: Project, id: string): string[] => {
  const line = [id];
  for (let key = project.keys.get(id); key?.rotatedFrom; key = project.keys.get(key.rotatedFrom))
    line.unshift(key.rotatedFrom);
  for (let key = project.keys.get(id); key?.rotatedTo; key = project.keys.get(key.rotatedTo)) line.push(key.rotatedTo);
  return line.filter((each) => each !== id && statusOf(project.keys.get(each)!, project, world.now) === 'active');
};

/** The test's administrators call no inference, so nothing of a key's limits is ever used. */
const showLimits = command({
  name: 'show limits of key',
  args: fc.record(onKey),
  async run(world, { who: chosen, target: wanted }) {
    const { ids, project, missing } = keyOf(world, chosen, wanted);
    const request = { method: 'GET', path: `${one}/limits`, permission: 'project_api_keys:read', ids } as const;
    const answer = await expectOf(world, chosen, request, missing);
    if (!answer) return;
    const { api_key_id, last_refusal, scopes, shared_with } = answer.body as unknown as z.infer<typeof keyLimitsObject>;
    expect([api_key_id, last_refusal]).toEqual([ids.api_key_id, null]);
    expect(shared_with).toEqual(lineOf(world, project as Project, ids.api_key_id));
    expect(scopes.map(({ id }) => id).slice(0, 2)).toEqual([ids.api_key_id, project?.id]);
    expect(scopes.flatMap(({ windows }) => windows.map(({ used }) => used))).toEqual(Array(13).fill(0));
  },
});

/** What a change of a key meets (contract B.2, B.3). */
const guard = (world: World, project: Project | undefined, key: Key | undefined): string | null => {
  if (!project || !key) return null;
  if (project.archivedAt !== null) return '409 project_archived';
  if (key.state === 'revoked') return '409 api_key_revoked';
  return statusOf(key, project, world.now) === 'expired' ? '409 api_key_expired' : null;
};

const rotateKey = command({
  name: 'rotate key',
  args: fc.record({ ...onKey, grace: fc.constantFrom(0, 1, 60, 3_600, 604_800), key: idempotencyKey }),
  async run(world, { who: chosen, target: wanted, grace, key: idempotency }) {
    const { ids, project, key, missing } = keyOf(world, chosen, wanted);
    const request = {
      method: 'POST',
      path: `${one}/rotate`,
      permission: 'project_api_keys:write',
      ids,
      body: { grace_seconds: grace },
      idempotencyKey: idempotency,
    } as const;
    await create(world, chosen, request, {
      before: idempotency === undefined ? '422 validation_failed header.Idempotency-Key' : missing,
      refusal() {
        const why = guard(world, project, key);
        if (why !== null || !key) return why;
        if (key.rotatedTo !== null) return '409 api_key_rotated';
        return key.state === 'suspended' ? '409 api_key_suspended' : null;
      },
      hasValue: true,
      made(answer) {
        const [owner, old] = [project as Project, key as Key];
        const life = old.expiresAt === null ? null : old.expiresAt - old.createdAt;
        const made: Key = {
          id: String(answer.id),
          redacted: String(answer.redacted_value),
          createdAt: world.now,
          name: old.name,
          permissions: old.permissions,
          expiresAt: life === null ? null : Math.ceil((world.now + life) / 1000) * 1000,
          state: 'active',
          rotatedFrom: old.id,
          rotatedTo: null,
          spendLimit: old.spendLimit,
        };
        owner.keys.set(made.id, made);
        old.rotatedTo = made.id;
        const end = (grace === 0 ? seconds(world.now) : Math.ceil(world.now / 1000) + 1 + grace) * 1000;
        old.expiresAt = old.expiresAt === null ? end : Math.min(old.expiresAt, end);
        const { value, rotated_from, ...shown } = answer as { value: string } & Json;
        expect(shown).toEqual(shownKey(world, owner, made));
        expect(rotated_from).toEqual({ id: old.id, expires_at: seconds(old.expiresAt) });
        expect(value.slice(0, 7)).toBe(made.redacted.slice(0, 7));
        return {
          type: 'api_key.created',
          also: [{ type: 'api_key.rotated', resource: old.id, actor: callerOf(world, chosen).id }],
          stands: () => owner.archivedAt === null && made.state !== 'revoked',
        };
      },
    });
  },
});

const updateKey = command({
  name: 'update key',
  args: fc.record({
    ...onKey,
    name: fc.option(name, { nil: undefined }),
    permissions,
    isScopes: fc.boolean(),
    inMs: fc.option(fc.oneof(future, fc.constant(null)), { nil: undefined }),
    spend: spendLimits,
  }),
  async run(world, { who: chosen, target: wanted, name: called, permissions: granted, isScopes, inMs, spend }) {
    const tenant = tenantOf(world, chosen);
    const { ids, project, key, missing } = keyOf(world, chosen, wanted);
    const body = {
      ...(called !== undefined && { name: called }),
      ...(granted && { [isScopes ? 'scopes' : 'permissions']: granted }),
      ...(inMs !== undefined && { expires_at: inMs === null ? null : new Date(world.now + inMs).toISOString() }),
      ...(spend !== undefined && { spend_limit: spend }),
    };
    const isEmpty = Object.keys(body).length === 0;
    const end = inMs === null ? Number.POSITIVE_INFINITY : seconds(world.now + (inMs ?? 0)) * 1000;
    const isPutOff = key?.rotatedTo != null && inMs !== undefined && end > (key.expiresAt as number);
    const isLimited = spend !== undefined && JSON.stringify(spend) !== JSON.stringify(key?.spendLimit);
    const isOfSuccessor = isPutOff || (isLimited && key?.rotatedTo != null);
    const refusal =
      missing ??
      (isEmpty
        ? '422 validation_failed'
        : (guard(world, project, key) ?? (isOfSuccessor ? '409 api_key_rotated' : null)));
    const request = { method: 'POST', path: one, permission: 'project_api_keys:write', ids, body } as const;
    const answer = await expectOf(world, chosen, request, refusal);
    if (!answer || !project || !key) return world.happened(tenant, []);
    const before = JSON.stringify(key);
    if (called !== undefined) key.name = called;
    if (granted) key.permissions = inOrder(granted);
    if (inMs !== undefined) key.expiresAt = inMs === null ? null : seconds(world.now + inMs) * 1000;
    const isNew = JSON.stringify(key) !== before;
    if (spend !== undefined) key.spendLimit = spend;
    expect(answer.body).toEqual(shownKey(world, project, key));
    const types = [...(isNew ? ['api_key.updated'] : []), ...(isLimited ? ['spend_limit.updated'] : [])];
    const actor = callerOf(world, chosen).id;
    await world.happened(
      tenant,
      types.map((type) => ({ type, resource: key.id, actor })),
    );
  },
});

const switchKey = command({
  name: 'suspend or reactivate key',
  args: fc.record({ ...onKey, to: fc.constantFrom('suspend' as const, 'reactivate' as const) }),
  async run(world, { who: chosen, target: wanted, to }) {
    const tenant = tenantOf(world, chosen);
    const { ids, project, key, missing } = keyOf(world, chosen, wanted);
    const request = { method: 'POST', path: `${one}/${to}`, permission: 'project_api_keys:write', ids } as const;
    const answer = await expectOf(world, chosen, request, missing ?? guard(world, project, key));
    if (!answer || !project || !key) return world.happened(tenant, []);
    const next = to === 'suspend' ? 'suspended' : 'active';
    const isNew = key.state !== next;
    key.state = next;
    expect(answer.body).toEqual(shownKey(world, project, key));
    const type = to === 'suspend' ? 'api_key.suspended' : 'api_key.reactivated';
    await world.happened(tenant, isNew ? [{ type, resource: key.id, actor: callerOf(world, chosen).id }] : []);
  },
});

const revokeKey = command({
  name: 'revoke key',
  args: fc.record(onKey),
  async run(world, { who: chosen, target: wanted }) {
    const tenant = tenantOf(world, chosen);
    const { ids, key, missing } = keyOf(world, chosen, wanted);
    const request = { method: 'DELETE', path: one, permission: 'project_api_keys:write', ids } as const;
    const answer = await expectOf(world, chosen, request, missing);
    if (!answer || !key) return world.happened(tenant, []);
    expect(answer.body).toEqual({ id: key.id, object: 'organization.project.api_key.deleted', deleted: true });
    const isNew = key.state !== 'revoked';
    key.state = 'revoked';
    await world.happened(
      tenant,
      isNew ? [{ type: 'api_key.deleted', resource: key.id, actor: callerOf(world, chosen).id }] : [],
    );
  },
});

export const keySteps = [
  { weight: 8, arbitrary: createKey },
  { weight: 3, arbitrary: listKeys },
  { weight: 2, arbitrary: retrieveKey },
  { weight: 1, arbitrary: showLimits },
  { weight: 4, arbitrary: rotateKey },
  { weight: 4, arbitrary: updateKey },
  { weight: 4, arbitrary: switchKey },
  { weight: 2, arbitrary: revokeKey },
];
