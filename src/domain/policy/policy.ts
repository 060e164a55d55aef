import { fault } from '../../errors.ts';
import { type Aggregate, chartOf, type State, type StateOf } from '../../kernel/aggregate/aggregate.ts';
import { applyPolicy, blankPolicy, type Policy, type PolicyEvent } from './policy-events.ts';
import {
  edited,
  fieldsOf,
  type Mode,
  sameTerms,
  scopeFits,
  scopeMisfit,
  type Terms,
  type TermsFields,
} from './policy-terms.ts';

/** `live` is `monitoring` or `enforcing` by the current version (`policyState`), so an event's type decides the next state. */
const machine = chartOf<Policy, PolicyEvent>(applyPolicy).createMachine({
  id: 'policy',
  context: blankPolicy,
  initial: 'absent',
  states: {
    absent: { on: { 'policy.created': { target: 'draft', actions: 'apply' } } },
    draft: {
      on: {
        'policy.updated': { actions: 'apply' },
        'policy.published': { target: 'live', actions: 'apply' },
        'policy.deleted': { target: 'deleted', actions: 'apply' },
      },
    },
    live: {
      on: {
        'policy.updated': { actions: 'apply' },
        'policy.published': { actions: 'apply' },
        'policy.paused': { target: 'paused', actions: 'apply' },
      },
    },
    paused: {
      on: {
        'policy.updated': { actions: 'apply' },
        // Stays paused: only a resume ends a pause.
        'policy.published': { actions: 'apply' },
        'policy.resumed': { target: 'live', actions: 'apply' },
        'policy.deleted': { target: 'deleted', actions: 'apply' },
      },
    },
    deleted: { type: 'final' },
  },
});

export type PolicyState = 'draft' | 'paused' | Mode;

/** Contract B.5. */
export const policyState = ({ status, data }: State<Policy>): PolicyState =>
  status === 'live' && data.current ? data.current.mode : status === 'paused' ? 'paused' : 'draft';

export const hasUnpublishedChanges = ({ current, draft }: Policy): boolean =>
  current === null || !sameTerms(draft, current);

type PolicyChartState = StateOf<typeof machine>;

const expectRevision = ({ status, data }: PolicyChartState, revision: number): void => {
  if (status === 'deleted') throw fault('policy_not_found');
  if (revision !== data.revision) {
    throw fault('policy_revision_conflict', {
      message: `The policy is at revision ${data.revision}, not at ${revision}. Look at it again before you change it.`,
    });
  }
};

export interface PolicyChanges extends Partial<{ readonly [K in keyof TermsFields]: TermsFields[K] | undefined }> {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
}

interface AtRevision {
  readonly revision: number;
  readonly at: number;
}

const decide = {
  /** After a crash, a retry finds what the first attempt created. */
  create: (
    { status }: PolicyChartState,
    input: { organizationId: string; name: string; description: string; terms: Terms; at: number },
  ): PolicyEvent[] => {
    if (status === 'deleted') throw fault('idempotency_result_unavailable');
    if (status !== 'absent') return [];
    const { organizationId: organization_id, name, description, terms, at: created_at } = input;
    return [{ type: 'policy.created', organization_id, name, description, ...fieldsOf(terms), created_at }];
  },
  /** Reads the policy's own stream, since the read models may be behind. */
  look: (): PolicyEvent[] => [],
  update: (state: PolicyChartState, input: AtRevision & { changes: PolicyChanges }): PolicyEvent[] => {
    expectRevision(state, input.revision);
    const { data } = state;
    const { name = data.name, description = data.description } = input.changes;
    const draft = edited(data.draft, input.changes);
    if (!scopeFits(draft.scope, draft.projectIds)) {
      throw fault('validation_failed', { param: 'project_ids', message: `project_ids: ${scopeMisfit}` });
    }
    if (name === data.name && description === data.description && sameTerms(draft, data.draft)) return [];
    return [{ type: 'policy.updated', name, description, ...fieldsOf(draft), updated_at: input.at }];
  },
  publish: (state: PolicyChartState, input: AtRevision & { versionId: string }): PolicyEvent[] => {
    expectRevision(state, input.revision);
    const { data } = state;
    if (!hasUnpublishedChanges(data)) throw fault('policy_no_unpublished_changes');
    const version = (data.current?.version ?? 0) + 1;
    const fields = fieldsOf(data.draft);
    return [{ type: 'policy.published', version_id: input.versionId, version, ...fields, published_at: input.at }];
  },
  /** The same pause may be repeated by a client that has not seen the answer. */
  pause: (state: PolicyChartState, input: AtRevision): PolicyEvent[] => {
    const isPaused = state.status === 'paused';
    const isRepeated = isPaused && state.data.pausedRevision === input.revision;
    if (!isRepeated) expectRevision(state, input.revision);
    return isPaused ? [] : [{ type: 'policy.paused', paused_at: input.at }];
  },
  resume: (state: PolicyChartState, input: AtRevision): PolicyEvent[] => {
    expectRevision(state, input.revision);
    return [{ type: 'policy.resumed', resumed_at: input.at }];
  },
  delete: (state: PolicyChartState, input: AtRevision): PolicyEvent[] => {
    expectRevision(state, input.revision);
    return [{ type: 'policy.deleted', deleted_at: input.at }];
  },
};

export const policy: Aggregate<Policy, PolicyEvent, typeof decide> = {
  category: 'policy',
  version: 1,
  machine,
  apply: applyPolicy,
  decide,
};
