import { fault } from '../../errors.ts';
import { type Aggregate, type Changes, chartOf, type StateOf } from '../../kernel/aggregate/aggregate.ts';
import { PersistentMap, PersistentSet } from '../../kernel/aggregate/persistent-map.ts';
import { areSameSpendLimits, type SpendLimit } from '../usage/spend-limit.ts';
import { type BillingEvent, billing, type Ledger, organizationUpcasts, post, unpaid } from './billing.ts';

interface AdmittedAdminKey {
  readonly writesAdminKeys: boolean;
  readonly expiresAt: number | null;
}

/** An organization with its payments and admitted resources (contract B.1, B.4). Money is in whole micro-dollars. */
export interface Organization extends Ledger {
  readonly name: string;
  readonly createdAt: number;
  readonly spendLimit: SpendLimit | null;
  /** Admitted and not yet deleted; protects the last one. */
  readonly adminKeys: PersistentMap<AdmittedAdminKey>;
  readonly policies: PersistentSet;
  /** Ids, admitted and not yet deleted; a close ends them. */
  readonly oauthClients: PersistentSet;
}

export type OrganizationEvent =
  | { readonly type: 'organization.created'; readonly name: string; readonly created_at: number }
  | BillingEvent
  | { readonly type: 'organization.suspended' }
  | { readonly type: 'organization.reactivated' }
  | { readonly type: 'organization.closed' }
  | { readonly type: 'organization.spend_limited'; readonly limit: SpendLimit | null }
  | {
      readonly type: 'organization.admin_key_issued';
      readonly key_id: string;
      readonly writes_admin_keys: boolean;
      readonly expires_at: number | null;
    }
  | { readonly type: 'organization.admin_key_ended'; readonly key_id: string }
  | { readonly type: 'organization.policy_issued'; readonly policy_id: string }
  | { readonly type: 'organization.policy_ended'; readonly policy_id: string }
  | { readonly type: 'organization.oauth_client_issued'; readonly client_id: string }
  | { readonly type: 'organization.oauth_client_ended'; readonly client_id: string };

/** Contract B.5, 409 `policy_limit_reached`. */
export const maxPolicies = 100;

/** Expired ones included (contract B.4, 409 `admin_key_limit_reached`). */
export const maxAdminKeys = 1000;

const blank: Organization = {
  name: '',
  createdAt: 0,
  spendLimit: null,
  adminKeys: PersistentMap.empty(),
  policies: PersistentSet.empty(),
  oauthClients: PersistentSet.empty(),
  ...unpaid,
};

const entered = (data: Organization, event: BillingEvent): Organization => ({ ...data, ...post(data, event) });

const apply: Changes<Organization, OrganizationEvent> = {
  'organization.created': (data, event) => ({ ...data, name: event.name, createdAt: event.created_at }),
  'organization.suspended': (data) => data,
  'organization.reactivated': (data) => data,
  'organization.closed': (data) => data,
  'organization.spend_limited': (data, event) => ({ ...data, spendLimit: event.limit }),
  'organization.tier_changed': entered,
  'billing.credited': entered,
  'billing.refunded': entered,
  'billing.subscription_updated': entered,
  'organization.admin_key_issued': (data, event) => {
    const key = { writesAdminKeys: event.writes_admin_keys, expiresAt: event.expires_at };
    return { ...data, adminKeys: data.adminKeys.with(event.key_id, key) };
  },
  'organization.admin_key_ended': (data, event) => ({ ...data, adminKeys: data.adminKeys.without(event.key_id) }),
  'organization.policy_issued': (data, event) => ({ ...data, policies: data.policies.with(event.policy_id) }),
  'organization.policy_ended': (data, event) => ({ ...data, policies: data.policies.without(event.policy_id) }),
  'organization.oauth_client_issued': (data, event) => ({
    ...data,
    oauthClients: data.oauthClients.with(event.client_id),
  }),
  'organization.oauth_client_ended': (data, event) => ({
    ...data,
    oauthClients: data.oauthClients.without(event.client_id),
  }),
};

const machine = chartOf<Organization, OrganizationEvent>(apply).createMachine({
  id: 'organization',
  context: blank,
  initial: 'absent',
  states: {
    absent: { on: { 'organization.created': { target: 'active', actions: 'apply' } } },
    active: {
      on: {
        'organization.suspended': { target: 'suspended', actions: 'apply' },
        'organization.closed': { target: 'closed', actions: 'apply' },
        'billing.credited': { actions: 'apply' },
        'billing.refunded': { actions: 'apply' },
        'billing.subscription_updated': { actions: 'apply' },
        'organization.tier_changed': { actions: 'apply' },
        'organization.spend_limited': { actions: 'apply' },
        'organization.admin_key_issued': { actions: 'apply' },
        'organization.admin_key_ended': { actions: 'apply' },
        'organization.policy_issued': { actions: 'apply' },
        'organization.policy_ended': { actions: 'apply' },
        'organization.oauth_client_issued': { actions: 'apply' },
        'organization.oauth_client_ended': { actions: 'apply' },
      },
    },
    suspended: {
      on: {
        'billing.credited': { actions: 'apply' },
        'billing.refunded': { actions: 'apply' },
        'billing.subscription_updated': { actions: 'apply' },
        'organization.tier_changed': { actions: 'apply' },
        'organization.reactivated': { target: 'active', actions: 'apply' },
        'organization.closed': { target: 'closed', actions: 'apply' },
        'organization.admin_key_ended': { actions: 'apply' },
        'organization.policy_ended': { actions: 'apply' },
        'organization.oauth_client_ended': { actions: 'apply' },
      },
    },
    closed: {
      on: {
        'billing.refunded': { actions: 'apply' },
        'organization.tier_changed': { actions: 'apply' },
        'organization.admin_key_ended': { actions: 'apply' },
        'organization.policy_ended': { actions: 'apply' },
        'organization.oauth_client_ended': { actions: 'apply' },
      },
    },
  },
});

