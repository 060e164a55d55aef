import fc from 'fast-check';
import { expect } from 'vitest';
import {
  currentOf,
  isUnpublished,
  type Policy,
  sameTerms,
  stateOf,
  type Tenant,
  type Terms,
  type Version,
} from './model.ts';
import {
  callerOf,
  command,
  create,
  expectOf,
  idempotencyKey,
  idOf,
  list,
  otherOf,
  paging,
  seconds,
  type Target,
  target,
  tenantOf,
  type Who,
  who,
} from './step.ts';
import { dataOf, type World } from './world.ts';

const path = '/policies';
const one = `${path}/{policy_id}`;
const rules = ['true', 'request.max_tokens > 10', 'request.text.contains("x")'] as const;
const rule = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...rules) },
  { weight: 1, arbitrary: fc.constantFrom('nonsense(', 'response.text == ""') },
);
const isGood = (text: string): boolean => rules.some((known) => known === text);

const changes = fc.record(
  {
    name: fc.constantFrom('P', 'Q'),
    description: fc.constantFrom('', 'why'),
    rule,
    mode: fc.constantFrom('monitoring', 'enforcing'),
    match_threshold_basis_points: fc.constantFrom(1, 5000, 10_000),
    // Numbers of projects; none of them means the whole organization.
    projects: fc.uniqueArray(fc.nat(3), { maxLength: 2 }),
  },
  { requiredKeys: [] },
);
type Changes = typeof changes extends fc.Arbitrary<infer T> ? T : never;

const usual: Terms = {
  rule: '',
  direction: 'request',
  mode: 'monitoring',
  scope: 'organization',
  project_ids: [],
  match_threshold_basis_points: 5000,
};

const shownVersion = (version: Version, policy: Policy) => {
  const { id, version: number, publishedAt, ...terms } = version;
  return {
    object: 'organization.policy.version',
    id,
    version: number,
    ...terms,
    published_at: seconds(publishedAt),
    current: currentOf(policy) === version,
  };
};

const shownItem = (policy: Policy) => ({
  object: 'organization.policy',
  id: policy.id,
  name: policy.name,
  description: policy.description,
  state: stateOf(policy),
  revision: policy.revision,
  has_unpublished_changes: isUnpublished(policy),
  created_at: seconds(policy.createdAt),
  updated_at: seconds(policy.updatedAt),
  current_version: policy.versions.length,
});

const shownPolicy = (policy: Policy) => {
  const current = currentOf(policy);
  return {
    ...shownItem(policy),
    draft: { ...policy.draft, base_version: policy.versions.length },
    published: current ? shownVersion(current, policy) : null,
  };
};

/** The fields of a body: projects as the ids that the organization has for their numbers. */
const bodyOf = (tenant: Tenant, { projects, ...rest }: Changes) => {
  if (!projects) return rest;
  const all = [...tenant.projects.values()];
  const project_ids = [...new Set(projects.flatMap((n) => all[n]?.id ?? []))];
  return { ...rest, project_ids, scope: project_ids.length > 0 ? 'project' : 'organization' };
};

/** The refusal for projects that are named anew and not active ones of the organization. */
const projectsRefusal = (tenant: Tenant, named: readonly string[], before: readonly string[] = []): string | null => {
  const archived = named.findIndex((id) => !before.includes(id) && tenant.projects.get(id)?.archivedAt !== null);
  return archived < 0 ? null : `409 project_archived project_ids.${archived}`;
};

