import { fault } from '../../errors.ts';
import { type Aggregate, type Changes, chartOf, type State, type StateOf } from '../../kernel/aggregate/aggregate.ts';
import { nextWholeSecond, promisedEnd, wholeSecond } from '../expiry.ts';
import { areSameSpendLimits, type SpendLimit } from '../usage/spend-limit.ts';
import type { Credential, CredentialFields } from './credential.ts';
import {
  areSameLimits,
  type KeyLimitFields,
  type KeyLimits,
  keyLimitFields,
  keyLimits,
  noKeyLimits,
} from './key-limits.ts';

/** A project API key (contract B.3), without its secret. */
export interface ProjectKey extends Credential {
  readonly projectId: string;
  readonly expiresAt: number | null;
  /** Predecessor and successor; null without a rotation. */
  readonly rotatedFrom: string | null;
  readonly rotatedTo: string | null;
  /** The first key of its chain of rotations, whose windows count it; null for itself. */
  readonly windowsOf: string | null;
  readonly limits: KeyLimits;
  readonly spendLimit: SpendLimit | null;
}

/** Contract B.3. */
export const longestGraceSeconds = 7 * 24 * 60 * 60;

/** `rotation_refused`: a successor whose predecessor had ended or had another one. */
type RevokeReason = 'requested' | 'project_archived' | 'rotation_refused';

export type ProjectKeyEvent =
  | ({
      readonly type: 'project_key.created';
      readonly project_id: string;
      readonly expires_at: number | null;
      /** Only of a successor: ids of keys. */
      readonly rotated_from?: string;
      readonly windows_of?: string;
      /** Only if it has some. */
      readonly limits?: KeyLimitFields;
      readonly spend_limit?: SpendLimit;
    } & CredentialFields)
  /** The key has a successor, and expires after its grace. */
  | { readonly type: 'project_key.rotated'; readonly successor_id: string; readonly expires_at: number }
  | {
      readonly type: 'project_key.updated';
      readonly name: string;
      readonly permissions: readonly string[];
      readonly expires_at: number | null;
    }
  | ({ readonly type: 'project_key.limits_updated' } & KeyLimitFields)
  | { readonly type: 'project_key.spend_limited'; readonly limit: SpendLimit | null }
  | { readonly type: 'project_key.suspended' }
  | { readonly type: 'project_key.reactivated' }
  | { readonly type: 'project_key.revoked'; readonly reason: RevokeReason }
  | { readonly type: 'project_key.expired' }
  /** The full key was shown again to its creator (contract I). */
  | { readonly type: 'project_key.value_replayed' };

const blank: ProjectKey = {
  organizationId: '',
  projectId: '',
  name: '',
  permissions: [],
  createdAt: 0,
  expiresAt: null,
  digest: '',
  pepperId: '',
  redactedValue: '',
  rotatedFrom: null,
  rotatedTo: null,
  windowsOf: null,
  limits: noKeyLimits,
  spendLimit: null,
};

const apply: Changes<ProjectKey, ProjectKeyEvent> = {
  'project_key.created': (_, event) => ({
    organizationId: event.organization_id,
    projectId: event.project_id,
    name: event.name,
    permissions: event.permissions,
    createdAt: event.created_at,
    expiresAt: event.expires_at,
    digest: event.digest,
    pepperId: event.pepper_id,
    redactedValue: event.redacted_value,
    rotatedFrom: event.rotated_from ?? null,
    rotatedTo: null,
    windowsOf: event.windows_of ?? null,
    limits: keyLimits(event.limits),
    spendLimit: event.spend_limit ?? null,
  }),
  'project_key.rotated': (data, event) => ({ ...data, rotatedTo: event.successor_id, expiresAt: event.expires_at }),
  'project_key.updated': (data, event) => ({
    ...data,
    name: event.name,
    permissions: event.permissions,
    expiresAt: event.expires_at,
  }),
  'project_key.limits_updated': (data, event) => ({ ...data, limits: keyLimits(event) }),
  'project_key.spend_limited': (data, event) => ({ ...data, spendLimit: event.limit }),
  'project_key.suspended': (data) => data,
  'project_key.reactivated': (data) => data,
  'project_key.revoked': (data) => data,
  'project_key.expired': (data) => data,
  'project_key.value_replayed': (data) => data,
};