type OrganizationState = StateOf<typeof machine>;

interface AdmitAdminKey {
  readonly keyId: string;
  readonly permissions: readonly string[];
  readonly expiresAt: number | null;
}

const admitted = (
  { data }: OrganizationState,
  { keyId, permissions, expiresAt }: AdmitAdminKey,
): OrganizationEvent[] => {
  if (data.adminKeys.has(keyId)) return [];
  const writes_admin_keys = permissions.includes('admin_api_keys:write');
  return [{ type: 'organization.admin_key_issued', key_id: keyId, writes_admin_keys, expires_at: expiresAt }];
};

const clientEnded = (id: string): OrganizationEvent => ({ type: 'organization.oauth_client_ended', client_id: id });

const decide = {
  create: (_: OrganizationState, input: { name: string; at: number }): OrganizationEvent[] => [
    { type: 'organization.created', name: input.name, created_at: input.at },
  ],
  createOnce: (state: OrganizationState, input: { name: string; at: number }): OrganizationEvent[] =>
    state.status === 'absent' ? decide.create(state, input) : [],
  suspend: (): OrganizationEvent[] => [{ type: 'organization.suspended' }],
  reactivate: (): OrganizationEvent[] => [{ type: 'organization.reactivated' }],
  ...billing,
  /** Only a real change is an event. @throws Fault 404 `spend_limit_not_found` if null would take nothing away */
  limitSpend: ({ status, data }: OrganizationState, { limit }: { limit: SpendLimit | null }): OrganizationEvent[] => {
    const isSame = status === 'active' && areSameSpendLimits(data.spendLimit, limit);
    if (isSame && limit === null) throw fault('spend_limit_not_found');
    return isSame ? [] : [{ type: 'organization.spend_limited', limit }];
  },
  /** Ends the OAuth clients in the same append, since all are known here. */
  close: ({ data }: OrganizationState): OrganizationEvent[] => [
    { type: 'organization.closed' },
    ...data.oauthClients.ids().map(clientEnded),
  ],
  /** Precedes the key's own stream. */
  issueAdminKey: (state: OrganizationState, input: AdmitAdminKey): OrganizationEvent[] => {
    const { adminKeys } = state.data;
    if (adminKeys.size >= maxAdminKeys && !adminKeys.has(input.keyId)) {
      throw fault('admin_key_limit_reached', {
        message: `The organization has ${maxAdminKeys} Admin API keys, the most it may have. Expired ones count until they are deleted.`,
      });
    }
    return admitted(state, input);
  },
  /** For the operator, without the limit: without a key none can be deleted. */
  bootstrapAdminKey: (state: OrganizationState, input: AdmitAdminKey): OrganizationEvent[] => admitted(state, input),
  /** Refuses to end the last key that can create others (409 `last_admin_key`). `unmade`: admitted keys without a stream. */
  endAdminKey: (
    { data }: OrganizationState,
    input: { keyId: string; at: number; unmade: readonly string[] },
  ): OrganizationEvent[] => {
    if (!data.adminKeys.has(input.keyId)) return [];
    const writer = data.adminKeys
      .entries()
      .some(
        ([id, key]) =>
          id !== input.keyId &&
          !input.unmade.includes(id) &&
          key.writesAdminKeys &&
          (key.expiresAt === null || key.expiresAt > input.at),
      );
    if (!writer) throw fault('last_admin_key');
    return [{ type: 'organization.admin_key_ended', key_id: input.keyId }];
  },
  /** For a closed organization, without the protection of the last key. */
  dropAdminKeys: ({ data }: OrganizationState, input: { most: number }): OrganizationEvent[] =>
    data.adminKeys
      .keys()
      .slice(0, input.most)
      .map((key_id) => ({ type: 'organization.admin_key_ended', key_id })),
  /** For an admitted key without a stream. */
  dropAdminKey: ({ data }: OrganizationState, input: { keyId: string }): OrganizationEvent[] =>
    data.adminKeys.has(input.keyId) ? [{ type: 'organization.admin_key_ended', key_id: input.keyId }] : [],
  /** Precedes the policy's own stream. */
  issuePolicy: ({ data }: OrganizationState, input: { policyId: string }): OrganizationEvent[] => {
    if (data.policies.has(input.policyId)) return [];
    if (data.policies.size >= maxPolicies) {
      throw fault('policy_limit_reached', {
        message: `The organization has ${maxPolicies} policies, the most it may have.`,
      });
    }
    return [{ type: 'organization.policy_issued', policy_id: input.policyId }];
  },
  endPolicy: ({ data }: OrganizationState, input: { policyId: string }): OrganizationEvent[] =>
    data.policies.has(input.policyId) ? [{ type: 'organization.policy_ended', policy_id: input.policyId }] : [],
  /** Precedes the client's own stream. */
  issueOAuthClient: (_: OrganizationState, input: { clientId: string }): OrganizationEvent[] => [
    { type: 'organization.oauth_client_issued', client_id: input.clientId },
  ],
  endOAuthClient: ({ data }: OrganizationState, input: { clientId: string }): OrganizationEvent[] =>
    data.oauthClients.has(input.clientId) ? [clientEnded(input.clientId)] : [],
};

export const organization: Aggregate<Organization, OrganizationEvent, typeof decide> = {
  category: 'organization',
  version: 2,
  upcasts: organizationUpcasts,
  machine,
  apply,
  decide,
};
