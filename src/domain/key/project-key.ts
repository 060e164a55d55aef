import { fault } from '../../errors.ts';
import { type Aggregate, type Changes, chartOf, type State, type StateOf } from '../../kernel/aggregate/aggregate.ts';

/** A project API key (contract B.3). The secret is never here; its peppered digest is. */
export interface ProjectKey {
  readonly organizationId: string;
  readonly projectId: string;
  readonly name: string;
  readonly permissions: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly digest: string;
  readonly pepperId: string;
  readonly redactedValue: string;
  /** The key that it succeeds, and the one that succeeds it; null where it was not rotated. */
  readonly rotatedFrom: string | null;
  readonly rotatedTo: string | null;
  /** Whose windows it is counted in: the first key of its line; null: its own. */
  readonly windowsOf: string | null;
}

/** The longest that a key may go on beside its successor (contract B.3). */
export const longestGraceSeconds = 7 * 24 * 60 * 60;

/** `rotation_refused`: a successor that came to nothing, since its predecessor had ended or had another one. */
type RevokeReason = 'requested' | 'project_archived' | 'rotation_refused';

export type ProjectKeyEvent =
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
      /** Of a successor alone: both are ids of keys. */
      readonly rotated_from?: string;
      readonly windows_of?: string;
    }
  /** It has a successor, and goes on until it expires. */
  | { readonly type: 'project_key.rotated'; readonly successor_id: string; readonly expires_at: number }
  | {
      readonly type: 'project_key.updated';
      readonly name: string;
      readonly permissions: readonly string[];
      readonly expires_at: number | null;
    }
  | { readonly type: 'project_key.suspended' }
  | { readonly type: 'project_key.reactivated' }
  | { readonly type: 'project_key.revoked'; readonly reason: RevokeReason }
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
  digest: '',
  pepperId: '',
  redactedValue: '',
  rotatedFrom: null,
  rotatedTo: null,
  windowsOf: null,
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
  }),
  'project_key.rotated': (data, event) => ({ ...data, rotatedTo: event.successor_id, expiresAt: event.expires_at }),
  'project_key.updated': (data, event) => ({
    ...data,
    name: event.name,
    permissions: event.permissions,
    expiresAt: event.expires_at,
  }),
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
  readonly rotatedFrom?: string;
  readonly windowsOf?: string;
  readonly at: number;
}

type ProjectKeyState = StateOf<typeof machine>;

/** Whether its stream tells of no end; its time may be over all the same. */
export const isOpen = ({ status }: State<ProjectKey>): boolean => status === 'active' || status === 'suspended';

/** Whether its time is over and nothing on its stream says so yet. */
const isOverdue = (state: ProjectKeyState, at: number): boolean =>
  isOpen(state) && state.data.expiresAt !== null && state.data.expiresAt <= at;

const refuseExpired = (state: ProjectKeyState, at: number): void => {
  if (state.status === 'expired' || isOverdue(state, at)) throw fault('api_key_expired', { status: 409 });
};

/** What a key has been rotated for stays so, whatever has become of the key since. */
const refuseRotation = (state: ProjectKeyState, { successorId, at }: { successorId: string; at: number }): void => {
  const { rotatedTo } = state.data;
  if (rotatedTo === successorId) return;
  if (state.status === 'revoked') throw fault('api_key_revoked', { status: 409 });
  refuseExpired(state, at);
  if (rotatedTo !== null)
    throw fault('api_key_rotated', { message: `The API key has a successor already: rotate ${rotatedTo}.` });
  if (state.status === 'suspended') throw fault('api_key_suspended', { status: 409 });
};

const wholeSecond = (at: number): number => Math.floor(at / 1000) * 1000;

/** When the successor of a key expires: it lasts as long as the key was to last when it was made (contract B.3). */
export const successorExpiry = ({ createdAt, expiresAt }: ProjectKey, at: number): number | null =>
  expiresAt === null ? null : wholeSecond(at) + expiresAt - wholeSecond(createdAt);

