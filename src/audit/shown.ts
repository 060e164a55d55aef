import { policyState } from '../domain/policy/policy.ts';
import type { Policy } from '../domain/policy/policy-events.ts';
import { fieldsOf } from '../domain/policy/policy-terms.ts';
import type { State } from '../kernel/aggregate/aggregate.ts';

/** The states and fields of a policy's resource (contract B.5, C.7) differ from those of its aggregate. */
const shownPolicy = (state: State<Policy>): State<object> => {
  const { draft, current, pausedRevision: _, ...rest } = state.data;
  const published = current && {
    id: current.id,
    version: current.version,
    ...fieldsOf(current),
    publishedAt: current.publishedAt,
  };
  const status = state.status === 'live' ? policyState(state) : state.status;
  return { status, data: { ...rest, draft: fieldsOf(draft), published } };
};

export const shownState = (category: string, state: State<object>): State<object> =>
  category === 'policy' ? shownPolicy(state as State<Policy>) : state;