const createPolicy = command({
  name: 'create policy',
  args: fc.record({ who, rule, changes, key: idempotencyKey }),
  async run(world, { who: chosen, rule: text, changes: chosenChanges, key }) {
    const tenant = tenantOf(world, chosen);
    const body = { name: 'P', rule: text, ...bodyOf(tenant, chosenChanges) };
    const { name, description = '', ...terms } = body;
    const request = { method: 'POST', path, permission: 'policies:write', body, idempotencyKey: key } as const;
    await create(world, chosen, request, {
      before: isGood(body.rule) ? null : '422 policy_rule_invalid rule',
      refusal: () => projectsRefusal(tenant, 'project_ids' in terms ? (terms.project_ids as string[]) : []),
      hasValue: false,
      made(answer) {
        const policy: Policy = {
          id: String(answer.id),
          name,
          description,
          createdAt: world.now,
          updatedAt: world.now,
          revision: 1,
          draft: { ...usual, ...terms },
          versions: [],
          pausedFrom: null,
          isDeleted: false,
        };
        tenant.policies.set(policy.id, policy);
        expect(answer).toEqual(shownPolicy(policy));
        return { type: 'policy.created', stands: () => !policy.isDeleted };
      },
    });
  },
});

const listPolicies = command({
  name: 'list policies',
  args: fc.record({
    who,
    paging,
    state: fc.option(fc.constantFrom('draft', 'monitoring', 'enforcing', 'paused'), { nil: undefined }),
  }),
  async run(world, { who: chosen, paging: page, state }) {
    const { policies } = tenantOf(world, chosen);
    await list(
      world,
      chosen,
      { method: 'GET', path, permission: 'policies:read' },
      {
        paging: page,
        query: state === undefined ? [] : [`state=${state}`],
        all: [...policies.values()],
        foreign: [...otherOf(world, chosen).policies.values()],
        isShown(id) {
          const policy = policies.get(id) as Policy;
          return !policy.isDeleted && (state === undefined || stateOf(policy) === state);
        },
        item: (id) => shownItem(policies.get(id) as Policy),
        refusal: null,
      },
    );
  },
});

/** The policy that a step is about; deleted ones are nowhere. */
const policyOf = (world: World, chosen: Who, wanted: Target) => {
  const tenant = tenantOf(world, chosen);
  const policy_id = idOf(wanted, tenant.policies.values(), otherOf(world, chosen).policies.values());
  const policy = tenant.policies.get(policy_id);
  const isThere = policy?.isDeleted === false;
  return {
    tenant,
    ids: { policy_id },
    policy: isThere ? policy : undefined,
    missing: isThere ? null : '404 policy_not_found',
  };
};

const retrievePolicy = command({
  name: 'retrieve policy',
  args: fc.record({ who, target }),
  async run(world, { who: chosen, target: wanted }) {
    const { ids, policy, missing } = policyOf(world, chosen, wanted);
    const answer = await expectOf(
      world,
      chosen,
      { method: 'GET', path: one, permission: 'policies:read', ids },
      missing,
    );
    if (answer) expect(answer.body).toEqual(shownPolicy(policy as Policy));
  },
});

const listVersions = command({
  name: 'list versions',
  args: fc.record({ who, target, paging }),
  async run(world, { who: chosen, target: wanted, paging: page }) {
    const { tenant, ids, policy, missing } = policyOf(world, chosen, wanted);
    const versions = policy?.versions ?? [];
    const others = [...tenant.policies.values()].filter(({ id }) => id !== policy?.id);
    await list(
      world,
      chosen,
      { method: 'GET', path: `${one}/versions`, permission: 'policies:read', ids },
      {
        paging: page,
        all: versions,
        foreign: others.flatMap((other) => other.versions),
        isShown: () => true,
        item: (id) => shownVersion(versions.find((version) => version.id === id) as Version, policy as Policy),
        refusal: missing,
      },
    );
  },
});

const listDecisions = command({
  name: 'list decisions',
  args: fc.record({ who, target }),
  async run(world, { who: chosen, target: wanted }) {
    const { ids, missing } = policyOf(world, chosen, wanted);
    const request = { method: 'GET', path: `${one}/decisions`, permission: 'policies:read', ids } as const;
    const answer = await expectOf(world, chosen, request, missing);
    // Nobody calls a model here, so nothing is decided.
    if (answer) expect(dataOf(answer)).toEqual([]);
  },
});

