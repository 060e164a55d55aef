import { type Aggregate, type Changes, chartOf, type StateOf } from '../../kernel/aggregate/aggregate.ts';
import type { Credential, CredentialFields } from './credential.ts';
import { requireFuture } from './project-key.ts';

/** An organization's Admin API key (contract B.4), without its secret. */
export interface AdminKey extends Credential {
  readonly expiresAt: number | null;
}

export type AdminKeyEvent =
  | ({ readonly type: 'admin_key.created'; readonly expires_at: number | null } & CredentialFields)
  | { readonly type: 'admin_key.deleted' }
  /** The full key was shown again to its creator (contract I). */
  | { readonly type: 'admin_key.value_replayed' };

const blank: AdminKey = {
  organizationId: '',
  name: '',
  permissions: [],
  createdAt: 0,
  expiresAt: null,
  digest: '',
  pepperId: '',
  redactedValue: '',
};

const apply: Changes<AdminKey, AdminKeyEvent> = {
  'admin_key.created': (_, event) => ({
    organizationId: event.organization_id,
    name: event.name,
    permissions: event.permissions,
    createdAt: event.created_at,
    expiresAt: event.expires_at,
    digest: event.digest,
    pepperId: event.pepper_id,
    redactedValue: event.redacted_value,
  }),
  'admin_key.deleted': (data) => data,
  'admin_key.value_replayed': (data) => data,
};

const machine = chartOf<AdminKey, AdminKeyEvent>(apply).createMachine({
  id: 'adminKey',
  context: blank,
  initial: 'absent',
  states: {
    absent: { on: { 'admin_key.created': { target: 'active', actions: 'apply' } } },
    active: {
      on: {
        'admin_key.value_replayed': { actions: 'apply' },
        'admin_key.deleted': { target: 'deleted', actions: 'apply' },
      },
    },
    deleted: { type: 'final' },
  },
});

type AdminKeyState = StateOf<typeof machine>;

const decide = {
  /** Idempotent by the digest, so that a retry can follow a crash. */
  create: ({ data }: AdminKeyState, input: Omit<AdminKey, 'createdAt'> & { at: number }): AdminKeyEvent[] => {
    if (data.digest === input.digest) return [];
    requireFuture(input.expiresAt, input.at);
    return [
      {
        type: 'admin_key.created',
        organization_id: input.organizationId,
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
  showAgain: (): AdminKeyEvent[] => [{ type: 'admin_key.value_replayed' }],
  /** Idempotent, also without a key. */
  delete: ({ status }: AdminKeyState): AdminKeyEvent[] => (status === 'active' ? [{ type: 'admin_key.deleted' }] : []),
};

export const adminKey: Aggregate<AdminKey, AdminKeyEvent, typeof decide> = {
  category: 'adminKey',
  version: 1,
  machine,
  apply,
  decide,
};
