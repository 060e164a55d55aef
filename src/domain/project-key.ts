import { assign, setup } from 'xstate';
import { fault } from '../errors.ts';
import type { Aggregate } from '../kernel/aggregate.ts';

/** A project API key (contract B.3). The secret is never here; its peppered digest is. */
export interface ProjectKey {
  readonly organizationId: string;
  readonly projectId: string;
  readonly name: string;
  readonly permissions: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly suspended: boolean;
  /** How it ended, once it has. */
  readonly ended: 'revoked' | 'expired' | null;
  readonly digest: string;
  readonly pepperId: string;
  readonly redactedValue: string;
}

export type ProjectKeyFact =
  | {
      readonly type: 'project_key.created';
      readonly organization_id: string;
      readonly project_id: string;
      readonly name: string;
      readonly permissions: readonly string[];
      readonly created_at: number;
      readonly expires_at: number | null;
      readonly digest: string;
      readonly pepper_id: string;
      readonly redacted_value: string;
    }
  | {
      readonly type: 'project_key.updated';
      readonly name: string;
      readonly permissions: readonly string[];
      readonly expires_at: number | null;
    }
  | { readonly type: 'project_key.suspended' }
  | { readonly type: 'project_key.reactivated' }
  | { readonly type: 'project_key.revoked'; readonly reason: 'requested' | 'project_archived' }
  | { readonly type: 'project_key.expired' }
  /** The full key was shown once more to the credential that made it (contract I). */
  | { readonly type: 'project_key.value_replayed' };

const blank: ProjectKey = {
  organizationId: '',
  projectId: '',
  name: '',
  permissions: [],
  createdAt: 0,
  expiresAt: null,
  suspended: false,
  ended: null,
  digest: '',
  pepperId: '',
  redactedValue: '',
};

const apply = (data: ProjectKey, fact: ProjectKeyFact): ProjectKey => {
  switch (fact.type) {
    case 'project_key.created':
      return {
        organizationId: fact.organization_id,
        projectId: fact.project_id,
        name: fact.name,
        permissions: fact.permissions,
        createdAt: fact.created_at,
        expiresAt: fact.expires_at,
        suspended: false,
        ended: null,
        digest: fact.digest,
        pepperId: fact.pepper_id,
        redactedValue: fact.redacted_value,
      };
    case 'project_key.updated':
      return { ...data, name: fact.name, permissions: fact.permissions, expiresAt: fact.expires_at };
    case 'project_key.suspended':
      return { ...data, suspended: true };
    case 'project_key.reactivated':
      return { ...data, suspended: false };
    case 'project_key.revoked':
      return { ...data, ended: 'revoked' };
    case 'project_key.expired':
      return { ...data, ended: 'expired' };
    case 'project_key.value_replayed':
      return data;
  }
};

const machine = setup({
  types: { context: {} as ProjectKey, events: {} as ProjectKeyFact },
  actions: { apply: assign(({ context, event }) => apply(context, event)) },
}).createMachine({
  id: 'projectKey',
  context: blank,
  initial: 'absent',
  states: {
    absent: { on: { 'project_key.created': { target: 'active', actions: 'apply' } } },
    active: {
      on: {
        'project_key.updated': { actions: 'apply' },
        'project_key.value_replayed': { actions: 'apply' },
        'project_key.suspended': { target: 'suspended', actions: 'apply' },
        'project_key.expired': { target: 'expired', actions: 'apply' },
        'project_key.revoked': { target: 'revoked', actions: 'apply' },
      },
    },
    suspended: {
      on: {
        'project_key.updated': { actions: 'apply' },
        'project_key.value_replayed': { actions: 'apply' },
        'project_key.reactivated': { target: 'active', actions: 'apply' },
        'project_key.expired': { target: 'expired', actions: 'apply' },
        'project_key.revoked': { target: 'revoked', actions: 'apply' },
      },
    },
    expired: {
      on: {
        'project_key.value_replayed': { actions: 'apply' },
        'project_key.revoked': { target: 'revoked', actions: 'apply' },
      },
    },
    revoked: { type: 'final' },
  },
});

export interface CreateProjectKey {
  readonly organizationId: string;
  readonly projectId: string;
  readonly name: string;
  readonly permissions: readonly string[];
  readonly expiresAt: number | null;
  readonly digest: string;
  readonly pepperId: string;
  readonly redactedValue: string;
  readonly at: number;
}

const hasExpired = (data: ProjectKey, at: number): boolean =>
  data.ended === 'expired' || (data.ended === null && data.expiresAt !== null && data.expiresAt <= at);

const decide = {
  /** Made twice with one secret it is made once: what a crash interrupted is taken up again. */
  create: (data: ProjectKey, input: CreateProjectKey): ProjectKeyFact[] => {
    if (data.digest === input.digest) return [];
    if (input.expiresAt !== null && input.expiresAt <= input.at)
      throw fault('expires_at_not_future', { param: 'expires_at' });
    return [
      {
        type: 'project_key.created',
        organization_id: input.organizationId,
        project_id: input.projectId,
        name: input.name,
        permissions: input.permissions,
        created_at: input.at,
        expires_at: input.expiresAt,
        digest: input.digest,
        pepper_id: input.pepperId,
        redacted_value: input.redactedValue,
      },
    ];
  },
  /** Changes what is given; a change to what is already so changes nothing. */
  update: (
    data: ProjectKey,
    input: { name?: string; permissions?: readonly string[]; expiresAt?: number | null; at: number },
  ): ProjectKeyFact[] => {
    if (hasExpired(data, input.at)) throw fault('api_key_expired', { status: 409 });
    const { name = data.name, permissions = data.permissions, expiresAt = data.expiresAt } = input;
    if (input.expiresAt != null && input.expiresAt <= input.at)
      throw fault('expires_at_not_future', { param: 'expires_at' });
    const same =
      name === data.name && expiresAt === data.expiresAt && permissions.join(' ') === data.permissions.join(' ');
    return same && data.ended === null
      ? []
      : [{ type: 'project_key.updated', name, permissions, expires_at: expiresAt }];
  },
  suspend: (data: ProjectKey, input: { at: number }): ProjectKeyFact[] => {
    if (hasExpired(data, input.at)) throw fault('api_key_expired', { status: 409 });
    return data.suspended && data.ended === null ? [] : [{ type: 'project_key.suspended' }];
  },
  reactivate: (data: ProjectKey, input: { at: number }): ProjectKeyFact[] => {
    if (hasExpired(data, input.at)) throw fault('api_key_expired', { status: 409 });
    return data.suspended || data.ended !== null ? [{ type: 'project_key.reactivated' }] : [];
  },
  /** Revoking what is revoked changes nothing and is no error (contract B.3). */
  revoke: (data: ProjectKey, input: { reason: 'requested' | 'project_archived' }): ProjectKeyFact[] =>
    data.ended === 'revoked' ? [] : [{ type: 'project_key.revoked', reason: input.reason }],
  showAgain: (): ProjectKeyFact[] => [{ type: 'project_key.value_replayed' }],
  /** Latches what the clock already decided, so that a clock that goes back resurrects nothing. */
  expire: (data: ProjectKey, input: { at: number }): ProjectKeyFact[] =>
    data.ended === null && hasExpired(data, input.at) ? [{ type: 'project_key.expired' }] : [],
};

export const projectKey: Aggregate<ProjectKey, ProjectKeyFact, typeof decide> = {
  category: 'projectKey',
  version: 1,
  machine,
  apply,
  decide,
};