const validateRule = command({
  name: 'validate rule',
  args: fc.record({ who, rule }),
  async run(world, { who: chosen, rule: text }) {
    const request = {
      method: 'POST',
      path: `${path}/validate`,
      permission: 'policies:read',
      body: { rule: text, direction: 'request' },
    } as const;
    const answer = await expectOf(world, chosen, request, null);
    if (answer) expect(answer.body.valid).toBe(isGood(text));
    await world.happened(tenantOf(world, chosen), []);
  },
});

/** The revision that the administrator has seen: mostly the latest. */
const seen = fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constantFrom(1, 2) });
const revisionOf = (policy: Policy | undefined, behind: number): number =>
  Math.max(1, (policy?.revision ?? 1) - behind);
const stale = (policy: Policy, revision: number): string | null =>
  policy.revision === revision ? null : '409 policy_revision_conflict';

const updatePolicy = command({
  name: 'update policy',
  args: fc.record({ who, target, seen, changes }),
  async run(world, { who: chosen, target: wanted, seen: behind, changes: chosenChanges }) {
    const { tenant, ids, policy, missing } = policyOf(world, chosen, wanted);
    const revision = revisionOf(policy, behind);
    const fields = bodyOf(tenant, chosenChanges);
    const { name, description, ...terms } = fields;
    const draft = policy && { ...policy.draft, ...terms };
    const refusal = (): string | null => {
      if (!policy || !draft) return missing;
      if (draft.rule !== policy.draft.rule && !isGood(draft.rule)) return '422 policy_rule_invalid rule';
      return stale(policy, revision) ?? projectsRefusal(tenant, draft.project_ids, policy.draft.project_ids);
    };
    const request = {
      method: 'POST',
      path: one,
      permission: 'policies:write',
      ids,
      body: { revision, ...fields },
    } as const;
    const answer = await expectOf(world, chosen, request, refusal());
    if (!answer || !policy || !draft) return world.happened(tenant, []);
    const isNew =
      !sameTerms(draft, policy.draft) ||
      (name ?? policy.name) !== policy.name ||
      (description ?? policy.description) !== policy.description;
    if (isNew) {
      policy.name = name ?? policy.name;
      policy.description = description ?? policy.description;
      policy.draft = draft;
      policy.revision += 1;
      policy.updatedAt = world.now;
    }
    expect(answer.body).toEqual(shownPolicy(policy));
    await world.happened(
      tenant,
      isNew ? [{ type: 'policy.updated', resource: policy.id, actor: callerOf(world, chosen).id }] : [],
    );
  },
});

const publishPolicy = command({
  name: 'publish policy',
  args: fc.record({ who, target, seen }),
  async run(world, { who: chosen, target: wanted, seen: behind }) {
    const { tenant, ids, policy, missing } = policyOf(world, chosen, wanted);
    const revision = revisionOf(policy, behind);
    const refusal = (): string | null => {
      if (!policy) return missing;
      const conflict = stale(policy, revision) ?? (isUnpublished(policy) ? null : '409 policy_no_unpublished_changes');
      return conflict ?? projectsRefusal(tenant, policy.draft.project_ids);
    };
    const request = {
      method: 'POST',
      path: `${one}/publish`,
      permission: 'policies:publish',
      ids,
      body: { revision },
    } as const;
    const answer = await expectOf(world, chosen, request, refusal());
    if (!answer || !policy) return world.happened(tenant, []);
    const { id } = answer.body.published as { id: string };
    policy.versions.push({ id, version: policy.versions.length + 1, publishedAt: world.now, ...policy.draft });
    policy.revision += 1;
    policy.updatedAt = world.now;
    expect(answer.body).toEqual(shownPolicy(policy));
    await world.happened(tenant, [
      { type: 'policy.published', resource: policy.id, actor: callerOf(world, chosen).id },
    ]);
  },
});