const decide = {
  /** Made twice with one secret it is made once: what a crash interrupted is taken up again. */
  create: ({ data }: ProjectKeyState, input: CreateProjectKey): ProjectKeyEvent[] => {
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
        ...(input.rotatedFrom !== undefined && { rotated_from: input.rotatedFrom }),
        ...(input.windowsOf !== undefined && { windows_of: input.windowsOf }),
      },
    ];
  },
  /** Whether `rotate` would be refused, before a successor is made. */
  mayRotate: (state: ProjectKeyState, input: { successorId: string; at: number }): ProjectKeyEvent[] => {
    refuseRotation(state, input);
    return [];
  },
  /** Ends it when the grace is over, or at its own expiry where that is sooner. Done again for the same successor it changes nothing. */
  rotate: (
    state: ProjectKeyState,
    input: { successorId: string; graceSeconds: number; at: number },
  ): ProjectKeyEvent[] => {
    refuseRotation(state, input);
    const { rotatedTo, expiresAt } = state.data;
    if (rotatedTo === input.successorId) return [];
    const end = wholeSecond(input.at) + input.graceSeconds * 1000;
    const expires_at = expiresAt === null ? end : Math.min(expiresAt, end);
    return [{ type: 'project_key.rotated', successor_id: input.successorId, expires_at }];
  },
  /** Changes what is given; a change to what is already so changes nothing. */
  update: (
    state: ProjectKeyState,
    input: { name?: string; permissions?: readonly string[]; expiresAt?: number | null; at: number },
  ): ProjectKeyEvent[] => {
    refuseExpired(state, input.at);
    const { data } = state;
    const { name = data.name, permissions = data.permissions, expiresAt = data.expiresAt } = input;
    if (input.expiresAt != null && input.expiresAt <= input.at)
      throw fault('expires_at_not_future', { param: 'expires_at' });
    const isPutOff = (expiresAt ?? Number.POSITIVE_INFINITY) > (data.expiresAt ?? Number.POSITIVE_INFINITY);
    if (data.rotatedTo !== null && isOpen(state) && isPutOff)
      throw fault('api_key_rotated', { message: 'The API key has a successor: its end cannot be put off.' });
    const same =
      name === data.name && expiresAt === data.expiresAt && permissions.join(' ') === data.permissions.join(' ');
    return same && isOpen(state) ? [] : [{ type: 'project_key.updated', name, permissions, expires_at: expiresAt }];
  },
  suspend: (state: ProjectKeyState, input: { at: number }): ProjectKeyEvent[] => {
    refuseExpired(state, input.at);
    return state.status === 'suspended' ? [] : [{ type: 'project_key.suspended' }];
  },
  reactivate: (state: ProjectKeyState, input: { at: number }): ProjectKeyEvent[] => {
    refuseExpired(state, input.at);
    return state.status === 'active' ? [] : [{ type: 'project_key.reactivated' }];
  },
  /** Revoking what is revoked changes nothing and is no error (contract B.3). */
  revoke: ({ status }: ProjectKeyState, input: { reason: RevokeReason }): ProjectKeyEvent[] =>
    status === 'revoked' ? [] : [{ type: 'project_key.revoked', reason: input.reason }],
  showAgain: (): ProjectKeyEvent[] => [{ type: 'project_key.value_replayed' }],
  /** Latches what the clock already decided, so that a clock that goes back resurrects nothing. */
  expire: (state: ProjectKeyState, input: { at: number }): ProjectKeyEvent[] =>
    isOverdue(state, input.at) ? [{ type: 'project_key.expired' }] : [],
};

export const projectKey: Aggregate<ProjectKey, ProjectKeyEvent, typeof decide> = {
  category: 'projectKey',
  // 2: `project_key.rotated`. Software that does not know of it must not go on and let a key work that has ended.
  version: 2,
  machine,
  apply,
  decide,
};
