import fc from 'fast-check';
import { expect } from 'vitest';
import { type Policy, stateOf, statusOf, type Tenant } from './model.ts';
import { command, expectOf, idOf, otherOf, pick, type Target, target, tenantOf, who } from './step.ts';
import type { World } from './world.ts';

/** What a history has to say of something now. */
interface Wanted {
  readonly status: string;
  readonly effective: string;
  readonly name: string;
}

/** Where a history is asked for, and what the model has there; undefined where it knows of nothing. */
interface Asked {
  readonly path: string;
  readonly ids?: Readonly<Record<string, string>>;
  readonly missing: string;
  readonly wanted: Wanted | undefined;
}

const policyStatus = (policy: Policy): string => (policy.isDeleted ? 'deleted' : stateOf(policy));

/** What still acts does so as far as its organization lets it. */
const within = ({ status }: Tenant, own: string): string => (own === 'active' ? status : own);

const kinds: Record<string, (world: World, mine: Tenant, theirs: Tenant, chosen: Target, key: number) => Asked> = {
  organization: (_, { name, status }) => ({
    path: '/history',
    missing: '',
    wanted: { status, effective: status, name },
  }),
  project(_, mine, theirs, chosen) {
    const project_id = idOf(chosen, mine.projects.values(), theirs.projects.values());
    const project = mine.projects.get(project_id);
    const status = project?.archivedAt === null ? 'active' : 'archived';
    return {
      path: '/projects/{project_id}/history',
      ids: { project_id },
      missing: '404 project_not_found',
      wanted: project && { status, effective: within(mine, status), name: project.name },
    };
  },
  'project key'({ now }, mine, theirs, chosen, n) {
    const projects = [mine, theirs].map((tenant) => [...tenant.projects.values()].filter(({ keys }) => keys.size > 0));
    const project_id = idOf(chosen, projects[0]!, projects[1]!);
    const project = mine.projects.get(project_id);
    const key = project && pick(project.keys.values(), n);
    return {
      path: '/projects/{project_id}/api_keys/{api_key_id}/history',
      ids: { project_id, api_key_id: key?.id ?? 'key_none' },
      missing: '404 project_not_found',
      wanted: key && {
        status: key.state,
        effective: within(mine, statusOf(key, project, now)),
        name: key.name,
      },
    };
  },
  'Admin key'({ now }, mine, theirs, chosen) {
    const api_key_id = idOf(chosen, mine.adminKeys.values(), theirs.adminKeys.values());
    const key = mine.adminKeys.get(api_key_id);
    const isOver = key?.expiresAt != null && key.expiresAt <= now;
    return {
      path: '/admin_api_keys/{api_key_id}/history',
      ids: { api_key_id },
      missing: '404 admin_api_key_not_found',
      wanted: key && {
        status: key.isDeleted ? 'deleted' : expect.stringMatching(isOver ? /^(active|expired)$/ : /^active$/),
        effective: key.isDeleted ? 'deleted' : isOver ? 'expired' : within(mine, 'active'),
        name: key.name,
      },
    };
  },
  policy(_, mine, theirs, chosen) {
    const policy_id = idOf(chosen, mine.policies.values(), theirs.policies.values());
    const policy = mine.policies.get(policy_id);
    const status = policy ? policyStatus(policy) : '';
    return {
      path: '/policies/{policy_id}/history',
      ids: { policy_id },
      missing: '404 policy_not_found',
      wanted: policy && { status, effective: status, name: policy.name },
    };
  },
};

/** What something is, what it may do and what led there, of whatever is still or no longer in a list. */
const readHistory = command({
  name: 'read history',
  args: fc.record({ who, target, key: fc.nat(20), kind: fc.constantFrom(...Object.keys(kinds)) }),
  async run(world, { who: chosen, target: about, key, kind }) {
    const [mine, theirs] = [tenantOf(world, chosen), otherOf(world, chosen)];
    const { path, ids = {}, missing, wanted } = kinds[kind]!(world, mine, theirs, about, key);
    const request = { method: 'GET', path, ids, permission: 'audit_logs:read', query: 'order=desc&limit=1' } as const;
    const answer = await expectOf(world, chosen, request, wanted ? null : missing);
    if (!answer || !wanted) return;
    const { state, data } = answer.body as { state: object; data: { status: string; id: string }[] };
    const { name, status, effective } = wanted;
    expect(state).toMatchObject({ status, effective: { status: effective }, fields: { name } });
    // The last change has led to the present state.
    expect(data).toMatchObject([{ status, id: (state as { last_event: string }).last_event }]);
  },
});

export const historySteps = [{ weight: 4, arbitrary: readHistory }];
