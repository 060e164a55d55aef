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

/**
 * `monitoring` and `enforcing` are one state here, `live`: no row of contract B.5 tells them apart, and which of the two
 * the wire shows follows from the current version's mode (`policyState`). An event then leads to the same state whatever it
 * holds, as the kernel's charts want it, and the events keep the names that the audit log has for them.
 */
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
        // Only a resume lifts a pause: the new version is current and inert.
        'policy.published': { actions: 'apply' },
        'policy.resumed': { target: 'live', actions: 'apply' },
        'policy.deleted': { target: 'deleted', actions: 'apply' },
      },
    },
    deleted: { type: 'final' },
  },
});

export type PolicyState = 'draft' | 'paused' | Mode;

/** The state that callers see (contract B.5). */
export const policyState = ({ status, data }: State<Policy>): PolicyState =>
  status === 'live' && data.current ? data.current.mode : status === 'paused' ? 'paused' : 'draft';

/** Whether a publish would change what is in force. */
export const hasUnpublishedChanges = ({ current, draft }: Policy): boolean =>
  current === null || !sameTerms(draft, current);

type PolicyChartState = StateOf<typeof machine>;

/** Of two callers who have seen the same revision one is first; the other is told where the policy stands. */
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

interface Aimed {
  readonly revision: number;
  readonly at: number;
}

const decide = {
  /** A second creation comes from a reservation taken up after a crash, and finds what the first one made. */
  create: (
    { status }: PolicyChartState,
    input: { organizationId: string; name: string; description: string; terms: Terms; at: number },
  ): PolicyEvent[] => {
    if (status === 'deleted') throw fault('idempotency_result_unavailable');
    if (status !== 'absent') return [];
    const { organizationId: organization_id, name, description, terms, at: created_at } = input;
    return [{ type: 'policy.created', organization_id, name, description, ...fieldsOf(terms), created_at }];
  },
  /** Changes nothing; the answer is where the policy stands on its own stream, whatever the read models have seen. */
  look: (): PolicyEvent[] => [],
  /** Edits the draft, the name and the description; what is in force stays as it is. */
  update: (state: PolicyChartState, input: Aimed & { changes: PolicyChanges }): PolicyEvent[] => {
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
  publish: (state: PolicyChartState, input: Aimed & { versionId: string }): PolicyEvent[] => {
    expectRevision(state, input.revision);
    const { data } = state;
    if (!hasUnpublishedChanges(data)) throw fault('policy_no_unpublished_changes');
    const version = (data.current?.version ?? 0) + 1;
    const fields = fieldsOf(data.draft);
    return [{ type: 'policy.published', version_id: input.versionId, version, ...fields, published_at: input.at }];
  },
  /** The same pause again changes nothing, so that a client may repeat one whose answer it has not seen. */
  pause: (state: PolicyChartState, input: Aimed): PolicyEvent[] => {
    const isPaused = state.status === 'paused';
    const isRepeated = isPaused && state.data.pausedRevision === input.revision;
    if (!isRepeated) expectRevision(state, input.revision);
    return isPaused ? [] : [{ type: 'policy.paused', paused_at: input.at }];
  },
  /** Brings back what was published, never the draft. */
  resume: (state: PolicyChartState, input: Aimed): PolicyEvent[] => {
    expectRevision(state, input.revision);
    return [{ type: 'policy.resumed', resumed_at: input.at }];
  },
  delete: (state: PolicyChartState, input: Aimed): PolicyEvent[] => {
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