const machine = chartOf<ProjectKey, ProjectKeyEvent>(apply).createMachine({
  id: 'projectKey',
  context: blank,
  initial: 'absent',
  states: {
    absent: { on: { 'project_key.created': { target: 'active', actions: 'apply' } } },
    active: {
      on: {
        'project_key.updated': { actions: 'apply' },
        'project_key.limits_updated': { actions: 'apply' },
        'project_key.spend_limited': { actions: 'apply' },
        'project_key.rotated': { actions: 'apply' },
        'project_key.value_replayed': { actions: 'apply' },
        'project_key.suspended': { target: 'suspended', actions: 'apply' },
        'project_key.expired': { target: 'expired', actions: 'apply' },
        'project_key.revoked': { target: 'revoked', actions: 'apply' },
      },
    },
    suspended: {
      on: {
        'project_key.updated': { actions: 'apply' },
        'project_key.limits_updated': { actions: 'apply' },
        'project_key.spend_limited': { actions: 'apply' },
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

export interface CreateProjectKey
  extends Omit<ProjectKey, 'createdAt' | 'rotatedFrom' | 'rotatedTo' | 'windowsOf' | 'limits' | 'spendLimit'> {
  readonly limits?: KeyLimits;
  readonly spendLimit?: SpendLimit | null;
  readonly rotatedFrom?: string;
  readonly windowsOf?: string;
  readonly at: number;
}

type ProjectKeyState = StateOf<typeof machine>;

/** Without an end on its stream, even if it is overdue. */
export const isOpen = ({ status }: State<ProjectKey>): boolean => status === 'active' || status === 'suspended';

/** Expired, but not yet on its stream. */
const isOverdue = (state: ProjectKeyState, at: number): boolean =>
  isOpen(state) && state.data.expiresAt !== null && state.data.expiresAt <= at;

const refuseExpired = (state: ProjectKeyState, at: number): void => {
  if (state.status === 'expired' || isOverdue(state, at)) throw fault('api_key_expired', { status: 409 });
};

/** A finished rotation stays so, whatever became of the key. */
const refuseRotation = (state: ProjectKeyState, { successorId, at }: { successorId: string; at: number }): void => {
  const { rotatedTo } = state.data;
  if (rotatedTo === successorId) return;
  if (state.status === 'revoked') throw fault('api_key_revoked', { status: 409 });
  refuseExpired(state, at);
  if (rotatedTo !== null)
    throw fault('api_key_rotated', { message: `The API key has a successor already: rotate ${rotatedTo}.` });
  if (state.status === 'suspended') throw fault('api_key_suspended', { status: 409 });
};

/** @throws Fault 422 `expires_at_not_future` */
export const requireFuture = (expiresAt: number | null | undefined, at: number): void => {
  if (expiresAt != null && expiresAt <= at) throw fault('expires_at_not_future', { param: 'expires_at' });
};

/** The successor lives as long as the key was to, or up to a second longer (contract B.3). */
export const successorExpiry = ({ createdAt, expiresAt }: ProjectKey, at: number): number | null =>
  expiresAt === null ? null : nextWholeSecond(at + expiresAt - createdAt);

interface LimitsChange {
  readonly limits?: KeyLimits;
  readonly spendLimit?: SpendLimit | null;
}

/** All keys of a chain of rotations are counted together, so its newest key has their limits (contract F.8, M.7). */
const limitEvents = (state: ProjectKeyState, { limits, spendLimit: limit }: LimitsChange): ProjectKeyEvent[] => {
  const { data } = state;
  if ((limits ?? limit) !== undefined && data.rotatedTo !== null && isOpen(state)) {
    const message = `The API key has a successor, whose limits are those of both: update ${data.rotatedTo}.`;
    throw fault('api_key_rotated', { message });
  }
  const events: ProjectKeyEvent[] = [];
  if (limits !== undefined && !areSameLimits(limits, data.limits))
    events.push({ type: 'project_key.limits_updated', ...keyLimitFields(limits) });
  if (limit !== undefined && !areSameSpendLimits(limit, data.spendLimit))
    events.push({ type: 'project_key.spend_limited', limit });
  return events;
};

const decide = {
  /** Idempotent by the digest, so that a retry can follow a crash. */
  create: ({ data }: ProjectKeyState, input: CreateProjectKey): ProjectKeyEvent[] => {
    if (data.digest === input.digest) return [];
    requireFuture(input.expiresAt, input.at);
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
        ...(input.rotatedFrom !== undefined && { rotated_from: input.rotatedFrom }),
        ...(input.windowsOf !== undefined && { windows_of: input.windowsOf }),
        ...(input.limits && !areSameLimits(input.limits, noKeyLimits) && { limits: keyLimitFields(input.limits) }),
        ...(input.spendLimit && { spend_limit: input.spendLimit }),
      },
    ];
  },
  mayRotate: (state: ProjectKeyState, input: { successorId: string; at: number }): ProjectKeyEvent[] => {
    refuseRotation(state, input);
    return [];
  },
  /** Expires at the end of the grace, or at its own expiry if sooner. Idempotent for the same successor. */
  rotate: (
    state: ProjectKeyState,
    input: { successorId: string; graceSeconds: number; at: number },
  ): ProjectKeyEvent[] => {
    refuseRotation(state, input);
    const { rotatedTo, expiresAt } = state.data;
    if (rotatedTo === input.successorId) return [];
    const end = input.graceSeconds === 0 ? wholeSecond(input.at) : promisedEnd(input.at, input.graceSeconds);
    const expires_at = expiresAt === null ? end : Math.min(expiresAt, end);
    return [{ type: 'project_key.rotated', successor_id: input.successorId, expires_at }];
  },
  update: (
    state: ProjectKeyState,
    input: {
      name?: string;
      permissions?: readonly string[];
      expiresAt?: number | null;
      at: number;
    } & LimitsChange,
  ): ProjectKeyEvent[] => {
    refuseExpired(state, input.at);
    const { data } = state;
    const { name = data.name, permissions = data.permissions, expiresAt = data.expiresAt } = input;
    requireFuture(input.expiresAt, input.at);
    const isPutOff = (expiresAt ?? Number.POSITIVE_INFINITY) > (data.expiresAt ?? Number.POSITIVE_INFINITY);
    if (data.rotatedTo !== null && isOpen(state) && isPutOff)
      throw fault('api_key_rotated', { message: 'The API key has a successor: its end cannot be put off.' });
    const same =
      name === data.name && expiresAt === data.expiresAt && permissions.join(' ') === data.permissions.join(' ');
    const limits = limitEvents(state, input);
    // Of a key that has ended, any event is refused by the chart.
    if (same && (isOpen(state) || limits.length > 0)) return limits;
    return [{ type: 'project_key.updated', name, permissions, expires_at: expiresAt }, ...limits];
  },
  suspend: (state: ProjectKeyState, input: { at: number }): ProjectKeyEvent[] => {
    refuseExpired(state, input.at);
    return state.status === 'suspended' ? [] : [{ type: 'project_key.suspended' }];
  },
  reactivate: (state: ProjectKeyState, input: { at: number }): ProjectKeyEvent[] => {
    refuseExpired(state, input.at);
    return state.status === 'active' ? [] : [{ type: 'project_key.reactivated' }];
  },
  /** Idempotent (contract B.3). */
  revoke: ({ status }: ProjectKeyState, input: { reason: RevokeReason }): ProjectKeyEvent[] =>
    status === 'revoked' ? [] : [{ type: 'project_key.revoked', reason: input.reason }],
  showAgain: (): ProjectKeyEvent[] => [{ type: 'project_key.value_replayed' }],
  /** Makes the expiry final, even if the clock goes back. */
  expire: (state: ProjectKeyState, input: { at: number }): ProjectKeyEvent[] =>
    isOverdue(state, input.at) ? [{ type: 'project_key.expired' }] : [],
};

export const projectKey: Aggregate<ProjectKey, ProjectKeyEvent, typeof decide> = {
  category: 'projectKey',
  // 2: `project_key.rotated`. Older software would ignore the end of a key.
  version: 2,
  machine,
  apply,
  decide,
};