const pausePolicy = command({
  name: 'pause policy',
  args: fc.record({ who, target, seen }),
  async run(world, { who: chosen, target: wanted, seen: behind }) {
    const { tenant, ids, policy, missing } = policyOf(world, chosen, wanted);
    const revision = revisionOf(policy, behind);
    const refusal = (): string | null => {
      if (!policy) return missing;
      // The very pause that is in effect may be sent again.
      if (policy.pausedFrom === revision) return null;
      return stale(policy, revision) ?? (policy.versions.length === 0 ? '409 policy_not_pausable' : null);
    };
    const request = {
      method: 'POST',
      path: `${one}/pause`,
      permission: 'policies:publish',
      ids,
      body: { revision },
    } as const;
    const answer = await expectOf(world, chosen, request, refusal());
    if (!answer || !policy) return world.happened(tenant, []);
    const isNew = policy.pausedFrom === null;
    if (isNew) {
      policy.pausedFrom = policy.revision;
      policy.revision += 1;
      policy.updatedAt = world.now;
    }
    expect(answer.body).toEqual(shownPolicy(policy));
    await world.happened(
      tenant,
      isNew ? [{ type: 'policy.paused', resource: policy.id, actor: callerOf(world, chosen).id }] : [],
    );
  },
});

const resumePolicy = command({
  name: 'resume policy',
  args: fc.record({ who, target, seen }),
  async run(world, { who: chosen, target: wanted, seen: behind }) {
    const { tenant, ids, policy, missing } = policyOf(world, chosen, wanted);
    const revision = revisionOf(policy, behind);
    const refusal = policy
      ? (stale(policy, revision) ?? (policy.pausedFrom === null ? '409 policy_not_paused' : null))
      : missing;
    const request = {
      method: 'POST',
      path: `${one}/resume`,
      permission: 'policies:publish',
      ids,
      body: { revision },
    } as const;
    const answer = await expectOf(world, chosen, request, refusal);
    if (!answer || !policy) return world.happened(tenant, []);
    policy.pausedFrom = null;
    policy.revision += 1;
    policy.updatedAt = world.now;
    expect(answer.body).toEqual(shownPolicy(policy));
    await world.happened(tenant, [{ type: 'policy.resumed', resource: policy.id, actor: callerOf(world, chosen).id }]);
  },
});

const deletePolicy = command({
  name: 'delete policy',
  args: fc.record({ who, target, seen }),
  async run(world, { who: chosen, target: wanted, seen: behind }) {
    const { tenant, ids, policy, missing } = policyOf(world, chosen, wanted);
    const revision = revisionOf(policy, behind);
    const isLive = policy !== undefined && policy.versions.length > 0 && policy.pausedFrom === null;
    const refusal = policy ? (stale(policy, revision) ?? (isLive ? '409 policy_is_live' : null)) : missing;
    const request = {
      method: 'DELETE',
      path: one,
      permission: 'policies:write',
      ids,
      query: `revision=${revision}`,
    } as const;
    const answer = await expectOf(world, chosen, request, refusal);
    if (!answer || !policy) return world.happened(tenant, []);
    policy.isDeleted = true;
    expect(answer.body).toEqual({ id: policy.id, object: 'organization.policy.deleted', deleted: true });
    await world.happened(tenant, [{ type: 'policy.deleted', resource: policy.id, actor: callerOf(world, chosen).id }]);
  },
});

export const policySteps = [
  { weight: 5, arbitrary: createPolicy },
  { weight: 2, arbitrary: listPolicies },
  { weight: 1, arbitrary: retrievePolicy },
  { weight: 1, arbitrary: listVersions },
  { weight: 1, arbitrary: listDecisions },
  { weight: 1, arbitrary: validateRule },
  { weight: 4, arbitrary: updatePolicy },
  { weight: 4, arbitrary: publishPolicy },
  { weight: 3, arbitrary: pausePolicy },
  { weight: 3, arbitrary: resumePolicy },
  { weight: 1, arbitrary: deletePolicy },
];
